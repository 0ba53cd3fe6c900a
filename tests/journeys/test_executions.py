import stat
from pathlib import Path

import anyio
import anyio.to_thread
import psutil
import pytest
from journey import Journey

from pi_fabric.base.errors import FabricError, InvalidArguments, Unavailable
from pi_fabric.base.jsonvalue import UNDEFINED, Json, JsonObject
from pi_fabric.compose import open_fabric
from pi_fabric.config import normalize
from pi_fabric.history.trace import read_trace
from pi_fabric.host.memory import MemoryHost
from pi_fabric.protocol.actions import Action, CallContext
from pi_fabric.protocol.host import HostPorts

pytestmark = pytest.mark.anyio


class Stubborn:
    """A provider whose one action ignores cancellation until it is let go."""

    name = "stub"
    description = "stubborn"

    def __init__(self) -> None:
        self.release = anyio.Event()

    async def actions(self) -> list[Action]:
        return [Action(name="wait", description="", risk="read", input_schema={"type": "object"})]

    async def invoke(self, name: str, args: JsonObject, context: CallContext) -> Json:
        with anyio.CancelScope(shield=True):
            await self.release.wait()
        return "late"


class Assassin:
    """A provider whose one action kills the sandbox that calls it."""

    name = "stub"
    description = "deadly"

    async def actions(self) -> list[Action]:
        return [Action(name="kill", description="", risk="read", input_schema={"type": "object"})]

    async def invoke(self, name: str, args: JsonObject, context: CallContext) -> Json:
        await anyio.to_thread.run_sync(self._kill_workers)
        return await anyio.sleep_forever()

    @staticmethod
    def _kill_workers() -> None:
        for child in psutil.Process().children():
            if any("quickjs.worker" in word for word in child.cmdline()):
                child.kill()


@pytest.mark.requirement("exec:lost:on-record")
async def test_what_a_program_did_before_its_sandbox_was_lost_is_on_record(tmp_path: Path) -> None:
    code = "await phase('one'); print('before'); await tools.call({ ref: 'stub.kill' }); return 1;"
    with anyio.fail_after(50):
        async with open_fabric(
            ports=HostPorts(), config=normalize({}).config, cwd=tmp_path, providers=[Assassin()]
        ) as fabric:
            result = await fabric.execute({"code": code})
            assert (await fabric.execute({"code": "return 2;"})).value == 2
    assert (result.outcome, result.logs, result.phases) == ("failed", ("before",), ("one",))
    assert "it was killed by signal 9" in result.text
    trace = read_trace(result.trace)
    assert trace is not None
    assert [operation.ref for operation in trace.operations] == ["fabric.workflow.phase", "stub.kill"]


@pytest.mark.requirement("exec:type-failure:nothing-runs")
async def test_a_type_failure_runs_nothing_and_traces_nothing(journey: Journey) -> None:
    host = MemoryHost({"a": "x"})
    result = await journey.run("await pi.read('a');\nreturn nope;", host=host)
    assert result.outcome == "failed"
    assert [(problem.line, problem.column) for problem in result.type_problems] == [(2, 8)]
    assert "2:8" in result.text
    assert host.calls == []
    assert result.trace["operations"] == []
    assert result.trace["outcome"] == "failed"


@pytest.mark.requirement("exec:syntax:caret")
async def test_a_syntax_error_shows_its_line_with_a_caret_and_nothing_of_an_earlier_run(
    journey: Journey,
) -> None:
    async with journey.open() as fabric:
        first = await fabric.execute({"code": "print('earlier output'); return 'earlier';"})
        assert first.success
        second = await fabric.execute({"code": "const ok = 1;\nconst x = (;"})
    assert "earlier" not in second.text
    assert "2:12" in second.text
    assert "const x = (;\n           ^" in second.text
    assert second.logs == ()


@pytest.mark.requirement("exec:errors:positions")
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
async def test_a_runtime_error_carries_the_position_in_the_submitted_text(
    journey: Journey, newline: str
) -> None:
    lines = [
        "interface A { x: number }",
        "enum E { A = 1,",
        "  B }",
        "const f = (o: any): number =>",
        "  o.a.b;",
        "f({});",
    ]
    result = await journey.run(newline.join(lines))
    assert result.text.endswith("    at f (guest code:5:3)\n    at guest code:6:1")


@pytest.mark.requirement("exec:text:joined")
async def test_logs_value_and_error_are_joined_with_blank_lines(journey: Journey) -> None:
    result = await journey.run("print('one'); print('two'); return { a: 1 };")
    assert result.text == "one\ntwo\n\na: 1"
    failed = await journey.run("print('before'); throw new Error('broken');")
    assert failed.text.startswith("before\n\nError: broken")


@pytest.mark.requirement("exec:format:choice")
@pytest.mark.parametrize(
    ("format_", "text", "language"),
    [
        ("auto", "a:\n  - 1", "yaml"),
        ("json", '{\n  "a": [\n    1\n  ]\n}', "json"),
        ("text", '{"a":[1]}', None),
    ],
)
async def test_the_result_format_of_the_call_wins(
    journey: Journey, format_: str, text: str, language: str | None
) -> None:
    config = {"executor": {"resultFormat": "yaml"}}
    result = await journey.run("return { a: [1] };", config=config, resultFormat=format_)
    assert (result.text, result.language) == (text, language)
    assert result.details.get("outputFormat") == language


@pytest.mark.requirement("exec:text:spill")
async def test_a_cut_result_keeps_both_ends_and_leaves_the_whole_in_a_private_file(journey: Journey) -> None:
    code = "for (let i = 0; i < 400; i++) print('line ' + i); return 'v'.repeat(3000) + 'end';"
    result = await journey.run(code, config={"executor": {"maxOutputChars": 2000}})
    assert len(result.text) <= 2000
    assert "line 0\n" in result.text
    assert result.text.rstrip().endswith("end")
    assert result.spill_path is not None
    assert str(result.spill_path) in result.text.split("\n")[0]
    spilled = anyio.Path(result.spill_path)
    assert stat.S_IMODE((await spilled.stat()).st_mode) == 0o600
    assert "line 399" in await spilled.read_text()


@pytest.mark.requirement("exec:nested:cap")
async def test_a_nested_result_over_the_cap_reaches_the_program_as_a_marked_preview(journey: Journey) -> None:
    result = await journey.run(
        "return await pi.read('big');",
        files={"big": "x" * 50_000},
        config={"executor": {"maxNestedResultChars": 10_000}},
    )
    assert result.value["fabricTruncated"] is True
    assert result.value["originalChars"] == 50_002
    assert len(result.value["preview"]) == 9_800
    (operation,) = result.trace["operations"]
    assert operation["outcome"] == "succeeded"
    assert "cut" in operation["error"]


@pytest.mark.requirement("exec:images:outer")
async def test_images_of_nested_tools_go_to_the_outer_result(journey: Journey) -> None:
    result = await journey.run("return await pi.read('a.png');", files={"a.png": "aGVsbG8="})
    assert "aGVsbG8=" not in result.text
    assert [(image.data, image.mime_type) for image in result.images] == [("aGVsbG8=", "image/png")]


@pytest.mark.requirement("exec:details:only")
async def test_only_success_and_trace_are_kept(journey: Journey) -> None:
    result = await journey.run("print('s3cret'); return await pi.read('a');", files={"a": "s3cret"})
    assert set(result.details) == {"success", "trace"}
    assert "s3cret" not in str(result.details)
    assert read_trace(result.details["trace"]) is not None


@pytest.mark.requirement("exec:terminate:turn")
async def test_a_program_may_end_the_agents_turn(journey: Journey) -> None:
    assert (await journey.run("return { terminate: true, text: 't' };")).terminate
    assert not (await journey.run("return { terminate: 'yes' };")).terminate


@pytest.mark.requirement("approvals:ask:pauses-program")
async def test_a_question_pauses_the_program_and_a_no_raises_inside_it(journey: Journey) -> None:
    code = "try { return await pi.bash('ls'); } catch (error) { return error.code; }"
    config = {"approvals": {"execute": "ask"}}
    assert (await journey.run(code, answers=[False], config=config)).value == "denied"
    assert (await journey.run(code, answers=[True], config=config)).value["ok"] is True
    headless = await journey.run(code, config=config)
    assert headless.value == "denied"


@pytest.mark.requirement("exec:unawaited:named")
async def test_calls_that_were_not_awaited_are_waited_for_and_named(journey: Journey) -> None:
    host = MemoryHost()
    result = await journey.run("pi.write('late.txt', 'x'); return 'early';", host=host)
    assert result.value == "early"
    assert host.files["late.txt"] == "x"
    assert "pi.write" in result.text


@pytest.mark.requirement("exec:cancel:stubborn-call")
async def test_a_call_that_ignores_cancellation_does_not_hold_the_run(tmp_path: Path) -> None:
    provider = Stubborn()
    config = normalize({}).config
    with anyio.fail_after(30):
        async with open_fabric(
            ports=HostPorts(), config=config, cwd=tmp_path, providers=[provider]
        ) as fabric:
            code = "await tools.call({ ref: 'stub.wait' });"
            timed_out = await fabric.execute(code, timeout_ms=300)
            abort = anyio.Event()

            async def abort_once_called() -> None:
                await anyio.wait_all_tasks_blocked()
                abort.set()

            outcomes: list[str] = []

            async def run() -> None:
                outcomes.append((await fabric.execute(code, abort=abort)).outcome)

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(abort_once_called)
                tasks.start_soon(run)
            after = await fabric.execute("return 'next';")
            provider.release.set()
    assert (timed_out.outcome, outcomes, after.value) == ("timed_out", ["aborted"], "next")
    (operation,) = timed_out.trace["operations"]
    assert (operation["outcome"], operation["failureStage"]) == ("timed_out", "invoke")


@pytest.mark.requirement("exec:abort:result")
async def test_an_aborted_run_has_a_result_and_the_next_one_works(journey: Journey) -> None:
    async with journey.open() as fabric:
        abort = anyio.Event()
        abort.set()
        aborted = await fabric.execute({"code": "while (true) {}"}, abort=abort)
        assert (aborted.outcome, aborted.value) == ("aborted", UNDEFINED)
        assert aborted.trace["outcome"] == "aborted"
        assert (await fabric.execute({"code": "return 1;"})).value == 1


async def test_a_request_that_cannot_be_read_raises_what_it_is(journey: Journey) -> None:
    async with journey.open() as fabric:
        with pytest.raises(InvalidArguments, match="code"):
            await fabric.execute({})


@pytest.mark.requirement("exec:engine:unknown")
async def test_an_engine_that_is_not_there_is_refused_with_what_is(journey: Journey) -> None:
    with pytest.raises(FabricError, match=r"node-process.*quickjs"):
        async with journey.open(executor={"runtime": "node-process"}):
            pass


async def test_a_closed_fabric_says_so(journey: Journey) -> None:
    async with journey.open() as fabric:
        assert (await fabric.execute("return 1;")).success
    with pytest.raises(Unavailable, match="closed"):
        await fabric.execute("return 1;")


@pytest.mark.requirement("exec:errors:bounded")
async def test_a_made_up_name_of_any_length_gives_a_short_error(journey: Journey) -> None:
    result = await journey.run(
        """
        const long = 'x'.repeat(1e6);
        const messages = [];
        for (const ref of ['pi.' + long, long, long + '.read']) {
          try { await tools.call({ ref }); } catch (error) { messages.push(error.message); }
        }
        const odd: any = { path: 'a', [long]: 1 };
        try { await pi.read(odd); } catch (error) { messages.push(error.message); }
        return messages.map((message) => message.length);
        """
    )
    assert len(result.value) == 4
    assert max(result.value) < 600
