"""The core tools as one port."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Self

import anyio

from pi_fabric.base.deathwatch import DeathWatch
from pi_fabric.base.errors import ToolFailed, Unavailable
from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.host.standalone.bash import bash
from pi_fabric.host.standalone.call import Tool, ToolCall
from pi_fabric.host.standalone.edit import edit
from pi_fabric.host.standalone.find import find
from pi_fabric.host.standalone.grep import grep
from pi_fabric.host.standalone.locks import PathLocks
from pi_fabric.host.standalone.ls import ls
from pi_fabric.host.standalone.paths import reason
from pi_fabric.host.standalone.read import read
from pi_fabric.host.standalone.ripgrep import Ripgrep
from pi_fabric.host.standalone.write import write
from pi_fabric.protocol.host import ToolResult

# A program may start hundreds of calls at once; beyond this they queue instead of filling the
# process table and the file descriptors.
MAX_RUNNING = 32


class StandaloneTools:
    """`ToolPort` that carries the tools out in this process; an async context manager.

    Calls may overlap; edits and writes of one file take turns. Leaving the context ends the calls
    that still run, with the processes they started.
    """

    def __init__(self) -> None:
        self._deaths = DeathWatch()
        locks = PathLocks()
        ripgrep = Ripgrep()
        self._tools: dict[str, Tool] = {
            "read": read,
            "bash": partial(bash, deaths=self._deaths),
            "edit": partial(edit, locks=locks),
            "write": partial(write, locks=locks),
            "grep": partial(grep, ripgrep=ripgrep),
            "find": partial(find, ripgrep=ripgrep),
            "ls": ls,
        }
        self._running: set[anyio.CancelScope] = set()
        self._slots = anyio.CapacityLimiter(MAX_RUNNING)
        self._idle = anyio.Event()
        self._closed = False

    async def __aenter__(self) -> Self:
        """Nothing is started until the first call."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """End the calls that still run and wait until they are gone."""
        self._closed = True
        for scope in self._running:
            scope.cancel()
        if self._running:
            with anyio.CancelScope(shield=True):
                await self._idle.wait()
        await self._deaths.__aexit__()

    async def run(
        self, name: str, args: JsonObject, *, call_id: str, cwd: Path, update: Callable[[Json], None]
    ) -> ToolResult:
        """Run one tool; cancellation of the awaiting task ends it and every process it started.

        Args:
            name: One of the seven.
            args: Validated, with canonical names.
            call_id: Not used; calls here are anonymous.
            cwd: Folder that relative paths start from; absolute.
            update: Gets partial results of `bash`, in the form of a Pi tool's partial result.

        Returns:
            The result; `is_error` is set and `text` is the reason when the tool failed.

        Raises:
            Unavailable: If there is no such tool, ripgrep is missing, or the tools were closed.
        """
        tool = self._tools.get(name)
        if tool is None:
            raise Unavailable(f"there is no core tool {name}", f"There are {', '.join(self._tools)}.")
        call = ToolCall(name=name, args=args, cwd=cwd, update=update)
        with anyio.CancelScope() as scope:
            if self._closed:
                scope.cancel()
            self._running.add(scope)
            try:
                async with self._slots:
                    return await _answer(tool, call)
            finally:
                self._running.discard(scope)
                if self._closed and not self._running:
                    self._idle.set()
        raise Unavailable(f"{name} was stopped because the tools were closed", "Open them again.")


async def _answer(tool: Tool, call: ToolCall) -> ToolResult:
    try:
        return await tool(call)
    except ToolFailed as error:
        return ToolResult(text=error.message, is_error=True)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return ToolResult(text=f"{where}{reason(error)}", is_error=True)
