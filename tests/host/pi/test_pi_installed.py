"""The whole way with nothing replaced: installed by the command, real sidecar, real engine."""

import sys

import anyio
import pytest

from tests.host.pi.pi_lab import Lab, notices, text_of, tool_results
from tools.pi_rpc import Event
from tools.scripted_model import Reply, ToolCall

pytestmark = [pytest.mark.anyio, pytest.mark.pi]


@pytest.mark.requirement("pi:install:works")
async def test_what_the_command_installs_is_what_pi_loads(lab: Lab) -> None:
    lab.variables["PI_FABRIC_PYTHON"] = ""
    async with lab.pi(is_installed=True) as pi:
        shown = notices(await pi.prompt("/fabric status"))
    status = next(notice for notice in shown if notice.startswith("pi-fabric "))
    assert f"python: {sys.executable}" in status
    assert f"on Pi {lab.version}" in status


@pytest.mark.requirement("pi:tool:real-engine")
async def test_a_typed_program_is_checked_runs_and_uses_pis_tools(lab: Lab) -> None:
    for name in ("a", "b"):
        (lab.project / f"{name}.txt").write_text(f"text {name}\n")
    program = (
        "const names: string[] = ['a', 'b'];\n"
        "const texts = await Promise.all(names.map((name) => pi.read(`${name}.txt`)));\n"
        "return { texts, total: texts.join('').length };"
    )
    wrong = "const n: number = missing;\nreturn n;"
    lab.variables["PI_FABRIC_PYTHON"] = sys.executable
    lab.model.say(
        *(Reply(calls=[ToolCall(name="fabric_exec", arguments={"code": code})]) for code in (program, wrong))
    )
    async with lab.pi() as pi:
        right, refused = tool_results(await pi.prompt("go"))
    assert right["isError"] is False
    assert "total: 14" in text_of(right)
    assert [operation["ref"] for operation in right["details"]["trace"]["operations"]] == ["pi.read"] * 2
    assert refused["isError"] is True
    assert "1:19" in text_of(refused)


@pytest.mark.requirement("pi:abort:busy")
async def test_an_abort_ends_a_program_that_never_yields(lab: Lab) -> None:
    lab.variables["PI_FABRIC_PYTHON"] = sys.executable
    async with lab.pi() as pi:
        code = "await pi.bash('true'); while (true) {}"
        lab.model.say(Reply(calls=[ToolCall(name="fabric_exec", arguments={"code": code})]))
        await pi.send("prompt", message="go")
        await pi.wait_for(lambda event: event.get("type") == "tool_execution_update")
        with anyio.fail_after(10):
            await pi.command("abort")
        (aborted,) = tool_results(pi.events)
        lab.model.say(Reply(calls=[ToolCall(name="fabric_exec", arguments={"code": "return 6 * 7"})]))
        (after,) = tool_results(await pi.prompt("again"))
    assert aborted["details"]["trace"]["outcome"] == "aborted"
    assert text_of(after) == "42"


@pytest.mark.requirement("pi:fault:engine")
async def test_an_engine_that_is_not_there_leaves_the_model_with_pis_tools(lab: Lab) -> None:
    lab.variables["PI_FABRIC_PYTHON"] = sys.executable
    lab.agent_dir.mkdir()
    (lab.agent_dir / "fabric.json").write_text('{"executor": {"runtime": "node-process"}}')
    async with lab.pi() as pi:
        await pi.wait_for(lambda event: "works with Pi's own tools" in event.get("message", ""))
        await pi.prompt("hi")
    assert lab.offered_tools() == {"read", "bash", "edit", "write", "fabric_exec"}


@pytest.mark.requirement("pi:approvals:dialog")
async def test_a_policy_of_ask_asks_once_per_class_and_program(lab: Lab) -> None:
    asked: list[str] = []

    def answer(request: Event) -> Event | None:
        if request["method"] != "confirm":
            return None
        asked.append(request["message"])
        return {"confirmed": True}

    lab.variables["PI_FABRIC_PYTHON"] = sys.executable
    lab.agent_dir.mkdir()
    (lab.agent_dir / "fabric.json").write_text('{"approvals": {"execute": "ask"}}')
    code = "await pi.bash('echo 1'); await pi.bash('echo 2'); return (await pi.bash('echo 3')).output"
    lab.model.say(Reply(calls=[ToolCall(name="fabric_exec", arguments={"code": code})]))
    async with lab.pi(dialog=answer) as pi:
        (result,) = tool_results(await pi.prompt("go"))
    assert text_of(result).strip() == "3"
    assert len(asked) == 1
    assert "pi.bash" in asked[0]
