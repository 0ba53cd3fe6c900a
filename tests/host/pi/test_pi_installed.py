"""The whole way with nothing replaced: installed by the command, real sidecar, real engine."""

import sys

import pytest

from tests.host.pi.pi_lab import Lab, notices, text_of, tool_results
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
