"""What may be asked of a compaction: the typed request, its bounds, and why one is refused.

The decoder and the encoder both hold requests to these rules, so what one writes the other reads.
"""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from pi_fabric.base.bounds import utf8_bytes
from pi_fabric.base.errors import RequestError
from pi_fabric.base.jsonvalue import UNDEFINED, Json, is_array

PI_VCC_SENTINEL: Final = "__pi_vcc__"
"""Instructions that are exactly this hand the compaction to the pi-vcc extension."""

REQUEST_PREFIX: Final = "__pi_fabric_compact_request_v1__:"
"""What begins with this is a typed request and never read as plain text."""

REQUEST_VERSION: Final[int] = 1

# Bounds of the protocol. Characters have the same bounds as bytes, and no text has more UTF-16 units than
# UTF-8 bytes, so counting bytes holds both.
MAX_SOURCE_BYTES: Final = 16 * 1024
MAX_INSTRUCTIONS_BYTES: Final = 8 * 1024
MAX_PRESERVE_ITEMS: Final = 16
MAX_ITEM_BYTES: Final = 2 * 1024

RefusalCode: TypeAlias = Literal[
    "encoded-source-too-large",
    "malformed-json",
    "duplicate-field",
    "invalid-unicode",
    "structure-too-complex",
    "invalid-object",
    "unknown-field",
    "unsupported-version",
    "invalid-type",
    "preserve-too-many",
    "instructions-too-large",
    "preserve-item-too-large",
]

# Each fits one line of 80 columns, and none repeats what was sent.
_REASONS: Final[dict[RefusalCode, str]] = {
    "encoded-source-too-large": "the request is over 16 KiB; shorten it",
    "malformed-json": "the request is not valid JSON",
    "duplicate-field": "the request names a field twice",
    "invalid-unicode": "the request holds half a surrogate pair",
    "structure-too-complex": "the request is nested too deep or has too many values",
    "invalid-object": "the request is not a JSON object",
    "unknown-field": "only version, instructions and preserve may be sent",
    "unsupported-version": "only version 1 of the request is understood",
    "invalid-type": "instructions is a string, preserve a list of strings",
    "preserve-too-many": "preserve takes at most 16 items",
    "instructions-too-large": "instructions are over 8 KiB; shorten them",
    "preserve-item-too-large": "an item of preserve is over 2 KiB; shorten it",
}


class RequestRefused(RequestError):
    """A typed request breaks a rule of the protocol; `refusal` says which."""

    code = "compact_request_refused"

    def __init__(self, refusal: RefusalCode) -> None:
        super().__init__("compact.request", _REASONS[refusal])
        self.refusal: RefusalCode = refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactRequest:
    """What the next compaction is to do and to keep."""

    instructions: str | None = None
    """None when there are none."""
    preserve: tuple[str, ...] | None = None
    """Facts to keep word for word; None and empty differ on the wire only."""


def checked_request(instructions: Json = UNDEFINED, preserve: Json = UNDEFINED) -> CompactRequest:
    """Hold the two values to the protocol's types and bounds, in the protocol's order.

    Args:
        instructions: Decoded JSON, UNDEFINED when absent; null is not absent.
        preserve: Likewise; its items are counted before the first is looked at.

    Raises:
        RequestRefused: For the first rule that is broken.
    """
    if instructions is not UNDEFINED and not isinstance(instructions, str):
        raise RequestRefused("invalid-type")
    items = None if preserve is UNDEFINED else _checked_items(preserve)
    text = None if instructions is UNDEFINED else instructions
    if text is not None:
        _check_text(text, MAX_INSTRUCTIONS_BYTES, "instructions-too-large")
    for item in items or ():
        _check_text(item, MAX_ITEM_BYTES, "preserve-item-too-large")
    return CompactRequest(instructions=text, preserve=items)


def has_lone_surrogate(text: str) -> bool:
    """True when `text` holds half a surrogate pair, which UTF-8 cannot say."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _checked_items(preserve: Json) -> tuple[str, ...]:
    if not is_array(preserve):
        raise RequestRefused("invalid-type")
    if len(preserve) > MAX_PRESERVE_ITEMS:
        raise RequestRefused("preserve-too-many")
    if not all(isinstance(item, str) for item in preserve):
        raise RequestRefused("invalid-type")
    return tuple(preserve)


def _check_text(text: str, max_bytes: int, refusal: RefusalCode) -> None:
    if has_lone_surrogate(text):
        raise RequestRefused("invalid-unicode")
    if utf8_bytes(text) > max_bytes:
        raise RequestRefused(refusal)
