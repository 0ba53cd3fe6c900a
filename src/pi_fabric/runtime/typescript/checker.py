"""Check programs: a resident server for speed, a process per check when that fails.

The server starts with the first check, is restarted when it dies or has grown too large, and ends after
five minutes without work. Checks take turns.
"""

from contextlib import AsyncExitStack, suppress
from typing import Final

import anyio
from anyio.abc import TaskGroup

from pi_fabric.runtime.typescript.batch import check_in_process
from pi_fabric.runtime.typescript.compiler import Compiler
from pi_fabric.runtime.typescript.folder import private_folder
from pi_fabric.runtime.typescript.memory import (
    LIMIT_BYTES,
    WATCH_INTERVAL_S,
    end_if_outgrown,
    resident_bytes,
)
from pi_fabric.runtime.typescript.reported import Reported
from pi_fabric.runtime.typescript.run import GRACE_S, CompilerFailed
from pi_fabric.runtime.typescript.server import LanguageServer, ServerDied, language_server, write_workspace

# A megabyte of source takes half a second; what takes longer than this is not going to end.
CHECK_LIMIT_S: Final = 10.0
# Forty megabytes are kept for an hour of an agent's thinking, not for a night.
IDLE_LIMIT_S: Final = 300.0
# After a check that large a fresh server (40 MB, started in 20 ms) is cheaper than a big idle one.
IDLE_MEMORY_BYTES: Final = 256 * 1024**2


class CheckTooCostly(CompilerFailed):
    """The check went past the time or memory it may take; another try would as well."""


class Checker:
    """Checks programs with one compiler. Nothing runs before the first check."""

    def __init__(
        self,
        compiler: Compiler,
        tasks: TaskGroup,
        *,
        limit_s: float = CHECK_LIMIT_S,
        idle_s: float = IDLE_LIMIT_S,
        memory_bytes: int = LIMIT_BYTES,
    ) -> None:
        """Prepare to check.

        Args:
            compiler: Verified compiler.
            tasks: Where the wait for idleness runs; cancelled by its owner after `aclose`.
            limit_s: Seconds for one check, all attempts together.
            idle_s: Seconds without a check after which the server ends.
            memory_bytes: Resident bytes at which a check is ended.
        """
        self._compiler = compiler
        self._tasks = tasks
        self._limit_s = limit_s
        self._idle_s = idle_s
        self._memory_bytes = memory_bytes
        self._turn = anyio.Lock()
        self._server: LanguageServer | None = None
        self._stack: AsyncExitStack | None = None
        self._used = anyio.Event()
        self._has_outgrown = False

    @property
    def pid(self) -> int | None:
        """Process id of the resident server; None while there is none."""
        return None if self._server is None else self._server.pid

    async def check(self, source: str, declarations: str) -> list[Reported]:
        """Return the errors of a wrapped program, syntax first.

        A cancelled check ends the server; the next one starts another.

        Raises:
            CheckTooCostly: If the limit of time or memory was reached.
            CompilerFailed: If no way to check worked.
        """
        async with self._turn:
            # Wakes the watch, and tells it at the end that the server was of use.
            self._used.set()
            try:
                with anyio.fail_after(self._limit_s):
                    return await self._check(source, declarations)
            except TimeoutError:
                raise CheckTooCostly(f"the type check took longer than {self._limit_s:g} s") from None
            finally:
                self._used.set()

    async def aclose(self) -> None:
        """End the server."""
        async with self._turn:
            await self._stop()

    async def _check(self, source: str, declarations: str) -> list[Reported]:
        for _ in range(2):
            with suppress(ServerDied, OSError):
                return await self._ask_server(source, declarations)
        return await check_in_process(self._compiler, source, declarations, limit_s=self._limit_s)

    async def _ask_server(self, source: str, declarations: str) -> list[Reported]:
        try:
            server = await self._started()
            found = await server.check(source, declarations)
        except BaseException as error:
            # The exchange was cut short: what the server says next belongs to nobody.
            await self._stop()
            if self._has_outgrown and isinstance(error, ServerDied):
                limit_mib = self._memory_bytes / 1024**2
                raise CheckTooCostly(f"the type check needed more than {limit_mib:g} MiB") from None
            raise
        if await resident_bytes(server.pid) > IDLE_MEMORY_BYTES:
            await self._stop()
        return found

    async def _started(self) -> LanguageServer:
        if self._server is None:
            self._stack = stack = AsyncExitStack()
            folder = await stack.enter_async_context(private_folder(write_workspace))
            self._server = await stack.enter_async_context(
                language_server(self._compiler, folder, grace_s=GRACE_S)
            )
            self._has_outgrown = False
            self._tasks.start_soon(self._attend, self._server)
        return self._server

    async def _stop(self) -> None:
        stack, self._stack, self._server = self._stack, None, None
        if stack is not None:
            with anyio.CancelScope(shield=True):
                await stack.aclose()

    async def _attend(self, server: LanguageServer) -> None:
        """Watch a server's memory while it works, and end it when it has not for long enough."""
        while self._server is server:
            if self._turn.locked():
                await anyio.sleep(WATCH_INTERVAL_S)
                if await end_if_outgrown(server.pid, self._memory_bytes) and self._server is server:
                    self._has_outgrown = True
                continue
            self._used = anyio.Event()
            with anyio.move_on_after(self._idle_s) as wait:
                await self._used.wait()
            if wait.cancelled_caught:
                await self._end_if_idle(server)

    async def _end_if_idle(self, server: LanguageServer) -> None:
        async with self._turn:
            if self._server is server and not self._used.is_set():
                await self._stop()
