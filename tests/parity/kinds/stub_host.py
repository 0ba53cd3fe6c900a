"""Providers and ports that stand in for a host while recorded programs run against them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import anyio

from pi_fabric.base.errors import FabricError
from pi_fabric.base.jsonvalue import UNDEFINED, Json, JsonObject
from pi_fabric.protocol.actions import Action, CallContext, Risk
from pi_fabric.protocol.host import ApprovalQuestion
from pi_fabric.providers.pi import ACTIONS as PI_ACTIONS

OPEN_SCHEMA: JsonObject = {"type": "object", "properties": {}, "additionalProperties": True}
STRICT_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"a": {"type": "number"}},
    "required": ["a"],
    "additionalProperties": False,
}
PROVIDERS: Mapping[str, str] = {
    "pi": "read bash edit write grep find ls",
    "agents": "run spawn wait status list main peers models stop create ask tell steer actors compact",
    "mesh": "self publish read members get list put delete",
    "memory": "recall expand sessions",
    "state": "get transition",
    "schema": "status commit",
    "compact": "request status cancel",
    "extensions": "web",
    "mcp": "$servers $call srv.tool srv.other_tool",
    "stub": "echo fail big undef fn failedStatus timedStatus stoppedStatus strict slow",
}
PROVIDER_RISKS: Mapping[str, Risk] = {"agents": "agent", "mcp": "network"}
PI_RISKS: Mapping[str, Risk] = {"edit": "write", "write": "write", "bash": "execute"}
STATUS_RECORDS: Mapping[str, JsonObject] = {
    "failedStatus": {"status": "failed", "error": "e"},
    "timedStatus": {"status": "timed_out"},
    "stoppedStatus": {"status": "stopped"},
}


@dataclass(slots=True)
class Journal:
    """The calls that reached a provider, in order of arrival."""

    calls: list[JsonObject] = field(default_factory=list[JsonObject])


class StubProvider:
    """One of the recorded namespaces; every action has an open schema and answers with its own name."""

    description = "stub"

    def __init__(self, name: str, journal: Journal) -> None:
        self.name = name
        self._journal = journal

    async def actions(self) -> Sequence[Action]:
        """The actions that the recording had."""
        shapes = {action.name: action.shape for action in PI_ACTIONS} if self.name == "pi" else {}
        return [
            Action(
                name=name,
                description=f"stub {name}",
                risk=self._risk(name),
                input_schema=STRICT_SCHEMA if name == "strict" else OPEN_SCHEMA,
                shape=shapes.get(name),
            )
            for name in PROVIDERS[self.name].split()
        ]

    async def invoke(self, name: str, args: JsonObject, context: CallContext) -> Json:
        """Note the call and answer as the recording did."""
        self._journal.calls.append({"ref": context.ref, "args": args})
        if self.name == "agents" and name == "run":
            return await _agent_record(args)
        if self.name == "stub":
            return await _stub_answer(name, args)
        return {"provider": self.name, "action": name}

    def _risk(self, name: str) -> Risk:
        return PI_RISKS.get(name, "read") if self.name == "pi" else PROVIDER_RISKS.get(self.name, "read")


class StubApprovals:
    """Answers every question the same way."""

    def __init__(self, *, has_ui: bool, answer: bool) -> None:
        self.has_ui = has_ui
        self._answer = answer

    async def confirm(self, question: ApprovalQuestion) -> bool:
        """The recorded answer."""
        del question
        return self._answer


async def _agent_record(args: JsonObject) -> JsonObject:
    task = args.get("task")
    if not isinstance(task, str):
        raise FabricError("task must be a string")
    await anyio.sleep(0.005)
    record: JsonObject = {
        "id": "r1",
        "status": "failed" if "FAIL" in task else "completed",
        "text": f"text:{task}",
        "usage": {"input": 60, "output": 40, "cacheRead": 0, "cacheWrite": 0, "cost": 0},
        "turns": 1,
        "toolCalls": 0,
    }
    if "FAIL" in task:
        record["error"] = "stub failure"
    if args.get("schema") is not None:
        record["value"] = {"ok": 1}
    return record


async def _stub_answer(name: str, args: JsonObject) -> Json:
    if name in STATUS_RECORDS:
        return STATUS_RECORDS[name]
    match name:
        case "echo":
            return args
        case "fail":
            raise FabricError("stub boom")
        case "big":
            return "x" * 20_000
        case "undef":
            return UNDEFINED
        case "fn":
            return len
        case "slow":
            await anyio.sleep(args.get("ms", 50) / 1000)
            return "slow done"
        case _:
            return {"provider": "stub", "action": name}
