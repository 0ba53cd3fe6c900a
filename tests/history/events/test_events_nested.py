import itertools
from collections.abc import Callable
from typing import TypeAlias

import pytest

from pi_fabric.base.jsonvalue import UNDEFINED, Json, JsonObject
from pi_fabric.history.events.model import FabricOperation, FabricPhase
from pi_fabric.history.events.nested import nested_events

Change: TypeAlias = Callable[[JsonObject], object]


def trace(*operations: JsonObject, **fields: Json) -> JsonObject:
    return {
        "kind": "pi-fabric.execution",
        "version": 1,
        "outcome": "succeeded",
        "phases": ["one", "two"],
        "operations": list(operations),
        "counts": {"droppedValues": 0, "truncatedValues": 0, "redactedValues": 0, "droppedOperations": 0},
        **fields,
    }


def call(sequence: int, ref: str, **fields: Json) -> JsonObject:
    return {
        "type": "call",
        "sequence": sequence,
        "ref": ref,
        "args": {},
        "outcome": "succeeded",
        **fields,
    }


def nested(details: Json) -> list[FabricPhase | FabricOperation]:
    return list(nested_events(details, "e7", itertools.count(5)))


def operation(details: Json) -> FabricOperation:
    (event,) = (event for event in nested(details) if isinstance(event, FabricOperation))
    return event


@pytest.mark.requirement("events:nested:trace")
def test_phases_come_first_and_operations_by_their_sequence() -> None:
    events = nested({"trace": trace(call(2, "pi.ls"), call(11, "pi.read"))})

    assert [event.address for event in events] == ["e7/phase:0", "e7/phase:1", "e7/2", "e7/11"]
    assert [event.index for event in events] == [5, 6, 7, 8]


@pytest.mark.requirement("events:nested:fields")
def test_an_operation_keeps_exactly_what_the_trace_tells() -> None:
    told = call(
        3,
        "pi.edit",
        provider="pi",
        action="edit",
        args={"path": "f"},
        outcome="failed",
        failureStage="invoke",
        error=" why ",
        result=None,
    )

    assert operation({"trace": trace(told)}) == FabricOperation(
        entry_id="e7",
        source_entry_id="e7",
        index=7,
        subordinal="3",
        ref="pi.edit",
        provider="pi",
        action="edit",
        tool="edit",
        args={"path": "f"},
        outcome="failed",
        error=" why ",
        result=None,
        source="trace",
    )


@pytest.mark.requirement("events:nested:names")
@pytest.mark.parametrize(
    ("ref", "provider", "action", "tool"),
    [
        ("pi.read", "pi", "read", "read"),
        ("mcp.github.search", "mcp", "github.search", "github.search"),
        ("read", None, None, "read"),
    ],
)
def test_provider_and_action_are_the_sides_of_the_first_dot(
    ref: str, provider: str | None, action: str | None, tool: str
) -> None:
    from_trace = operation({"trace": trace(call(0, ref))})
    from_audit = operation({"audits": [{"ref": ref, "args": {}, "success": True}]})

    assert (from_trace.provider, from_trace.action, from_trace.tool) == (provider, action, tool)
    assert (from_audit.provider, from_audit.action, from_audit.tool) == (provider, action, tool)


def test_names_in_the_trace_go_before_those_in_the_reference() -> None:
    told = operation({"trace": trace(call(0, "a.b", provider="p", action="x"))})

    assert (told.provider, told.action, told.tool) == ("p", "x", "x")


AUDIT: JsonObject = {"ref": "pi.edit", "args": {"path": "f"}, "success": False, "error": "why"}


@pytest.mark.requirement("events:nested:legacy")
def test_audits_are_operations_numbered_by_their_place() -> None:
    with_prose = {**AUDIT, "result": "prose that nobody reads"}
    first, second = nested({"audits": [with_prose, {"ref": "agents.run", "args": {}, "success": True}]})

    assert first == FabricOperation(
        entry_id="e7",
        source_entry_id="e7",
        index=5,
        subordinal="0",
        ref="pi.edit",
        provider="pi",
        action="edit",
        tool="edit",
        args={"path": "f"},
        outcome="failed",
        error="why",
        result=UNDEFINED,
        source="legacy",
    )
    assert isinstance(second, FabricOperation)
    assert (second.address, second.outcome, second.error) == ("e7/1", "succeeded", None)


OFF: list[Change] = [
    lambda audit: audit.pop("ref"),
    lambda audit: audit.pop("args"),
    lambda audit: audit.pop("success"),
    lambda audit: audit.update(ref=5),
    lambda audit: audit.update(args=[]),
    lambda audit: audit.update(success="yes"),
    lambda audit: audit.update(error=None),
]


@pytest.mark.requirement("events:nested:legacy")
@pytest.mark.parametrize("change", OFF)
def test_one_record_that_is_off_spoils_the_audits(change: Change) -> None:
    bad = dict(AUDIT)
    change(bad)

    assert nested({"audits": [AUDIT, bad]}) == []


@pytest.mark.requirement("events:nested:trace-wins")
@pytest.mark.parametrize("present", [trace(version=2), None, {}, "trace"])
def test_a_trace_that_is_not_v1_is_never_read_as_audits(present: Json) -> None:
    assert nested({"trace": present, "audits": [AUDIT]}) == []


@pytest.mark.parametrize("details", [None, [], "audits", {}, {"audits": {}}, {"audits": [None]}, UNDEFINED])
def test_other_details_tell_nothing(details: Json) -> None:
    assert nested(details) == []
