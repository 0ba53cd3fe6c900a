"""Operations of a program as entries of their own, from the trace of the result that tells them."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from pi_fabric.base.bounds import json_bytes
from pi_fabric.base.jsonvalue import UNDEFINED, Json, JsonObject, is_object, stringify
from pi_fabric.history.events.model import FabricOperation
from pi_fabric.history.events.nested import nested_events
from pi_fabric.memory.files_touched import traced_paths
from pi_fabric.memory.model import Entry, Number, Privacy

OPERATION_ROLE: Final = "fabricOperation"
# A result beyond it is left out of the record, which is searched and shown as a whole.
MAX_RESULT_BYTES: Final = 96 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The entry that tells of something else, and the file it is in."""

    session_file: str
    session_id: str
    entry_id: str
    parent_id: str | None
    timestamp: Number | None


def traced_operations(
    details: Json, place: Place, privacy: Privacy, wants_text: Callable[[int], bool]
) -> Iterator[Entry]:
    """One entry for each operation of a valid trace, in its order; legacy audits are no source here.

    Args:
        details: Of the result, any JSON.
        place: The result's entry.
        privacy: Whether results are kept.
        wants_text: Told the operation's place, from 0, says whether its text and record are wanted.
    """
    if not is_object(details) or "trace" not in details:
        return
    events = nested_events(details, place.entry_id, itertools.count(1))
    operations = (event for event in events if isinstance(event, FabricOperation))
    for number, event in enumerate(operations):
        entry = operation_entry(event, place)
        if wants_text(number):
            record = operation_record(event, {"sequence": int(event.subordinal)}, privacy)
            paths = traced_paths(event.ref, event.args)
            tell_operation(entry, record, paths=paths, label="fabricOperation ref")
        yield entry


def operation_entry(event: FabricOperation, place: Place) -> Entry:
    """The entry of one operation, without its text."""
    return Entry(
        session_file=place.session_file,
        session_id=place.session_id,
        entry_id=event.address,
        parent_id=place.parent_id,
        parent_entry_id=place.entry_id,
        type="fabric_operation",
        role=OPERATION_ROLE,
        tool_name=event.tool,
        text="",
        timestamp=place.timestamp,
        is_error=event.outcome != "succeeded",
        truncated=False,
        index=0,
        operation_address=event.address,
        ref=event.ref,
        provider=msgspec.UNSET if event.provider is None else event.provider,
        action=msgspec.UNSET if event.action is None else event.action,
        outcome=event.outcome,
    )


def tell_operation(entry: Entry, record: JsonObject, *, paths: list[str], label: str) -> None:
    """Give an operation's entry its record, and its text, which is the whole record."""
    entry.operation = record
    entry.files_touched = paths or msgspec.UNSET
    entry.text = f"{label} {entry.ref}\n{stringify(record)}"


def operation_record(event: FabricOperation, place: JsonObject, privacy: Privacy) -> JsonObject:
    """Everything that is known of an operation; of a result that is not kept it says so.

    Args:
        event: The operation.
        place: What tells it from others of its entry: `sequence` or `subordinal`.
        privacy: Decides about the result.
    """
    record: JsonObject = {"address": event.address, "parentEntryId": event.entry_id, **place}
    record |= {"tool": event.tool, "ref": event.ref}
    optional = {"provider": event.provider, "action": event.action}
    record |= {key: value for key, value in optional.items() if value is not None}
    record |= {"args": event.args, "outcome": event.outcome}
    if event.error is not None:
        record["error"] = event.error
    return record | kept_result(event.result, privacy)


def kept_result(result: Json, privacy: Privacy) -> JsonObject:
    """The result's part of a record; empty without a result."""
    if result is UNDEFINED:
        return {}
    if not privacy.tool_output or json_bytes(result) > MAX_RESULT_BYTES:
        return {"resultOmitted": True}
    return {"result": result}
