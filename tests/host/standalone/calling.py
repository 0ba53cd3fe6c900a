"""How these tests call a tool."""

import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.host.standalone import StandaloneTools
from pi_fabric.protocol.host import ToolResult


async def until(condition: Callable[[], object]) -> None:
    """Return when the condition holds; the hang guard fails the test when it never does."""
    with anyio.fail_after(10):
        while not condition():  # noqa: ASYNC110 - the world outside sends no event
            await anyio.sleep(0.01)


def content(path: Path) -> bytes:
    """What is in a file; empty while it is not there."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def permissions(path: Path) -> int:
    """Permission bits of what a path leads to."""
    return stat.S_IMODE(path.stat().st_mode)


@dataclass(slots=True)
class Caller:
    """Calls tools in one folder; fails the test when a call does not go as its verb says."""

    tools: StandaloneTools
    cwd: Path
    updates: list[Json] = field(default_factory=list[Json])

    async def call(self, name: str, **args: Json) -> ToolResult:
        return await self.tools.run(
            name, args, call_id="fabric_test", cwd=self.cwd, update=self.updates.append
        )

    async def text(self, name: str, **args: Json) -> str:
        """The text of a call that must succeed."""
        result = await self.call(name, **args)
        assert not result.is_error, result.text
        return result.text

    async def error(self, name: str, **args: Json) -> str:
        """The reason of a call that must fail."""
        result = await self.call(name, **args)
        assert result.is_error, result.text
        return result.text

    async def details(self, name: str, **args: Json) -> JsonObject:
        """The details of a call that must succeed and give some."""
        result = await self.call(name, **args)
        assert not result.is_error, result.text
        assert result.details is not None
        return result.details
