"""The main job on the real Pi, both versions, with a toy engine behind the real line."""

import json
from typing import Any

import pytest

from tools.pi_rpc import Event, PiSession
from tools.scripted_model import Reply, ScriptedModel, ToolCall

pytestmark = [pytest.mark.anyio, pytest.mark.pi]


def program(*steps: dict[str, Any]) -> Reply:
    return Reply(calls=[ToolCall(name="fabric_exec", arguments={"code": json.dumps(steps)})])


def tool_results(events: list[Event]) -> list[Event]:
    return [
        event["message"]
        for event in events
        if event.get("type") == "message_end" and event["message"].get("role") == "toolResult"
    ]


async def run_program(pi: PiSession, model: ScriptedModel, *steps: dict[str, Any]) -> Event:
    model.say(program(*steps), Reply(text="done"))
    (result,) = tool_results(await pi.prompt("go"))
    return result


async def test_a_program_runs_and_only_its_result_comes_back(lab, model) -> None:
    (lab.project / "a.txt").write_text("hello from a file\n")
    async with lab.pi() as pi:
        result = await run_program(pi, model, {"tool": "read", "args": {"path": "a.txt"}})
        print(json.dumps(result)[:1500])
        print([t["function"]["name"] for t in model.requests[0]["tools"]])
        print([e for e in pi.events if "error" in str(e.get("type"))])
        print(await pi.prompt("/fabric status"))
        print(await pi.close())
    print(lab.log.read_text())
    assert not result["isError"]
