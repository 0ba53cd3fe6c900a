"""Which places of a branch lie between a tool call and its result, and so must not become a cut."""

from collections.abc import Iterator, Sequence

from pi_fabric.base.jsonvalue import JsonObject, is_array, is_object


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
    ends = _span_ends(branch)
    reaching: str | None = None
    reaches_to = -1
    parted: list[str | None] = []
    for position in range(len(branch)):
        parted.append(reaching if reaches_to >= position else None)
        for call_id, end in ends.get(position, ()):
            if end > reaches_to:
                reaching, reaches_to = call_id, end
    return parted


def _span_ends(branch: Sequence[JsonObject]) -> dict[int, list[tuple[str, int]]]:
    """Call id and last position of each span, by its first position."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    called: set[str] = set()
    answered: set[str] = set()
    for position, entry in enumerate(branch):
        for call_id, is_call in _halves(entry):
            first.setdefault(call_id, position)
            last[call_id] = position
            (called if is_call else answered).add(call_id)
    ends: dict[int, list[tuple[str, int]]] = {}
    for call_id, start in first.items():
        if call_id in called and call_id in answered:
            ends.setdefault(start, []).append((call_id, last[call_id]))
    return ends


def _halves(entry: JsonObject) -> Iterator[tuple[str, bool]]:
    """The ids that an entry calls with, or the one it answers; True for a call."""
    message = entry.get("message")
    if entry.get("type") != "message" or not is_object(message):
        return
    if message.get("role") == "toolResult":
        call_id = message.get("toolCallId")
        if isinstance(call_id, str) and call_id:
            yield call_id, False
    content = message.get("content")
    if message.get("role") == "assistant" and is_array(content):
        for part in content:
            if is_object(part) and part.get("type") == "toolCall":
                call_id = part.get("id")
                if isinstance(call_id, str) and call_id:
                    yield call_id, True
