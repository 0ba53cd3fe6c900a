"""Read the envelope of a branch summary: version 1 exactly, or nothing."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from pi_fabric.base.bounds import json_bytes
from pi_fabric.base.exact import are_texts, is_count, is_one_of, is_version, object_with
from pi_fabric.base.jsonvalue import UNDEFINED, Json, JsonObject, is_array, is_object
from pi_fabric.history.events.branch_facts import (
    KIND,
    MAX_DEPTH,
    MAX_ENVELOPE_BYTES,
    MAX_FACTS,
    MAX_ITEMS,
    MAX_NODES,
    MAX_SECTIONS,
    VERSION,
    BranchDetails,
    BranchRequest,
    BranchSource,
    CustomMessageFact,
    Fact,
    OperationFact,
    PhaseFact,
    UserFact,
)
from pi_fabric.history.trace.model import OUTCOMES

_ENVELOPE_KEYS: Final = frozenset(
    {"kind", "version", "source", "facts", "omittedFacts", "sections", "request"}
)
_SOURCE_KEYS: Final = frozenset({"firstEntryId", "lastEntryId", "entryCount"})
_SOURCE_OPTIONAL: Final = frozenset({"oldLeafId"})
_REQUEST_KEYS: Final = frozenset({"text", "sourceBytes", "truncated"})
_FACT_KEYS: Final = frozenset({"kind", "entryId", "subordinal", "address"})
_CUSTOM_KEYS: Final = _FACT_KEYS | {"customType", "text", "display"}
_OPERATION_KEYS: Final = _FACT_KEYS | {"ref", "tool", "args", "outcome"}
_OPERATION_OPTIONAL: Final = frozenset({"provider", "action", "error", "result"})


def read_branch_details(value: Json) -> BranchDetails | None:
    """Decode the details of a branch summary.

    Args:
        value: Any decoded JSON.

    Returns:
        The envelope, or None when `value` is anything else: another kind or version, a missing or unknown
        key, an address that is not `entryId/subordinal`, a bound exceeded.
    """
    record = object_with(value, _ENVELOPE_KEYS)
    if record is None or record["kind"] != KIND or not is_version(record["version"], VERSION):
        return None
    source, request = _read_source(record["source"]), _read_request(record["request"])
    sections = record["sections"]
    if source is None or request is None or not is_count(record["omittedFacts"]):
        return None
    if not is_array(sections) or len(sections) > MAX_SECTIONS or not are_texts(sections):
        return None
    facts = _read_facts(record["facts"])
    if facts is None or json_bytes(record) > MAX_ENVELOPE_BYTES:
        return None
    return BranchDetails(
        source=source,
        facts=facts,
        omitted_facts=int(record["omittedFacts"]),
        sections=tuple(sections),
        request=request,
    )


@dataclass(slots=True)
class Room:
    """How many JSON values an envelope may still hold."""

    nodes: int = MAX_NODES

    def takes(self, value: Json) -> bool:
        """Count the values in `value`, itself included.

        Returns:
            False when they are more than there is room for, nest deeper than 16 below `value`, make a
            collection of more than 256, or are no JSON; how much room is left then means nothing.
        """
        pending: list[tuple[Json, int]] = [(value, 0)]
        while pending:
            item, depth = pending.pop()
            self.nodes -= 1
            if self.nodes < 0 or depth > MAX_DEPTH:
                return False
            if isinstance(item, float):
                if not math.isfinite(item):
                    return False
            elif is_object(item) or is_array(item):
                if len(item) > MAX_ITEMS:
                    return False
                pending.extend((child, depth + 1) for child in (item.values() if is_object(item) else item))
        return True


def _read_source(value: Json) -> BranchSource | None:
    record = object_with(value, _SOURCE_KEYS, _SOURCE_OPTIONAL)
    if record is None or not are_texts([record["firstEntryId"], record["lastEntryId"]]):
        return None
    leaf = record.get("oldLeafId")
    if not is_count(record["entryCount"]) or not isinstance(leaf, str | None):
        return None
    return BranchSource(
        first_entry_id=record["firstEntryId"],
        last_entry_id=record["lastEntryId"],
        entry_count=int(record["entryCount"]),
        old_leaf_id=leaf,
        names_leaf="oldLeafId" in record,
    )


def _read_request(value: Json) -> BranchRequest | None:
    record = object_with(value, _REQUEST_KEYS)
    if record is None or not is_count(record["sourceBytes"]) or not isinstance(record["text"], str):
        return None
    if not isinstance(record["truncated"], bool):
        return None
    return BranchRequest(
        text=record["text"], source_bytes=int(record["sourceBytes"]), truncated=record["truncated"]
    )


def _read_facts(value: Json) -> tuple[Fact, ...] | None:
    if not is_array(value) or len(value) > MAX_FACTS:
        return None
    facts: list[Fact] = []
    room = Room()
    for item in value:
        fact = _read_fact(item, room)
        if fact is None:
            return None
        facts.append(fact)
    return tuple(facts)


def _read_fact(value: Json, room: Room) -> Fact | None:
    if not is_object(value) or not is_one_of(value.get("kind"), _KINDS):
        return None
    entry_id, subordinal = value.get("entryId"), value.get("subordinal")
    if not are_texts([entry_id, subordinal]) or value.get("address") != f"{entry_id}/{subordinal}":
        return None
    return _READERS[value["kind"]](value, room)


def _read_user(value: JsonObject, _room: Room) -> UserFact | None:
    record = object_with(value, _FACT_KEYS | {"text"})
    if record is None or not isinstance(record["text"], str):
        return None
    return UserFact(entry_id=record["entryId"], subordinal=record["subordinal"], text=record["text"])


def _read_custom_message(value: JsonObject, room: Room) -> CustomMessageFact | None:
    record = object_with(value, _CUSTOM_KEYS, frozenset({"details"}))
    if record is None or not are_texts([record["customType"], record["text"]]):
        return None
    if not isinstance(record["display"], bool) or ("details" in record and not room.takes(record["details"])):
        return None
    return CustomMessageFact(
        entry_id=record["entryId"],
        subordinal=record["subordinal"],
        custom_type=record["customType"],
        text=record["text"],
        display=record["display"],
        details=record.get("details", UNDEFINED),
    )


def _read_phase(value: JsonObject, _room: Room) -> PhaseFact | None:
    record = object_with(value, _FACT_KEYS | {"phase"})
    if record is None or not isinstance(record["phase"], str):
        return None
    return PhaseFact(entry_id=record["entryId"], subordinal=record["subordinal"], phase=record["phase"])


def _read_operation(value: JsonObject, room: Room) -> OperationFact | None:
    record = object_with(value, _OPERATION_KEYS, _OPERATION_OPTIONAL)
    if record is None or not is_object(record["args"]) or not is_one_of(record["outcome"], OUTCOMES):
        return None
    optional = (record.get(key, "") for key in ("provider", "action", "error"))
    if not are_texts([record["ref"], record["tool"], *optional]):
        return None
    if not room.takes(record["args"]) or ("result" in record and not room.takes(record["result"])):
        return None
    return OperationFact(
        entry_id=record["entryId"],
        subordinal=record["subordinal"],
        ref=record["ref"],
        provider=record.get("provider"),
        action=record.get("action"),
        tool=record["tool"],
        args=record["args"],
        outcome=record["outcome"],
        error=record.get("error"),
        result=record.get("result", UNDEFINED),
    )


_READERS: Final[Mapping[str, Callable[[JsonObject, Room], Fact | None]]] = {
    "user": _read_user,
    "customMessage": _read_custom_message,
    "phase": _read_phase,
    "operation": _read_operation,
}
_KINDS: Final = frozenset(_READERS)
