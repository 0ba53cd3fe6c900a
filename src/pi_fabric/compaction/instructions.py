"""Instructions of a compaction: plain text that a person wrote, or a typed request that a program sent.

Neither is ever interpreted: both are shown as they are, on one line each, within bounds. A typed request
that breaks a rule is refused whole, and nothing of it is shown.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from pi_fabric.base.bounds import clip_bytes, utf8_bytes
from pi_fabric.base.jsonvalue import UNDEFINED, JsonObject, is_object
from pi_fabric.base.jstext import collapse
from pi_fabric.compaction.request import (
    MAX_INSTRUCTIONS_BYTES,
    MAX_SOURCE_BYTES,
    REQUEST_PREFIX,
    REQUEST_VERSION,
    CompactRequest,
    RefusalCode,
    RequestRefused,
    checked_request,
)
from pi_fabric.compaction.request_json import parse_request_json

_FIELDS: Final = frozenset({"version", "instructions", "preserve"})


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionPolicy:
    """What was made of the instructions; goes into the details of the compaction."""

    mode: Literal["none", "plain", "typed-v1"] = "none"
    canonicalized: bool = False
    """True when what is shown differs from what was sent."""
    source_bytes: int = 0
    """UTF-8 bytes of the values, blanks collapsed, before any cut."""
    truncated: bool = False
    preserve_count: int = 0
    """Items that were sent, blank ones included."""
    omitted_preserve_count: int = 0
    """Always 0: a request with more items than may be sent is refused. Stored summaries have the field."""

    def to_json(self) -> JsonObject:
        """The form that is stored."""
        return {
            "mode": self.mode,
            "canonicalized": self.canonicalized,
            "sourceBytes": self.source_bytes,
            "truncated": self.truncated,
            "preserveCount": self.preserve_count,
            "omittedPreserveCount": self.omitted_preserve_count,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """Instructions that can be followed."""

    lines: tuple[str, ...] = ()
    """What to show, a line per value that is not blank; the instructions first."""
    policy: InstructionPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionError:
    """A typed request that must not be followed; the compaction is then called off."""

    code: RefusalCode
    source_bytes: int
    """UTF-8 bytes of the whole source, prefix included."""
    message: str
    """One sentence for the user; holds nothing of the source."""


def decode_instructions(source: str | None) -> Decoded | InstructionError:
    """Read what Pi hands over as custom instructions.

    Total: any text gives one of the two. The work on a typed request is bounded by 16 KiB of source, 32
    levels and 4,096 values.

    Args:
        source: None and "" are no instructions. The pi-vcc sentinel is ordinary text here; who routes by
            it does so before.
    """
    if not source:
        return Decoded(policy=InstructionPolicy())
    if not source.startswith(REQUEST_PREFIX):
        return _plain(source)
    source_bytes = utf8_bytes(source)
    try:
        return _typed(_request(source, source_bytes))
    except RequestRefused as error:
        return InstructionError(code=error.refusal, source_bytes=source_bytes, message=error.reason)


def _plain(source: str) -> Decoded:
    text = collapse(source)
    shown = clip_bytes(text, MAX_INSTRUCTIONS_BYTES)
    policy = InstructionPolicy(
        mode="plain",
        canonicalized=shown != source,
        source_bytes=utf8_bytes(text),
        truncated=shown != text,
    )
    return Decoded(lines=(shown,) if shown else (), policy=policy)


def _request(source: str, source_bytes: int) -> CompactRequest:
    if source_bytes > MAX_SOURCE_BYTES:
        raise RequestRefused("encoded-source-too-large")
    fields = parse_request_json(source.removeprefix(REQUEST_PREFIX))
    if not is_object(fields):
        raise RequestRefused("invalid-object")
    if not fields.keys() <= _FIELDS:
        raise RequestRefused("unknown-field")
    # Numbers are floats here, and true is none of them.
    version = fields.get("version")
    if not isinstance(version, float) or version != float(REQUEST_VERSION):
        raise RequestRefused("unsupported-version")
    return checked_request(fields.get("instructions", UNDEFINED), fields.get("preserve", UNDEFINED))


def _typed(request: CompactRequest) -> Decoded:
    sent = [request.instructions or "", *(request.preserve or ())]
    texts = [collapse(text) for text in sent]
    policy = InstructionPolicy(
        mode="typed-v1",
        canonicalized=texts != sent,
        source_bytes=sum(map(utf8_bytes, texts)),
        preserve_count=len(sent) - 1,
    )
    return Decoded(lines=tuple(_typed_lines(texts[0], texts[1:])), policy=policy)


def _typed_lines(instructions: str, items: list[str]) -> Iterator[str]:
    if instructions:
        yield instructions
    for number, item in enumerate(items):
        if item:
            yield f"- {item} [preserve:{number}]"
