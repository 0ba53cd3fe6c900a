"""Read a persisted trace: V1 exactly, or nothing.

A session file is anybody's text. What is not a V1 trace to the last key is ignored by the callers; it is
never repaired and never taken for an older format.
"""

import math
from typing import Final

from pi_fabric.base.bounds import json_bytes
from pi_fabric.base.exact import are_texts, is_count, is_one_of, is_version, object_with
from pi_fabric.base.jsonvalue import UNDEFINED, Json, is_array, is_object
from pi_fabric.history.trace.model import (
    KIND,
    MAX_TRACE_BYTES,
    OUTCOMES,
    STAGES,
    VERSION,
    Counts,
    Operation,
    Trace,
)

# Arguments and results may nest this deep; scalars may lie one level deeper.
MAX_JSON_DEPTH = 14

_TRACE_KEYS: Final = frozenset({"kind", "version", "outcome", "phases", "operations", "counts"})
_OPERATION_KEYS: Final = frozenset({"type", "sequence", "ref", "args", "outcome"})
_OPERATION_OPTIONAL: Final = frozenset({"provider", "action", "failureStage", "error", "result"})
_COUNT_KEYS: Final = frozenset({"droppedValues", "truncatedValues", "redactedValues", "droppedOperations"})


def read_trace(value: Json) -> Trace | None:
    """Decode a V1 trace.

    Args:
        value: Any decoded JSON.

    Returns:
        The trace, or None when `value` is anything else: another version, a missing or unknown key, a
        number that is no safe integer, operations out of order, nesting beyond 14, more than 512 KiB.
    """
    record = object_with(value, _TRACE_KEYS, frozenset({"error"}))
    if record is None or record["kind"] != KIND or not is_version(record["version"], VERSION):
        return None
    phases, counts = record["phases"], _read_counts(record["counts"])
    operations = _read_operations(record["operations"])
    if not is_array(phases) or not are_texts(phases) or operations is None or counts is None:
        return None
    if not is_one_of(record["outcome"], OUTCOMES) or not are_texts([record.get("error", "")]):
        return None
    if json_bytes(record) > MAX_TRACE_BYTES:
        return None
    return Trace(
        outcome=record["outcome"],
        phases=tuple(phases),
        operations=operations,
        counts=counts,
        error=record.get("error"),
    )


def _read_counts(value: Json) -> Counts | None:
    record = object_with(value, _COUNT_KEYS)
    if record is None or not all(map(is_count, record.values())):
        return None
    return Counts(
        dropped_values=int(record["droppedValues"]),
        truncated_values=int(record["truncatedValues"]),
        redacted_values=int(record["redactedValues"]),
        dropped_operations=int(record["droppedOperations"]),
    )


def _read_operations(value: Json) -> tuple[Operation, ...] | None:
    if not is_array(value):
        return None
    operations: list[Operation] = []
    for item in value:
        operation = _read_operation(item)
        if operation is None or (operations and operation.sequence <= operations[-1].sequence):
            return None
        operations.append(operation)
    return tuple(operations)


def _read_operation(value: Json) -> Operation | None:
    record = object_with(value, _OPERATION_KEYS, _OPERATION_OPTIONAL)
    if record is None or record["type"] != "call":
        return None
    if not is_count(record["sequence"]) or not is_object(record["args"]):
        return None
    if not are_texts([record["ref"], *(record.get(key, "") for key in ("provider", "action", "error"))]):
        return None
    if not is_one_of(record["outcome"], OUTCOMES) or not is_one_of(
        record.get("failureStage", "invoke"), STAGES
    ):
        return None
    if not _is_shallow_json(record["args"]) or not _is_shallow_json(record.get("result")):
        return None
    return Operation(
        sequence=int(record["sequence"]),
        ref=record["ref"],
        provider=record.get("provider"),
        action=record.get("action"),
        args=record["args"],
        outcome=record["outcome"],
        failure_stage=record.get("failureStage"),
        error=record.get("error"),
        result=record.get("result", UNDEFINED),
    )


def _is_shallow_json(value: Json) -> bool:
    pending: list[tuple[Json, int]] = [(value, 0)]
    while pending:
        item, depth = pending.pop()
        if isinstance(item, float):
            if not math.isfinite(item):
                return False
        elif is_object(item) or is_array(item):
            if depth > MAX_JSON_DEPTH:
                return False
            children = item.values() if is_object(item) else item
            pending.extend((child, depth + 1) for child in children)
    return True
