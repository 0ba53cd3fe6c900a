"""Events that a branch summary tells of the branch that was left, from its typed facts alone."""

from collections.abc import Iterator

from pi_fabric.base.jsonvalue import Json
from pi_fabric.history.events.branch_facts import CustomMessageFact, Fact, PhaseFact, UserFact
from pi_fabric.history.events.branch_reader import read_branch_details
from pi_fabric.history.events.model import CustomMessage, Event, FabricOperation, FabricPhase, UserText


def branch_events(details: Json, source_entry_id: str, numbers: Iterator[int]) -> Iterator[Event]:
    """One event for each fact of a valid envelope, in its order; none for anything else.

    Args:
        details: `details` of the branch summary, any JSON.
        source_entry_id: Entry of the branch summary.
        numbers: Gives each event its index.
    """
    envelope = read_branch_details(details)
    if envelope is not None:
        for fact in envelope.facts:
            yield _event_of(fact, source_entry_id, next(numbers))


def _event_of(fact: Fact, source_entry_id: str, index: int) -> Event:
    if isinstance(fact, UserFact):
        return UserText(entry_id=fact.entry_id, source_entry_id=source_entry_id, index=index, text=fact.text)
    if isinstance(fact, CustomMessageFact):
        return CustomMessage(
            entry_id=fact.entry_id,
            source_entry_id=source_entry_id,
            index=index,
            custom_type=fact.custom_type,
            text=fact.text,
            display=fact.display,
            details=fact.details,
        )
    if isinstance(fact, PhaseFact):
        return FabricPhase(
            entry_id=fact.entry_id,
            source_entry_id=source_entry_id,
            index=index,
            subordinal=fact.subordinal,
            phase=fact.phase,
        )
    return FabricOperation(
        entry_id=fact.entry_id,
        source_entry_id=source_entry_id,
        index=index,
        subordinal=fact.subordinal,
        ref=fact.ref,
        provider=fact.provider,
        action=fact.action,
        tool=fact.tool,
        args=fact.args,
        outcome=fact.outcome,
        error=fact.error,
        result=fact.result,
        source="branch",
    )
