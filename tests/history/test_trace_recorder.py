import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.bounds import json_bytes
from pi_fabric.base.jsonvalue import UNDEFINED, Json, JsonObject, stringify
from pi_fabric.history.trace import MAX_TRACE_BYTES, TraceRecorder, read_trace
from pi_fabric.history.trace.model import MAX_OPERATIONS
from pi_fabric.protocol.actions import Outcome, Stage
from pi_fabric.protocol.events import (
    CallEnded,
    CallPrepared,
    CallResolved,
    CallStarted,
    LogWritten,
    PhaseStarted,
)


def operation_of(recorder: TraceRecorder, outcome: Outcome = "succeeded") -> JsonObject:
    operations: list[JsonObject] = recorder.seal(outcome)["operations"]
    assert len(operations) == 1
    return operations[0]


@pytest.mark.requirement("trace:operation:shape")
def test_a_call_is_recorded_with_its_executed_arguments() -> None:
    recorder = TraceRecorder()
    number = recorder.issue("pi.read", {"path": "old", "secret": 1})
    recorder.resolved(number, "pi", "read")
    recorder.prepared(number, {"path": "new", "limit": 2})
    recorder.succeed(number)

    assert recorder.seal("succeeded", ["one"]) == {
        "kind": "pi-fabric.execution",
        "version": 1,
        "outcome": "succeeded",
        "phases": ["one"],
        "operations": [
            {
                "type": "call",
                "sequence": 0,
                "ref": "pi.read",
                "provider": "pi",
                "action": "read",
                "args": {"limit": 2, "path": "new"},
                "outcome": "succeeded",
            }
        ],
        "counts": {"droppedValues": 0, "truncatedValues": 0, "redactedValues": 0, "droppedOperations": 0},
    }


@pytest.mark.requirement("trace:operation:names")
@pytest.mark.parametrize(
    ("ref", "provider", "action"), [("mcp.srv.tool", "mcp", "srv.tool"), ("unknown", None, None)]
)
def test_provider_and_action_are_the_sides_of_the_first_dot(
    ref: str, provider: str | None, action: str | None
) -> None:
    recorder = TraceRecorder()
    recorder.issue(ref, {})

    operation = operation_of(recorder)
    assert (operation.get("provider"), operation.get("action")) == (provider, action)


def test_resolution_knows_the_names_better_than_the_reference() -> None:
    recorder = TraceRecorder()
    recorder.resolved(recorder.issue("mcp.srv.tool", {}), "mcp", "real.tool")

    assert operation_of(recorder)["action"] == "real.tool"


@pytest.mark.requirement("trace:sealing:open-calls")
@pytest.mark.parametrize(
    ("run", "call"),
    [("succeeded", "failed"), ("failed", "failed"), ("aborted", "aborted"), ("timed_out", "timed_out")],
)
def test_an_open_call_ends_as_the_run_did(run: Outcome, call: Outcome) -> None:
    recorder = TraceRecorder()
    recorder.issue("agents.run", {})

    operation = operation_of(recorder, run)
    assert (operation["outcome"], operation["failureStage"]) == (call, "invoke")
    assert operation["error"]


@pytest.mark.requirement("trace:sealing:aborted-by-deadline")
def test_a_call_that_a_deadline_aborted_timed_out() -> None:
    recorder = TraceRecorder()
    recorder.fail(recorder.issue("pi.bash", {}), "invoke", "aborted")

    assert operation_of(recorder, "timed_out")["outcome"] == "timed_out"


@pytest.mark.requirement("trace:causes:kept")
def test_a_cause_without_payload_survives_sealing() -> None:
    recorder = TraceRecorder()
    cause = "approvals.execute is deny"
    recorder.fail(recorder.issue("pi.bash", {}), "approve", "failed", cause=cause)

    sealed = recorder.seal("failed", cause="the program ran into its own error")
    assert sealed["operations"][0]["error"] == cause
    assert sealed["error"] == "the program ran into its own error"


@pytest.mark.requirement("trace:causes:sentences")
@pytest.mark.parametrize("stage", ["resolve", "guard", "prepare", "validate", "approve", "invoke"])
@pytest.mark.parametrize("outcome", ["failed", "aborted", "timed_out"])
def test_a_failure_without_a_cause_gets_a_sentence_that_names_the_stage(
    stage: Stage, outcome: Outcome
) -> None:
    recorder = TraceRecorder()
    recorder.fail(recorder.issue("pi.bash", {}), stage, outcome)

    assert operation_of(recorder)["error"].startswith(f"{stage}: ")


def test_a_long_cause_is_cut() -> None:
    recorder = TraceRecorder()
    recorder.fail(recorder.issue("pi.bash", {}), "invoke", "failed", cause="ü" * 10_000)

    assert len(operation_of(recorder)["error"].encode()) <= 8 * 1024


@pytest.mark.requirement("trace:causes:no-payload")
def test_nothing_of_what_the_program_was_told_is_kept() -> None:
    recorder = TraceRecorder()
    recorder(CallStarted(sequence=0, call_id="fabric_1", ref="pi.bash", args={"command": "ls"}))
    recorder(
        CallEnded(
            sequence=0,
            outcome="failed",
            stage="invoke",
            cause=None,
            error="ENOENT: /home/user/secret",
            result={"output": "private"},
        )
    )
    recorder(LogWritten(text="private"))

    written = stringify(recorder.seal("failed"))
    assert "ENOENT" not in written
    assert "private" not in written


@pytest.mark.requirement("trace:truncation:visible")
def test_a_result_that_the_program_got_a_preview_of_says_so() -> None:
    recorder = TraceRecorder()
    recorder(CallStarted(sequence=0, call_id="fabric_1", ref="pi.read", args={"path": "a"}))
    recorder(
        CallEnded(
            sequence=0, outcome="succeeded", stage=None, cause=None, error=None, result="x", truncated=True
        )
    )

    sealed = recorder.seal("succeeded")
    assert "preview" in sealed["operations"][0]["error"]
    assert sealed["counts"]["truncatedValues"] == 0
    assert read_trace(sealed) is not None


def test_events_record_as_the_verbs_do() -> None:
    told, asked = TraceRecorder(), TraceRecorder()
    told(CallStarted(sequence=0, call_id="fabric_1", ref="pi.write", args={"path": "a", "content": "b"}))
    told(CallResolved(sequence=0, provider="pi", action="write"))
    told(CallPrepared(sequence=0, args={"path": "b", "content": "b"}))
    told(PhaseStarted(index=0, name="ignored"))
    told(
        CallEnded(
            sequence=0, outcome="succeeded", stage=None, cause=None, error=None, result={"created": True}
        )
    )

    number = asked.issue("pi.write", {"path": "a", "content": "b"})
    asked.resolved(number, "pi", "write")
    asked.prepared(number, {"path": "b", "content": "b"})
    asked.succeed(number, {"created": True})

    assert told.seal("succeeded") == asked.seal("succeeded")


def test_what_is_told_of_an_unknown_or_ended_call_is_ignored() -> None:
    recorder = TraceRecorder()
    number = recorder.issue("pi.read", {"path": "a"})
    recorder.succeed(number)
    recorder.fail(number, "invoke", "failed")
    recorder.prepared(number + 1, {"path": "b"})

    assert operation_of(recorder)["outcome"] == "succeeded"


def test_sealing_again_gives_the_same_trace() -> None:
    recorder = TraceRecorder()
    first = recorder.seal("aborted")

    assert recorder.seal("succeeded") is first


@pytest.mark.requirement("trace:bounds:operations")
def test_calls_beyond_the_bound_are_counted() -> None:
    recorder = TraceRecorder()
    for _ in range(MAX_OPERATIONS + 3):
        recorder.succeed(recorder.issue("a.b", {}))

    sealed = recorder.seal("succeeded")
    assert len(sealed["operations"]) == MAX_OPERATIONS
    assert sealed["counts"]["droppedOperations"] == 3


@pytest.mark.requirement("trace:bounds:identifiers")
def test_long_names_are_cut_and_counted() -> None:
    recorder = TraceRecorder()
    recorder.issue("x." + "y" * 3_000, {})

    sealed = recorder.seal("succeeded", ["p" * 3_000])
    operation = sealed["operations"][0]
    cut = [operation["ref"], operation["action"], sealed["phases"][0]]
    assert [len(name.encode()) for name in cut] == [1024, 1024, 1024]
    assert operation["provider"] == "x"
    assert sealed["counts"]["truncatedValues"] == 3


@pytest.mark.requirement("trace:bounds:phases")
def test_phases_beyond_the_bound_are_counted() -> None:
    sealed = TraceRecorder().seal("succeeded", [f"ph{number}" for number in range(600)])

    assert sealed["phases"] == [f"ph{number}" for number in range(512)]
    assert sealed["counts"]["droppedValues"] == 88
    assert sealed["counts"]["truncatedValues"] == 1


texts = st.text(st.characters(exclude_categories=()), max_size=40)
calls = st.tuples(
    st.sampled_from(["pi.bash", "pi.read", "pi.write", "mesh.publish", "x.y", "odd"]) | texts,
    st.dictionaries(
        st.sampled_from(["path", "command", "limit", "topic"]) | texts,
        texts | st.floats() | st.integers() | st.none(),
        max_size=4,
    ),
    st.sampled_from(["open", "succeeded", "failed", "aborted", "timed_out"]),
    st.just(UNDEFINED) | st.none() | texts | st.just({"created": True}),
)


@given(st.lists(calls, max_size=8), st.sampled_from(["succeeded", "failed", "aborted", "timed_out"]))
def test_whatever_happens_the_sealed_trace_is_valid(
    happened: list[tuple[str, Json, str, Json]], outcome: Outcome
) -> None:
    recorder = TraceRecorder()
    for ref, args, end, result in happened:
        number = recorder.issue(ref, args)
        if end == "succeeded":
            recorder.succeed(number, result)
        elif end in {"failed", "aborted", "timed_out"}:
            recorder.fail(number, "invoke", "aborted" if end == "aborted" else "failed", result)

    sealed = recorder.seal(outcome, [ref for ref, _, _, _ in happened])
    assert read_trace(sealed) is not None
    assert json_bytes(sealed) <= MAX_TRACE_BYTES
