"""What a program did, from the details of a `fabric_exec` result: a valid V1 trace, or legacy audits.

A trace that is there but is not V1 counts for nothing; it is never taken for the older format.
"""

from collections.abc import Iterator

from pi_fabric.base.exact import are_texts
from pi_fabric.base.jsonvalue import Json, is_array, is_object
from pi_fabric.history.events.model import FabricOperation, FabricPhase
from pi_fabric.history.trace import Operation, Trace, read_trace


def nested_events(
    details: Json, entry_id: str, numbers: Iterator[int]
) -> Iterator[FabricPhase | FabricOperation]:
    """Phases, then operations in the order of their sequence.

    Args:
        details: Any JSON.
        entry_id: Entry of the result; addresses start with it.
        numbers: Gives each event its index.
    """
    if not is_object(details):
        return
    if "trace" not in details:
        yield from _audited(details.get("audits"), entry_id, numbers)
    elif (trace := read_trace(details["trace"])) is not None:
        yield from _traced(trace, entry_id, numbers)


def _traced(trace: Trace, entry_id: str, numbers: Iterator[int]) -> Iterator[FabricPhase | FabricOperation]:
    for position, phase in enumerate(trace.phases):
        yield FabricPhase(
            entry_id=entry_id,
            source_entry_id=entry_id,
            index=next(numbers),
            subordinal=f"phase:{position}",
            phase=phase,
        )
    for operation in trace.operations:
        yield _operation(operation, entry_id, next(numbers))


def _operation(operation: Operation, entry_id: str, index: int) -> FabricOperation:
    provider, action = _sides(operation.ref)
    action = operation.action or action
    return FabricOperation(
        entry_id=entry_id,
        source_entry_id=entry_id,
        index=index,
        subordinal=str(operation.sequence),
        ref=operation.ref,
        provider=operation.provider or provider,
        action=action,
        tool=action or operation.ref,
        args=operation.args,
        outcome=operation.outcome,
        error=operation.error,
        result=operation.result,
        source="trace",
    )


def _audited(audits: Json, entry_id: str, numbers: Iterator[int]) -> Iterator[FabricOperation]:
    if not is_array(audits) or not all(map(_is_audit, audits)):
        return
    for sequence, audit in enumerate(audits):
        provider, action = _sides(audit["ref"])
        yield FabricOperation(
            entry_id=entry_id,
            source_entry_id=entry_id,
            index=next(numbers),
            subordinal=str(sequence),
            ref=audit["ref"],
            provider=provider,
            action=action,
            tool=action or audit["ref"],
            args=audit["args"],
            outcome="succeeded" if audit["success"] else "failed",
            error=audit.get("error"),
            source="legacy",
        )


def _is_audit(value: Json) -> bool:
    if not is_object(value) or not is_object(value.get("args")):
        return False
    return isinstance(value.get("success"), bool) and are_texts([value.get("ref"), value.get("error", "")])


def _sides(ref: str) -> tuple[str | None, str | None]:
    """Provider and action, the two sides of the first dot; none of either without a dot."""
    provider, dot, action = ref.partition(".")
    return (provider, action) if dot else (None, None)
