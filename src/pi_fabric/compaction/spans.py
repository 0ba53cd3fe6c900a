"""Which places of a branch lie between a tool call and its result, and so must not become a cut."""

from collections.abc import Sequence

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
        calls, answers = _halves(entry)
        called.update(calls)
        answered.update(answers)
        for call_id in (*calls, *answers):
            first.setdefault(call_id, position)
            last[call_id] = position
    ends: dict[int, list[tuple[str, int]]] = {}
    for call_id, start in first.items():
        if call_id in called and call_id in answered:
            ends.setdefault(start, []).append((call_id, last[call_id]))
    return ends


def _halves(entry: JsonObject) -> tuple[Sequence[str], Sequence[str]]:
    """The ids that an entry calls with, and the one that it answers."""
    message = entry.get("message")
    if not is_object(message) or entry.get("type") != "message":
        return (), ()
    role = message.get("role")
    if role == "toolResult":
        return (), _usable([message.get("toolCallId")])
    content = message.get("content")
    if role == "assistant" and is_array(content):
        parts = [part for part in content if is_object(part) and part.get("type") == "toolCall"]
        return _usable([part.get("id") for part in parts]), ()
    return (), ()


def _usable(ids: Sequence[Json]) -> list[str]:
    return [call_id for call_id in ids if isinstance(call_id, str) and call_id]
