from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.bounds import json_bytes
from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.history.trace import MAX_ENVELOPE_BYTES, MAX_TRACE_BYTES, TraceRecorder, persisted_details
from pi_fabric.history.trace.shedding import PERSISTING, shed

EMPTY_COUNTS = {"droppedValues": 0, "truncatedValues": 0, "redactedValues": 0, "droppedOperations": 0}


def trace_of(count: int, *, phases: int = 2) -> JsonObject:
    operations: list[JsonObject] = [
        {
            "type": "call",
            "sequence": sequence,
            "ref": "pi.write",
            "args": {"path": f"file-{sequence}"},
            "outcome": "succeeded",
            "result": {"created": True},
        }
        for sequence in range(count)
    ]
    return {
        "kind": "pi-fabric.execution",
        "version": 1,
        "outcome": "failed",
        "phases": [f"phase {number}" for number in range(phases)],
        "operations": operations,
        "counts": dict(EMPTY_COUNTS),
        "error": "why",
    }


def shape(trace: JsonObject) -> tuple[list[str], int]:
    marks = [
        ("a" if operation["args"] else "-") + ("r" if "result" in operation else "-")
        for operation in trace["operations"]
    ]
    return marks, len(trace["phases"])


def test_a_trace_that_fits_is_left_as_it_is() -> None:
    trace = trace_of(3)

    assert shed(trace, max_bytes=json_bytes(trace)) is trace


@pytest.mark.requirement("trace:shedding:order")
def test_results_go_first_then_arguments_then_operations_then_phases() -> None:
    trace = trace_of(3)
    seen: list[tuple[list[str], int]] = []
    for max_bytes in range(json_bytes(trace), 150, -1):
        now = shape(shed(trace, max_bytes=max_bytes))
        if now not in seen:
            seen.append(now)

    assert seen == [
        (["ar", "ar", "ar"], 2),
        (["ar", "ar", "a-"], 2),
        (["ar", "a-", "a-"], 2),
        (["a-", "a-", "a-"], 2),
        (["a-", "a-", "--"], 2),
        (["a-", "--", "--"], 2),
        (["--", "--", "--"], 2),
        (["--", "--"], 2),
        (["--"], 2),
        ([], 2),
        ([], 1),
        ([], 0),
    ]


@pytest.mark.requirement("trace:shedding:counts")
def test_what_is_shed_is_counted() -> None:
    trace = trace_of(3)
    nothing_left = shed(trace, max_bytes=0)

    assert nothing_left["counts"] == {
        "droppedValues": 3 + 3 + 2,
        "truncatedValues": 3 + 3,
        "redactedValues": 0,
        "droppedOperations": 3,
    }
    assert trace == trace_of(3)


@given(st.integers(0, 6), st.integers(0, 4), st.integers(250, 1_200))
def test_a_shed_trace_fits(count: int, phases: int, max_bytes: int) -> None:
    made = shed(trace_of(count, phases=phases), max_bytes=max_bytes)

    assert json_bytes(made) <= max_bytes


@pytest.mark.requirement("trace:bounds:bytes")
def test_a_large_run_is_sealed_within_the_bound_and_close_to_it() -> None:
    recorder = TraceRecorder()
    for number in range(180):
        recorder.succeed(recorder.issue("pi.bash", {"command": f"{number} {'z' * 12_000}"}), "r")

    sealed = recorder.seal("succeeded")
    assert MAX_TRACE_BYTES - 13_000 < json_bytes(sealed) <= MAX_TRACE_BYTES
    assert len(sealed["operations"]) == 180
    assert sealed["counts"]["droppedValues"] == 180 + sealed["counts"]["truncatedValues"]


@pytest.mark.requirement("trace:envelope:bytes")
@pytest.mark.parametrize("output_format", ["yaml", None])
def test_the_persisted_record_has_its_own_bound(output_format: str | None) -> None:
    trace = trace_of(0, phases=0)
    frame = json_bytes(trace)
    trace["phases"] = ["p" * 100, "q" * (MAX_TRACE_BYTES - frame - 105)]
    assert json_bytes(trace) == MAX_TRACE_BYTES

    details = persisted_details(success=False, trace=trace, output_format=output_format)

    assert json_bytes(details) <= MAX_ENVELOPE_BYTES
    assert details["trace"]["phases"] == ["p" * 100]
    assert details.get("outputFormat") == output_format


@pytest.mark.requirement("trace:envelope:order")
def test_the_persisted_record_sheds_operations_then_phases_then_the_error() -> None:
    trace = trace_of(2)
    seen: list[Any] = []
    for max_bytes in range(json_bytes(trace), 100, -1):
        made = shed(trace, max_bytes=max_bytes, steps=PERSISTING)
        now = (*shape(made), "error" in made)
        if now not in seen:
            seen.append(now)

    assert seen == [
        (["ar", "ar"], 2, True),
        (["ar"], 2, True),
        ([], 2, True),
        ([], 1, True),
        ([], 0, True),
        ([], 0, False),
    ]


def test_a_small_trace_is_persisted_unchanged() -> None:
    trace = trace_of(2)

    assert persisted_details(success=True, trace=trace, output_format=None) == {
        "success": True,
        "trace": trace,
    }
