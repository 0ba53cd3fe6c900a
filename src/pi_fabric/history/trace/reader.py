"""Read a persisted trace: V1 exactly, or nothing.

A session file is anybody's text. What is not a V1 trace to the last key is ignored by the callers; it is
never repaired and never taken for an older format.
"""

import math
from collections.abc import Sequence
from typing import Final

from pi_fabric.base.bounds import json_bytes
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

_MAX_SAFE_INTEGER = 2**53 - 1
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
    if not _has_keys(value, _TRACE_KEYS, frozenset({"error"})):
        return None
    if value["kind"] != KIND or value["version"] != VERSION or isinstance(value["version"], bool):
        return None
    phases, counts = value["phases"], _read_counts(value["counts"])
    operations = _read_operations(value["operations"])
    if not is_array(phases) or not _are_texts(phases) or operations is None or counts is None:
        return None
    if not _is_one_of(value["outcome"], OUTCOMES) or not _are_texts([value.get("error", "")]):
        return None
    if json_bytes(value) > MAX_TRACE_BYTES:
        return None
    return Trace(
        outcome=value["outcome"],
        phases=tuple(phases),
        operations=operations,
        counts=counts,
        error=value.get("error"),
    )


def _read_counts(value: Json) -> Counts | None:
    if not _has_keys(value, _COUNT_KEYS, frozenset()) or not all(map(_is_count, value.values())):
        return None
    return Counts(
        dropped_values=int(value["droppedValues"]),
        truncated_values=int(value["truncatedValues"]),
        redacted_values=int(value["redactedValues"]),
        dropped_operations=int(value["droppedOperations"]),
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
    if not _has_keys(value, _OPERATION_KEYS, _OPERATION_OPTIONAL):
        return None
    if value["type"] != "call" or not _is_count(value["sequence"]) or not is_object(value["args"]):
        return None
    if not _are_texts([value["ref"], *(value.get(key, "") for key in ("provider", "action", "error"))]):
        return None
    if not _is_one_of(value["outcome"], OUTCOMES) or not _is_one_of(
        value.get("failureStage", "invoke"), STAGES
    ):
        return None
    if not _is_shallow_json(value["args"]) or not _is_shallow_json(value.get("result")):
        return None
    return Operation(
        sequence=int(value["sequence"]),
        ref=value["ref"],
        provider=value.get("provider"),
        action=value.get("action"),
        args=value["args"],
        outcome=value["outcome"],
        failure_stage=value.get("failureStage"),
        error=value.get("error"),
        result=value.get("result", UNDEFINED),
    )


def _has_keys(value: Json, required: frozenset[str], optional: frozenset[str]) -> bool:
    return is_object(value) and required <= value.keys() <= required | optional


def _are_texts(values: Sequence[Json]) -> bool:
    return all(isinstance(value, str) for value in values)


def _is_one_of(value: Json, words: frozenset[str]) -> bool:
    return isinstance(value, str) and value in words


def _is_count(value: Json) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    # JavaScript does not tell 2.0 from 2.
    is_whole = isinstance(value, int) or value.is_integer()
    return is_whole and 0 <= value <= _MAX_SAFE_INTEGER


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
