import math
from collections.abc import Callable
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.bounds import json_bytes
from pi_fabric.base.jsonvalue import UNDEFINED, Json, JsonObject
from pi_fabric.history.trace import MAX_TRACE_BYTES, Counts, Operation, Trace, read_trace

Change: TypeAlias = Callable[[JsonObject], object]


def valid() -> JsonObject:
    return {
        "kind": "pi-fabric.execution",
        "version": 1,
        "outcome": "timed_out",
        "phases": ["one"],
        "operations": [
            {"type": "call", "sequence": 2, "ref": "pi.grep", "args": {"path": "x"}, "outcome": "succeeded"},
            {
                "type": "call",
                "sequence": 6,
                "ref": "pi.edit",
                "provider": "pi",
                "action": "edit",
                "args": {},
                "outcome": "failed",
                "failureStage": "guard",
                "error": "why",
                "result": None,
            },
        ],
        "counts": {"droppedValues": 1, "truncatedValues": 2, "redactedValues": 3, "droppedOperations": 4},
        "error": "late",
    }


def nested(containers: int, leaf: Json) -> Json:
    value = leaf
    for level in range(containers):
        value = [value] if level % 2 else {"k": value}
    return value


@pytest.mark.requirement("trace:reader:decodes")
def test_a_valid_trace_is_decoded() -> None:
    assert read_trace(valid()) == Trace(
        outcome="timed_out",
        phases=("one",),
        operations=(
            Operation(sequence=2, ref="pi.grep", args={"path": "x"}, outcome="succeeded", result=UNDEFINED),
            Operation(
                sequence=6,
                ref="pi.edit",
                provider="pi",
                action="edit",
                args={},
                outcome="failed",
                failure_stage="guard",
                error="why",
                result=None,
            ),
        ),
        counts=Counts(dropped_values=1, truncated_values=2, redacted_values=3, dropped_operations=4),
        error="late",
    )


def test_a_decoded_trace_encodes_to_what_was_read() -> None:
    trace = read_trace(valid())

    assert trace is not None
    assert trace.to_json() == valid()


OFF: list[Change] = [
    lambda trace: trace.update(extra=1),
    lambda trace: trace.pop("counts"),
    lambda trace: trace.update(kind="x"),
    lambda trace: trace.update(version="1"),
    lambda trace: trace.update(version=True),
    lambda trace: trace.update(version=2),
    lambda trace: trace.update(outcome="done"),
    lambda trace: trace.update(outcome=[]),
    lambda trace: trace.update(phases={}),
    lambda trace: trace.update(phases=[1]),
    lambda trace: trace.update(error=None),
    lambda trace: trace.update(operations={}),
    lambda trace: trace.update(operations=[None]),
    lambda trace: trace["counts"].update(extra=1),
    lambda trace: trace["counts"].update(droppedValues=1.5),
    lambda trace: trace["counts"].update(droppedValues=-1),
    lambda trace: trace["counts"].update(droppedValues=True),
    lambda trace: trace["counts"].update(droppedValues=2**53),
    lambda trace: trace["operations"][0].update(type="x"),
    lambda trace: trace["operations"][0].update(sequence=6),
    lambda trace: trace["operations"][0].update(sequence="2"),
    lambda trace: trace["operations"][0].update(sequence=-1),
    lambda trace: trace["operations"][0].update(ref=None),
    lambda trace: trace["operations"][0].update(args=None),
    lambda trace: trace["operations"][0].update(args=[]),
    lambda trace: trace["operations"][0].update(args={"a": math.inf}),
    lambda trace: trace["operations"][0].update(provider=None),
    lambda trace: trace["operations"][0].update(failureStage="x"),
    lambda trace: trace["operations"][0].update(error=None),
    lambda trace: trace["operations"][0].update(extra=1),
]


@pytest.mark.requirement("trace:reader:exact")
@pytest.mark.parametrize("change", OFF)
def test_a_trace_that_is_off_by_anything_is_no_trace(change: Change) -> None:
    trace = valid()
    change(trace)

    assert read_trace(trace) is None


OPEN: list[Change] = [
    lambda trace: trace.update(version=1.0),
    lambda trace: trace["counts"].update(droppedValues=2**53 - 1),
    lambda trace: trace["operations"][0].update(sequence=2.0),
    lambda trace: trace["operations"][0].update(ref=""),
    lambda trace: trace["operations"][0].update(ref="r" * 5_000),
    lambda trace: trace["operations"][0].update(failureStage="invoke", error="late"),
    lambda trace: trace.update(operations=[]),
    lambda trace: trace.update(phases=["p"] * 10_000),
]


@pytest.mark.requirement("trace:reader:lenient")
@pytest.mark.parametrize("change", OPEN)
def test_what_the_format_leaves_open_is_accepted(change: Change) -> None:
    trace = valid()
    change(trace)

    assert read_trace(trace) is not None


@pytest.mark.requirement("trace:reader:depth")
@pytest.mark.parametrize(
    ("containers", "is_accepted"), [(14, True), (15, True), (16, False), (50_000, False)]
)
def test_fifteen_nested_containers_are_the_most(containers: int, is_accepted: bool) -> None:
    trace = valid()
    trace["operations"][0]["result"] = nested(containers, "leaf")

    assert (read_trace(trace) is not None) is is_accepted


@pytest.mark.requirement("trace:reader:bytes")
@pytest.mark.parametrize(("extra", "is_accepted"), [(0, True), (1, False)])
@pytest.mark.parametrize("letter", ["p", "あ"])
def test_the_bound_counts_utf8_bytes(extra: int, is_accepted: bool, letter: str) -> None:
    trace: JsonObject = {**valid(), "phases": [""]}
    room = MAX_TRACE_BYTES - json_bytes(trace) + extra
    size = len(letter.encode())
    trace["phases"] = [letter * (room // size) + "p" * (room % size)]

    assert (read_trace(trace) is not None) is is_accepted


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_other_json_is_no_trace(value: Json) -> None:
    assert read_trace(value) is None
