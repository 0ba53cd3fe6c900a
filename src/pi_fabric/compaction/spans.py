"""Which places of a branch lie between a tool call and its result, and so must not become a cut."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pi_fabric.base.jsonvalue import Json, JsonObject, is_array, is_object


def split_calls(branch: Sequence[JsonObject]) -> list[str | None]:
    """For each entry, a call that a cut right before the entry would part from its result.

    Calls and results belong together by id alone, in whatever order they come. Equal ids are one span from
    the first to the last of them. A call without a result, a result without a call, and an empty id part
    nothing.

    Args:
        branch: The active path, root first; any JSON objects.

    Returns:
        As many items as entries: the id of the call, of several the one that reaches furthest, or None.
    """
    spans = iter(_pairs(branch))
    ahead = next(spans, None)
    widest: _Span | None = None
    split: list[str | None] = []
    for position in range(len(branch)):
        split.append(widest.call_id if widest and widest.last >= position else None)
        while ahead and ahead.first == position:
            if widest is None or ahead.last > widest.last:
                widest = ahead
            ahead = next(spans, None)
    return split


@dataclass(slots=True, kw_only=True)
class _Span:
    """All entries that call with one id or answer it."""

    call_id: str
    first: int
    last: int
    is_called: bool = False
    is_answered: bool = False


def _pairs(branch: Sequence[JsonObject]) -> Iterator[_Span]:
    """Spans with both halves, in the order of their first entries."""
    spans: dict[str, _Span] = {}
    for position, entry in enumerate(branch):
        message = entry.get("message")
        if not is_object(message) or entry.get("type") != "message":
            continue
        role = message.get("role")
        if role == "toolResult":
            _extend(spans, message.get("toolCallId"), position, is_call=False)
        content = message.get("content") if role == "assistant" else None
        for part in content if is_array(content) else ():
            if is_object(part) and part.get("type") == "toolCall":
                _extend(spans, part.get("id"), position, is_call=True)
    return (span for span in spans.values() if span.is_called and span.is_answered)


def _extend(spans: dict[str, _Span], call_id: Json, position: int, *, is_call: bool) -> None:
    if not isinstance(call_id, str) or not call_id:
        return
    span = spans.get(call_id)
    if span is None:
        span = spans[call_id] = _Span(call_id=call_id, first=position, last=position)
    span.last = position
    if is_call:
        span.is_called = True
    else:
        span.is_answered = True
