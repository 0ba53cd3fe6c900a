"""Whatever happens to the Python process, Pi goes on and says what happened."""

import os
import shlex
import signal

import anyio
import pytest

from tests.host.pi.pi_lab import (
    Lab,
    notices,
    program,
    sidecars_of,
    stand_in,
    text_of,
    tool_results,
    values_of,
    wait_until,
)
from tools.scripted_model import Reply, ToolCall

pytestmark = [pytest.mark.anyio, pytest.mark.pi]

ECHO = {"tool": "bash", "args": {"command": "echo alive"}}


async def own_tools_work(lab: Lab) -> None:
    """Pi starts, offers its own tools, answers the failed program with a text, and lives on."""
    async with lab.pi() as pi:
        result = await lab.run(pi, ECHO)
        assert result["isError"] is True
        assert "pi-fabric doctor" in text_of(result)
        lab.model.say(Reply(calls=[ToolCall(name="bash", arguments={"command": "echo own"})]))
        (own,) = tool_results(await pi.prompt("again"))
        assert text_of(own) == "own\n"
        assert lab.offered_tools() >= {"read", "bash", "edit", "write", "fabric_exec"}
        assert any("Python process is not there" in notice for notice in notices(pi.events))
        assert await pi.close() == 0


@pytest.mark.requirement("pi:fault:missing")
async def test_a_missing_python_leaves_pi_with_its_own_tools(lab: Lab) -> None:
    lab.variables["PI_FABRIC_PYTHON"] = "/nonexistent/python"
    await own_tools_work(lab)


@pytest.mark.requirement("pi:fault:dies-at-start")
async def test_a_python_that_dies_at_its_start_is_quoted(lab: Lab) -> None:
    lab.python = stand_in(lab.folder, "echo 'No module named pi_fabric' >&2; exit 1")
    async with lab.pi() as pi:
        result = await lab.run(pi, ECHO)
    assert "exit code 1" in text_of(result)
    assert "No module named pi_fabric" in text_of(result)


@pytest.mark.requirement("pi:fault:no-frames")
async def test_a_program_that_writes_no_frames_is_given_up(lab: Lab) -> None:
    lab.python = stand_in(lab.folder, "exec yes 'not a frame'")
    await own_tools_work(lab)


@pytest.mark.requirement("pi:fault:slow")
async def test_a_sidecar_that_starts_slowly_does_not_hold_the_first_request(lab: Lab) -> None:
    lab.python = stand_in(lab.folder, f"sleep 3; exec {lab.stub}")
    async with lab.pi() as pi:
        lab.model.say(Reply(text="hello"))
        await pi.prompt("hi")
        assert lab.offered_tools() >= {"read", "bash"}
        result = await lab.run(pi, ECHO)
        assert values_of(result)[0]["text"] == "alive\n"
        await pi.prompt("and now")
        assert lab.offered_tools() == {"fabric_exec"}


@pytest.mark.requirement("pi:fault:never-answers")
async def test_a_sidecar_that_never_answers_is_ended(lab: Lab) -> None:
    lab.python = stand_in(lab.folder, "exec sleep 300")
    lab.variables["PI_FABRIC_START_MS"] = "300"
    await own_tools_work(lab)


@pytest.mark.requirement("pi:fault:stray-lines")
async def test_stray_lines_on_its_stdout_are_counted_and_skipped(lab: Lab) -> None:
    strays = lab.folder / "strays"
    strays.write_bytes(b'stray\n\n{"half": \n[1]\n\xff\xfe\n{"jsonrpc":"2.0","id":99,"result":1}\n')
    lab.python = stand_in(lab.folder, f"cat {strays}; exec {lab.stub}")
    async with lab.pi() as pi:
        result = await lab.run(pi, {"print": "a print of the engine"}, ECHO)
        (status,) = notices(await pi.prompt("/fabric status"))
    assert values_of(result)[1]["text"] == "alive\n"
    assert "4 stray lines" in status


@pytest.mark.requirement("pi:fault:exception")
async def test_an_exception_in_python_is_an_error_of_that_call_alone(lab: Lab) -> None:
    async with lab.pi() as pi:
        (before,) = [child.pid for child in sidecars_of(pi.pid)] or [None]
        result = await lab.run(pi, {"crash": True})
        after = await lab.run(pi, ECHO)
        assert before in (None, sidecars_of(pi.pid)[0].pid)
    assert result["isError"] is True
    assert "RuntimeError: a fault in Python" in text_of(result)
    assert values_of(after)[0]["text"] == "alive\n"


@pytest.mark.requirement("pi:fault:killed-mid-call")
async def test_a_sidecar_killed_in_mid_call_is_quoted_and_started_again(lab: Lab) -> None:
    async with lab.pi() as pi:
        died = await lab.run(pi, {"die": 7})
        after = await lab.run(pi, ECHO)
        (status,) = notices(await pi.prompt("/fabric status"))
        shown = notices(pi.events)
    assert died["isError"] is True
    assert "exit code 7" in text_of(died)
    assert "last words" in text_of(died)
    assert values_of(after)[0]["text"] == "alive\n"
    assert "1 restarts" in status
    assert any("runs again" in notice for notice in shown)


@pytest.mark.requirement("pi:fault:frozen")
async def test_a_frozen_sidecar_is_noticed_by_its_silence(lab: Lab) -> None:
    lab.variables["PI_FABRIC_HEARTBEAT_MS"] = "200"
    async with lab.pi() as pi:
        with anyio.fail_after(30):
            frozen = await lab.run(pi, {"freeze": True})
        after = await lab.run(pi, ECHO)
    assert "no sign of life" in text_of(frozen)
    assert values_of(after)[0]["text"] == "alive\n"


@pytest.mark.requirement("pi:fault:keeps-dying")
async def test_a_sidecar_that_keeps_dying_gives_pis_tools_back_to_the_model(lab: Lab) -> None:
    once = shlex.quote(str(lab.folder / "started"))
    lab.python = stand_in(lab.folder, f"test -e {once} && exit 3; touch {once}; exec {lab.stub}")
    async with lab.pi() as pi:
        assert (await lab.run(pi, {"die": 1}))["isError"] is True
        await pi.wait_for(lambda event: "exit code 3" in event.get("message", ""))
        await pi.prompt("and now")
        assert lab.offered_tools() >= {"read", "bash", "edit", "write"}


@pytest.mark.requirement("pi:fault:crash-loop")
async def test_a_sidecar_that_dies_after_each_greeting_is_not_started_for_ever(lab: Lab) -> None:
    starts = lab.folder / "starts"
    lab.python = stand_in(lab.folder, f"echo x >> {shlex.quote(str(starts))}; exec {lab.stub}")
    lab.variables["STUB_DIES_WHEN_READY"] = "yes"
    async with lab.pi() as pi:
        await pi.wait_for(lambda event: "works with Pi's own tools" in event.get("message", ""))
        assert len(starts.read_text().split()) <= 3
        await pi.prompt("hi")
        assert lab.offered_tools() >= {"read", "bash"}


@pytest.mark.requirement("pi:fault:project-modules")
async def test_a_module_of_the_project_is_not_imported_in_pythons_place(lab: Lab) -> None:
    for name in ("anyio", "msgspec", "pi_fabric", "signal"):
        (lab.project / f"{name}.py").write_text("raise SystemExit('the project ran')")
    lab.variables["PI_FABRIC_PYTHON"] = lab.real_python
    async with lab.pi() as pi:
        (status,) = notices(await pi.prompt("/fabric status"))
    assert f"on Pi {lab.version}" in status


@pytest.mark.requirement("pi:abort:starting")
async def test_an_abort_is_heeded_while_python_still_starts(lab: Lab) -> None:
    lab.python = stand_in(lab.folder, "exec sleep 300")
    async with lab.pi() as pi:
        lab.model.say(program(ECHO))
        await pi.send("prompt", message="go")
        await pi.wait_for(lambda event: event.get("type") == "tool_execution_start")
        with anyio.fail_after(5):
            await pi.command("abort")
        (result,) = tool_results(pi.events)
    assert result["isError"] is True


@pytest.mark.requirement("pi:fault:closed-stdout")
async def test_a_python_that_closes_its_output_is_given_up_at_once(lab: Lab) -> None:
    lab.python = stand_in(lab.folder, "exec 1>&-; exec sleep 300")
    async with lab.pi() as pi:
        with anyio.fail_after(10):
            result = await lab.run(pi, ECHO)
    assert "closed its standard output" in text_of(result)


@pytest.mark.requirement("pi:fault:silent-abort")
async def test_a_process_that_leaves_an_abort_unanswered_is_replaced(lab: Lab) -> None:
    async with lab.pi() as pi:
        lab.model.say(program({"freeze": True}))
        await pi.send("prompt", message="go")
        await wait_until(lambda: [child.status() for child in sidecars_of(pi.pid)] == ["stopped"])
        with anyio.fail_after(10):
            await pi.command("abort")
            await pi.wait_for(lambda event: "no longer answers" in event.get("message", ""))
        result = await lab.run(pi, ECHO)
    assert values_of(result)[0]["text"] == "alive\n"


@pytest.mark.requirement("pi:exit:stopped")
async def test_a_stopped_sidecar_does_not_outlive_pi(lab: Lab) -> None:
    async with lab.pi() as pi:
        await lab.run(pi, ECHO)
        (sidecar,) = sidecars_of(pi.pid)
        os.kill(sidecar.pid, signal.SIGSTOP)
        assert await pi.close() == 0
        await wait_until(lambda: not sidecar.is_running() or sidecar.status() == "zombie")


@pytest.mark.requirement("pi:fault:stray-lines")
async def test_stray_lines_before_the_greeting_are_counted_for_each_start_anew(lab: Lab) -> None:
    once = shlex.quote(str(lab.folder / "started"))
    strays = "yes stray | head -n 150"
    lab.python = stand_in(
        lab.folder, f"{strays}; test -e {once} || {{ touch {once}; exit 3; }}; exec {lab.stub}"
    )
    async with lab.pi() as pi:
        await pi.wait_for(lambda event: "exit code 3" in event.get("message", ""))
        result = await lab.run(pi, ECHO)
    assert values_of(result)[0]["text"] == "alive\n"


@pytest.mark.requirement("pi:fault:headless")
async def test_in_print_mode_the_warning_goes_to_standard_error(lab: Lab) -> None:
    lab.variables["PI_FABRIC_PYTHON"] = "/nonexistent/python"
    assert await lab.print_mode("--print", "go") == (0, "done\n")
    assert "/nonexistent/python" in lab.log.read_text()


@pytest.mark.requirement("pi:line:too-large", "pi:line:too-deep")
async def test_a_result_that_cannot_cross_the_line_fails_that_call_alone(lab: Lab) -> None:
    # Pi 1.x itself puts nested results into its events, where nobody could read such depths.
    names = ("huge", "deep", "a.txt") if lab.version.startswith("0.80") else ("huge", "a.txt")
    async with lab.pi(neighbour="override") as pi:
        result = await lab.run(pi, *({"try": name, "args": {"path": name}} for name in names))
    huge, *deep, plain = values_of(result)
    assert "larger than 64 MiB" in huge
    assert all("nests too deeply" in text for text in deep)
    assert plain == "override of a.txt"


@pytest.mark.requirement("pi:fault:project-gone")
async def test_a_project_that_was_removed_is_named_as_the_cause(lab: Lab) -> None:
    async with lab.pi() as pi:
        await pi.prompt("hi")
        lab.project.rmdir()
        (text,) = [n for n in notices(await pi.prompt("/fabric reload")) if "pi-fabric doctor" in n][:1]
        assert await pi.close() == 0
    assert f"{lab.project} is not there any more" in text
