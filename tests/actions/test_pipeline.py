from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Literal

import anyio
import pytest

from pi_fabric.actions.approvals import Approvals, Policy
from pi_fabric.actions.pipeline import Guard, Pipeline, PipelineContext
from pi_fabric.actions.registry import Registry
from pi_fabric.base.clock import Deadline, FakeClock
from pi_fabric.base.errors import FabricError, InvalidArguments, Unavailable, UnknownAction
from pi_fabric.base.jsonvalue import UNDEFINED, Json, JsonObject
from pi_fabric.protocol.actions import Action, CallContext, CallShape, ImageBlock, Risk
from pi_fabric.protocol.events import (
    CallEnded,
    CallPrepared,
    CallResolved,
    CallStarted,
    CallUpdated,
    ExecutionEvent,
)

Answer = Callable[[JsonObject, CallContext], Awaitable[Json]]
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "additionalProperties": False,
}


class One:
    """A provider with one action that answers as it is told."""

    name = "one"
    description = "one action"

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    async def actions(self) -> Sequence[Action]:
        shape = CallShape(aliases={"n": ("number",)})
        return [Action(name="do", description="", risk="execute", input_schema=SCHEMA, shape=shape)]

    async def invoke(self, name: str, args: JsonObject, context: CallContext) -> Json:
        return await self._answer(args, context)


class Recording:
    """A pipeline over one provider, and everything it told."""

    def __init__(
        self,
        answer: Answer,
        *,
        policy: Policy = "allow",
        guards: Sequence[Guard] = (),
        interruption: Literal["aborted", "timed_out"] = "aborted",
    ) -> None:
        self.events: list[ExecutionEvent] = []
        self.images: list[ImageBlock] = []
        self._answer = answer
        self._policy: Policy = policy
        self._guards = guards
        self._interruption: Literal["aborted", "timed_out"] = interruption

    async def pipeline(self) -> Pipeline:
        deadline = Deadline(10, FakeClock())
        risks: tuple[Risk, ...] = ("read", "write", "execute", "network", "agent")
        policy: dict[Risk, Policy] = dict.fromkeys(risks, self._policy)
        return Pipeline(
            PipelineContext(
                catalogue=await Registry([One(self._answer)]).catalogue(),
                approvals=Approvals(policy=policy, port=None, deadline=deadline),
                deadline=deadline,
                cwd=Path("/"),
                sink=self.events.append,
                guards=self._guards,
                internal={"fabric.hello": hello},
                bound=lambda value: ("cut", True) if value == "long" else (value, False),
                attach=self.images.append,
                interruption=lambda: self._interruption,
            )
        )

    def ended(self) -> CallEnded:
        last = self.events[-1]
        assert isinstance(last, CallEnded)
        return last


async def hello(args: JsonObject) -> Json:
    if "wrong" in args:
        raise InvalidArguments("hello", ["wrong: unknown"])
    return "hello"


async def echo(args: JsonObject, context: CallContext) -> Json:
    return args


async def ask_for_trouble(recording: Recording, ref: str = "one.do", args: Json = None) -> FabricError:
    pipeline = await recording.pipeline()
    with pytest.raises(FabricError) as caught:
        await pipeline.call(ref, args)
    return caught.value


@pytest.mark.anyio
@pytest.mark.requirement("actions:pipeline:events")
async def test_a_call_is_told_from_arrival_to_end() -> None:
    recording = Recording(echo)
    pipeline = await recording.pipeline()
    assert await pipeline.call("one.do", {"number": "3"}) == {"n": 3}
    assert [type(event) for event in recording.events] == [CallStarted, CallResolved, CallPrepared, CallEnded]
    started, _, prepared, ended = recording.events
    assert isinstance(started, CallStarted)
    assert started.args == {"number": "3"}
    assert started.call_id.startswith("fabric_")
    assert isinstance(prepared, CallPrepared)
    assert prepared.args == {"n": 3}
    assert isinstance(ended, CallEnded)
    assert (ended.outcome, ended.stage, ended.result) == ("succeeded", None, {"n": 3})


@pytest.mark.anyio
@pytest.mark.requirement("actions:pipeline:stages")
async def test_the_stage_that_failed_is_told() -> None:
    def shut(ref: str, args: JsonObject) -> None:
        raise Unavailable("shut", "open it")

    async def break_down(args: JsonObject, context: CallContext) -> Json:
        raise ZeroDivisionError("oh")

    stages: list[str | None] = []
    for recording, ref, args in (
        (Recording(echo), "one.nothing", {}),
        (Recording(echo, guards=[shut]), "one.do", {}),
        (Recording(echo), "one.do", {"n": "x"}),
        (Recording(echo, policy="deny"), "one.do", {}),
        (Recording(break_down), "one.do", {}),
    ):
        await ask_for_trouble(recording, ref, args)
        assert recording.ended().outcome == "failed"
        stages.append(recording.ended().stage)
    assert stages == ["resolve", "guard", "validate", "approve", "invoke"]


@pytest.mark.anyio
@pytest.mark.requirement("actions:pipeline:provider-bug")
async def test_a_bug_in_a_provider_is_a_failed_call_that_names_it() -> None:
    async def break_down(args: JsonObject, context: CallContext) -> Json:
        raise ZeroDivisionError("oh")

    error = await ask_for_trouble(Recording(break_down))
    assert error.message == "one.do: ZeroDivisionError: oh"


@pytest.mark.anyio
@pytest.mark.requirement("trace:causes:payload-free")
async def test_a_cause_never_carries_what_a_provider_said() -> None:
    async def refuse(args: JsonObject, context: CallContext) -> Json:
        raise FabricError("token s3cret is wrong")

    recording = Recording(refuse)
    await ask_for_trouble(recording)
    assert (recording.ended().cause, recording.ended().error) == (None, "token s3cret is wrong")
    denied = Recording(echo, policy="deny")
    await ask_for_trouble(denied)
    assert denied.ended().cause == "denied: approvals.execute is deny"


@pytest.mark.anyio
@pytest.mark.requirement("actions:pipeline:records")
@pytest.mark.parametrize(
    ("status", "outcome"),
    [("failed", "failed"), ("stopped", "aborted"), ("timed_out", "timed_out"), ("ok", "succeeded")],
)
async def test_a_record_of_failure_is_returned_and_told_as_failed(status: str, outcome: str) -> None:
    async def record(args: JsonObject, context: CallContext) -> Json:
        return {"status": status}

    recording = Recording(record)
    pipeline = await recording.pipeline()
    assert await pipeline.call("one.do", {}) == {"status": status}
    assert recording.ended().outcome == outcome


@pytest.mark.anyio
@pytest.mark.requirement("actions:pipeline:interrupted")
@pytest.mark.parametrize("interruption", ["aborted", "timed_out"])
async def test_a_cancelled_call_ends_with_the_reason_of_the_interruption(
    interruption: Literal["aborted", "timed_out"],
) -> None:
    async def wait(args: JsonObject, context: CallContext) -> Json:
        await anyio.sleep_forever()

    recording = Recording(wait, interruption=interruption)
    pipeline = await recording.pipeline()
    async with anyio.create_task_group() as calls:
        calls.start_soon(pipeline.call, "one.do", None)
        await anyio.wait_all_tasks_blocked()
        calls.cancel_scope.cancel()
    assert (recording.ended().outcome, recording.ended().stage) == (interruption, "invoke")


@pytest.mark.anyio
@pytest.mark.requirement("actions:pipeline:hooked-arguments")
async def test_arguments_that_a_hook_changed_and_partial_results_are_told() -> None:
    async def hooked(args: JsonObject, context: CallContext) -> Json:
        context.executed({"n": 9})
        context.update("half")
        context.attach(ImageBlock(data="aGk=", mime_type="image/png"))
        return "done"

    recording = Recording(hooked)
    await (await recording.pipeline()).call("one.do", {"n": 1})
    told = [event for event in recording.events if isinstance(event, CallPrepared | CallUpdated)]
    assert told == [CallPrepared(sequence=0, args={"n": 9}), CallUpdated(sequence=0, partial="half")]
    assert [image.mime_type for image in recording.images] == ["image/png"]


@pytest.mark.anyio
@pytest.mark.requirement("actions:pipeline:bounded-result")
async def test_a_cut_result_is_told_as_truncated() -> None:
    async def long(args: JsonObject, context: CallContext) -> Json:
        return "long"

    recording = Recording(long)
    assert await (await recording.pipeline()).call("one.do", {}) == "cut"
    assert recording.ended().truncated


@pytest.mark.anyio
@pytest.mark.requirement("actions:pipeline:internal")
async def test_fabrics_own_references_answer_unless_the_program_made_them_up() -> None:
    recording = Recording(echo, policy="deny")
    pipeline = await recording.pipeline()
    assert await pipeline.call("fabric.hello", {}) == "hello"
    assert recording.ended().result is UNDEFINED
    with pytest.raises(UnknownAction):
        await pipeline.call("fabric.hello", {}, is_computed=True)
    with pytest.raises(InvalidArguments):
        await pipeline.call("fabric.hello", {"wrong": 1})
    assert recording.ended().stage == "validate"
