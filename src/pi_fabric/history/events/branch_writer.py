"""The facts that the envelope of a branch summary carries, taken from typed events."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from pi_fabric.base.bounds import clip_bytes
from pi_fabric.history.events.branch_facts import (
    MAX_FACTS,
    MAX_TEXT_BYTES,
    CustomMessageFact,
    Fact,
    OperationFact,
    PhaseFact,
    UserFact,
)
from pi_fabric.history.events.model import (
    BASH_TOOL,
    FABRIC_TOOL,
    BashRan,
    CustomMessage,
    Event,
    FabricOperation,
    FabricPhase,
    ToolCalled,
    ToolResulted,
    UserText,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactSample:
    """The facts that an envelope carries, and how many it does not."""

    facts: tuple[Fact, ...]
    omitted: int


def facts_of(events: Iterable[Event]) -> FactSample:
    """Collect what the events tell for certain, in their order.

    Users' texts, custom messages, phases and operations are facts. A direct operation is told by its
    result and addressed by its call; a call without a result is none, nor is a result without a call. Of
    a `fabric_exec`, only what its trace says is told. What is told twice under one address, such as by two
    summaries or by two results of one call, is one fact: the later, in the place of the earlier.

    Returns:
        At most 256 facts, the earlier half and the later half of all, each text within 2 KiB.
    """
    calls: dict[str, ToolCalled] = {}
    # By address: who looks a fact up by its address refuses an envelope that has two of one.
    facts: dict[str, Fact] = {}
    for event in events:
        if isinstance(event, ToolCalled):
            calls[event.tool_call_id] = event
        elif (fact := _fact_of(event, calls)) is not None:
            facts[fact.address] = fact
    return sample_facts([*facts.values()], MAX_FACTS)


def sample_facts(facts: Sequence[Fact], bound: int) -> FactSample:
    """At most `bound` facts: the earlier half, which is the larger, and the later half."""
    if len(facts) <= bound:
        return FactSample(facts=tuple(facts), omitted=0)
    later = bound // 2
    kept = chain(facts[: bound - later], facts[len(facts) - later :])
    return FactSample(facts=tuple(kept), omitted=len(facts) - bound)


def _fact_of(event: Event, calls: dict[str, ToolCalled]) -> Fact | None:
    if isinstance(event, UserText):
        return UserFact(entry_id=event.entry_id, text=_clipped(event.text))
    if isinstance(event, CustomMessage):
        return CustomMessageFact(
            entry_id=event.entry_id,
            custom_type=event.custom_type,
            text=_clipped(event.text),
            display=event.display,
            details=event.details,
        )
    if isinstance(event, FabricPhase):
        return PhaseFact(entry_id=event.entry_id, subordinal=event.subordinal, phase=_clipped(event.phase))
    if isinstance(event, FabricOperation):
        return _operation_fact(event)
    if isinstance(event, BashRan):
        return _command_fact(event, calls.get(event.tool_call_id))
    if isinstance(event, ToolResulted) and event.tool_name != FABRIC_TOOL:
        call = calls.get(event.tool_call_id)
        error = (event.text or None) if event.is_error else None
        return None if call is None else _call_fact(call, is_error=event.is_error, error=error)
    return None


def _operation_fact(event: FabricOperation) -> OperationFact:
    return OperationFact(
        entry_id=event.entry_id,
        subordinal=event.subordinal,
        ref=event.ref,
        provider=event.provider,
        action=event.action,
        tool=event.tool,
        args=event.args,
        outcome=event.outcome,
        error=_clipped_error(event.error),
        result=event.result,
    )


def _command_fact(event: BashRan, call: ToolCalled | None) -> OperationFact:
    if call is not None:
        return _call_fact(call, is_error=event.is_error, error=event.error)
    return OperationFact(
        entry_id=event.entry_id,
        subordinal=BASH_TOOL,
        ref=BASH_TOOL,
        action=BASH_TOOL,
        tool=BASH_TOOL,
        args={"command": event.command},
        outcome="failed" if event.is_error else "succeeded",
        error=_clipped_error(event.error),
    )


def _call_fact(call: ToolCalled, *, is_error: bool, error: str | None) -> OperationFact:
    return OperationFact(
        entry_id=call.entry_id,
        subordinal=f"call:{call.tool_call_id}",
        ref=call.name,
        action=call.name,
        tool=call.name,
        args=call.args,
        outcome="failed" if is_error else "succeeded",
        error=_clipped_error(error),
    )


def _clipped(text: str) -> str:
    return clip_bytes(text, MAX_TEXT_BYTES)


def _clipped_error(error: str | None) -> str | None:
    return None if error is None else _clipped(error)
