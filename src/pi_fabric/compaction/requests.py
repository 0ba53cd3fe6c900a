"""What programs have asked of the next compaction: one slot, and what came of the last one.

Asking never touches the context. The host takes the request when the agent has settled and says how it
ended. One object lives as long as one session of the host: it survives compactions and nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from pi_fabric.base.bounds import clip_bytes
from pi_fabric.base.clock import Clock
from pi_fabric.base.errors import InvalidArguments
from pi_fabric.base.jsonvalue import Json, JsonObject, is_finite_number, is_object, utf16_length
from pi_fabric.compaction.encode import encode_request
from pi_fabric.compaction.instructions import InstructionError, decode_instructions
from pi_fabric.compaction.render import MAX_SUMMARY_BYTES
from pi_fabric.compaction.request import (
    CompactRequest,
    RequestRefused,
    checked_request,
    has_lone_surrogate,
)
from pi_fabric.protocol.events import TopicEvent, TopicSink

TOPIC: Final = "fabric.compact"
"""Topic of the mesh that hears of each transition; reserved."""
DEFAULT_REQUESTER: Final = "model"
# The format's numbers, in UTF-16 units.
MAX_REASON_UNITS: Final = 1_024
MAX_REQUESTER_UNITS: Final = 256
# An error of the host is told, not copied at any length.
MAX_ERROR_BYTES: Final = 1_024
# With these words Pi says that it made no compaction and that nothing is wrong.
QUIET_ERRORS: Final = frozenset({"Compaction cancelled", "Already compacted"})

Ending: TypeAlias = Literal["committed", "failed", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Intent:
    """One request; two with the same words are still two."""

    reason: str | None
    instructions: str | None
    preserve: tuple[str, ...] | None
    """Facts to keep word for word; None sends the instructions as plain text."""
    requested_by: str
    requested_at_ms: int
    custom_instructions: str | None
    """What the host hands to its compaction; None for none."""

    def to_json(self) -> JsonObject:
        """The form that a program gets."""
        fields: JsonObject = {
            "reason": self.reason,
            "instructions": self.instructions,
            "preserve": None if self.preserve is None else list(self.preserve),
            "requestedBy": self.requested_by,
            "requestedAt": self.requested_at_ms,
        }
        return {name: value for name, value in fields.items() if value is not None}


class CompactRequests:
    """The slot. Never waits and never raises but in `request`.

    Args:
        clock: Tells when something was asked and when it ended.
        publish: Hears of each transition; must not raise. None is silent.
    """

    def __init__(self, *, clock: Clock, publish: TopicSink | None = None) -> None:
        self._clock = clock
        self._publish = publish
        self._pending: Intent | None = None
        self._in_flight: Intent | None = None
        self._last: JsonObject | None = None

    def request(
        self,
        *,
        reason: str | None = None,
        instructions: str | None = None,
        preserve: Sequence[str] | None = None,
        requested_by: str | None = None,
    ) -> JsonObject:
        """Put a request into the slot, in place of one that waits there; returns it as programs see it.

        Args:
            reason: Why, for whoever looks at the status; empty counts as absent.
            instructions: What the compaction is to do; empty counts as absent.
            preserve: Facts to keep word for word; an empty list still sends the typed form.
            requested_by: Who asks; absent or empty is the model.

        Raises:
            RequestRefused: If the compaction would refuse what was asked.
            InvalidArguments: If reason or requester are too long.
        """
        _check_length("reason", reason, MAX_REASON_UNITS)
        _check_length("requestedBy", requested_by, MAX_REQUESTER_UNITS)
        kept = None if preserve is None else tuple(preserve)
        intent = Intent(
            reason=reason or None,
            instructions=instructions or None,
            preserve=kept,
            requested_by=requested_by or DEFAULT_REQUESTER,
            requested_at_ms=self._clock.wall_ms(),
            custom_instructions=custom_instructions(instructions or None, kept),
        )
        self._pending = intent
        self._tell("requested", intent.to_json())
        return intent.to_json()

    def status(self) -> JsonObject:
        """`{pending?, last?}`: the request that waits or is being carried out, and the newest ending."""
        status: JsonObject = {}
        if self._pending is not None:
            status["pending"] = self._pending.to_json()
        if self._last is not None:
            status["last"] = dict(self._last)
        return status

    def cancel(self) -> None:
        """Empty the slot. A compaction that has begun goes on, and its ending is still recorded."""
        self._pending = None

    def take(self) -> Intent | None:
        """Begin to carry out the pending request; `finished` must follow.

        Returns:
            The request; it stays pending until it has ended. None when nothing waits or one is being
            carried out.
        """
        if self._in_flight is None:
            self._in_flight = self._pending
            return self._in_flight
        return None

    def finished(self, record: Json) -> None:
        """Record how what was taken ended; without anything taken nothing happens.

        A request that came in the meantime stays in the slot.

        Args:
            record: `{error}` with the host's words, or its result with `summary`, `tokensBefore` and
                `estimatedTokensAfter`, of which each may be missing.
        """
        intent, self._in_flight = self._in_flight, None
        if intent is None:
            return
        if self._pending is intent:
            self._pending = None
        ending, facts = _ending(record if is_object(record) else {})
        self._last = {
            "at": self._clock.wall_ms(),
            "requestedBy": intent.requested_by,
            "status": ending,
            **facts,
        }
        if ending != "cancelled":
            self._tell(ending, self._last)

    def _tell(self, kind: str, data: JsonObject) -> None:
        if self._publish is not None:
            self._publish(TopicEvent(topic=TOPIC, kind=kind, data=dict(data)))


def custom_instructions(instructions: str | None, preserve: Sequence[str] | None) -> str | None:
    """What a compaction is handed: the typed form when something is to be kept, else the text as it is.

    Raises:
        RequestRefused: If the decoder would refuse it.
    """
    request = CompactRequest(
        instructions=instructions, preserve=None if preserve is None else tuple(preserve)
    )
    if request.preserve is not None:
        return encode_request(request)
    if instructions is None:
        return None
    checked_request(instructions)
    # A text may begin with the protocol's prefix; whether that will do is known now.
    decoded = decode_instructions(instructions)
    if isinstance(decoded, InstructionError):
        raise RequestRefused(decoded.code)
    return instructions


def _ending(record: JsonObject) -> tuple[Ending, JsonObject]:
    error = record.get("error")
    if error is not None:
        words = error if isinstance(error, str) else "the host gave no reason"
        return "cancelled" if words in QUIET_ERRORS else "failed", {
            "error": clip_bytes(words, MAX_ERROR_BYTES)
        }
    facts: JsonObject = {}
    summary = record.get("summary")
    if isinstance(summary, str):
        facts["summary"] = clip_bytes(summary, MAX_SUMMARY_BYTES)
    sizes = {name: record.get(name) for name in ("tokensBefore", "estimatedTokensAfter")}
    return "committed", facts | {name: size for name, size in sizes.items() if is_finite_number(size)}


def _check_length(name: str, text: str | None, max_units: int) -> None:
    if text is None:
        return
    if utf16_length(text) > max_units:
        raise InvalidArguments("compact.request", [f"{name}: is over {max_units} characters; shorten it"])
    if has_lone_surrogate(text):
        raise RequestRefused("invalid-unicode")
