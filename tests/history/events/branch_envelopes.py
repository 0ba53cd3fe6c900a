"""Envelopes of branch summaries for tests."""

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.history.events import BranchDetails, BranchSource, Fact, OperationFact


def user(entry_id: str, text: str = "t") -> JsonObject:
    return fact("user", entry_id, "user", text=text)


def operation(entry_id: str = "a", **fields: Json) -> JsonObject:
    base: JsonObject = {"ref": "r", "tool": "t", "args": {}, "outcome": "failed"}
    return fact("operation", entry_id, "0", **{**base, **fields})


def fact(kind: str, entry_id: str, subordinal: str, **fields: Json) -> JsonObject:
    address = f"{entry_id}/{subordinal}"
    return {"kind": kind, "entryId": entry_id, "subordinal": subordinal, "address": address, **fields}


def envelope(*facts: JsonObject, **fields: Json) -> JsonObject:
    return {
        "kind": "pi-fabric.branch-summary",
        "version": 1,
        "source": {"firstEntryId": "b1", "lastEntryId": "b9", "entryCount": 9, "oldLeafId": "b9"},
        "facts": list(facts),
        "omittedFacts": 0,
        "sections": ["[Session Goal]"],
        "request": {"text": "", "sourceBytes": 0, "truncated": False},
        **fields,
    }


def details_of(*facts: Fact, omitted: int = 0) -> BranchDetails:
    source = BranchSource(first_entry_id="b1", last_entry_id="b9", entry_count=9, old_leaf_id="b9")
    return BranchDetails(source=source, facts=facts, omitted_facts=omitted, sections=("[Session Goal]",))


def operation_fact(entry_id: str, **fields: Json) -> OperationFact:
    base: JsonObject = {"ref": "x.y", "tool": "y", "args": {}, "outcome": "succeeded"}
    return OperationFact(entry_id=entry_id, subordinal="0", **{**base, **fields})
