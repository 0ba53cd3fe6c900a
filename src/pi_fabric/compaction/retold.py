"""What a branch tells twice: facts of a branch summary that are told before it, raw or by another summary.

It happens when a person goes back to a branch that an earlier summary tells of: the summary they take along
tells it again, and now its entries are on the branch as well.
"""

from collections.abc import Sequence

from pi_fabric.history.events.branch_facts import CUSTOM_MESSAGE, USER
from pi_fabric.history.events.model import (
    BASH_TOOL,
    BashRan,
    CustomMessage,
    Event,
    FabricOperation,
    FabricPhase,
    ToolCalled,
    ToolResulted,
    UserText,
)


def retold(events: Sequence[Event]) -> frozenset[int]:
    """Indices of the events that tell under an address what an earlier event told under it.

    Only facts of branch summaries can be among them; what the branch tells itself always counts.
    """
    # Most branches hold no facts of another, and then there is nothing to remember.
    if all(event.entry_id == event.source_entry_id for event in events):
        return frozenset()
    told: set[str] = set()
    calls: dict[str, ToolCalled] = {}
    again: set[int] = set()
    for event in events:
        if isinstance(event, ToolCalled):
            calls[event.tool_call_id] = event
        elif (address := _fact_address(event, calls)) is not None:
            if address in told and event.entry_id != event.source_entry_id:
                again.add(event.index)
            told.add(address)
    return frozenset(again)


def told_once(events: Sequence[Event]) -> list[Event]:
    """The events without those that tell something again."""
    again = retold(events)
    return [event for event in events if event.index not in again]


def _fact_address(event: Event, calls: dict[str, ToolCalled]) -> str | None:
    """Where a branch summary would say that this is told; None for what is no fact."""
    if isinstance(event, UserText):
        return f"{event.entry_id}/{USER}"
    if isinstance(event, CustomMessage):
        return f"{event.entry_id}/{CUSTOM_MESSAGE}"
    if isinstance(event, FabricPhase | FabricOperation):
        return event.address
    if not isinstance(event, ToolResulted | BashRan):
        return None
    if (call := calls.get(event.tool_call_id)) is not None:
        return f"{call.entry_id}/call:{call.tool_call_id}"
    return f"{event.entry_id}/{BASH_TOOL}" if isinstance(event, BashRan) else None
