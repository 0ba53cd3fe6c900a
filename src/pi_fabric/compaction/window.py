"""What of a branch is live: in the model's context now, and in reach of the next compaction.

The last compaction marks the window. It begins at the entry that the marker keeps from, or right after
the marker when that entry is not on the branch or nothing was kept; without a marker all is live.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.history.events.custom import read_custom_message
from pi_fabric.history.session import estimate_tokens, projected_context


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextEntry:
    """An entry that puts messages into the context."""

    position: int
    """Index on the branch."""
    entry: JsonObject
    message: JsonObject
    """The last of its messages; a compaction may give two, all others give one."""
    role: str
    """Role of the message; empty when it has none."""
    tokens: int
    """Pi's estimate of its messages; what is malformed counts nothing, nor does the system message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The live part of a branch."""

    marker: int
    """Position of the last compaction; -1 without one."""
    context: tuple[ContextEntry, ...]
    """All that the model sees, in the order in which it sees it: the last summary comes first."""
    live: tuple[ContextEntry, ...]
    """What can be kept or summarized, in branch order. Summaries of compactions are never among it."""

    @property
    def raw_tokens(self) -> int:
        """Pi's estimate of the whole context."""
        return sum(entry.tokens for entry in self.context)


def read_window(branch: Sequence[JsonObject]) -> Window:
    """Find the live window of a branch.

    Args:
        branch: The active path, root first; any JSON objects. Malformed ones are not live.
    """
    positions = range(len(branch) - 1, -1, -1)
    marker = next((at for at in positions if branch[at].get("type") == "compaction"), -1)
    start = _start(branch, marker)
    context = tuple(_context(branch, marker))
    live = tuple(entry for entry in context if entry.position >= start and _is_live(entry))
    return Window(marker=marker, context=context, live=live)


def _start(branch: Sequence[JsonObject], marker: int) -> int:
    kept_id = branch[marker].get("firstKeptEntryId") if marker >= 0 else None
    if not isinstance(kept_id, str) or not kept_id:
        return marker + 1
    # A kept id that is the marker's own or a later entry's counts as well: Pi stores what it is given.
    ids = [entry.get("id") for entry in branch]
    return ids.index(kept_id) if kept_id in ids else marker + 1


def _context(branch: Sequence[JsonObject], marker: int) -> Iterator[ContextEntry]:
    # The older Pi replays older summaries of the kept range; counting them too is safe with both.
    projected = projected_context(branch, replays_older_summaries=True)
    last = -1
    for index, (entry, messages) in enumerate(projected):
        # All is in branch order, but for the last compaction, which comes first.
        if index == 0 and marker >= 0:
            position = marker
        else:
            last += 1
            while branch[last] is not entry:
                last += 1
            position = last
        if messages:
            yield _context_entry(position, entry, messages)


def _context_entry(position: int, entry: JsonObject, messages: Sequence[JsonObject]) -> ContextEntry:
    message = messages[-1]
    role = message.get("role")
    return ContextEntry(
        position=position,
        entry=entry,
        message=message,
        role=role if isinstance(role, str) else "",
        # A later Pi keeps its system message through every compaction: no cut frees it, so that it belongs
        # to the overhead, like what a provider adds.
        tokens=sum(estimate_tokens(each) for each in messages if each.get("role") != "system"),
    )


def _is_live(entry: ContextEntry) -> bool:
    kind = entry.entry.get("type")
    if kind == "custom_message":
        return read_custom_message(entry.entry) is not None
    return kind != "compaction" and not (entry.role == "custom" and _is_hidden(entry.message))


def _is_hidden(message: JsonObject) -> bool:
    return not message.get("display") and message.get("content") in ("", [])
