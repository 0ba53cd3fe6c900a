"""The engine `quickjs` as the rest of the package sees it."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import anyio
from anyio.abc import TaskGroup

from pi_fabric.base.clock import Deadline
from pi_fabric.base.errors import SandboxError, SandboxLost
from pi_fabric.runtime.engine import Engine, EngineResult, GuestError, GuestHost, Program
from pi_fabric.runtime.engines.quickjs.calls import HostCalls
from pi_fabric.runtime.engines.quickjs.pool import Lease, WorkerPool
from pi_fabric.runtime.engines.quickjs.session import Ending, Session
from pi_fabric.runtime.engines.quickjs.waits import first_of

GUEST_LIBRARY: Final = Path(__file__).parent.parent.parent / "guest" / "api.js"
# How long a host call may take over its cancellation before the run goes on without it.
CALL_GRACE_S: Final = 2.0
# The same when the caller gave up: somebody is waiting at a keyboard.
ABORT_GRACE_S: Final = 0.4


class QuickJsEngine(Engine):
    """Runs programs in QuickJS, compiled to WebAssembly, in a pool of child processes."""

    def __init__(self, *, spare: bool = True, library: Path = GUEST_LIBRARY) -> None:
        """Nothing is started before the first program, or `warm`.

        Args:
            spare: True keeps one worker ready besides those in use.
            library: JavaScript that gives programs what they find besides the language, written against
                the `kernel` of runtime/guest/kernel.js.
        """
        self._library = library
        self._spare = spare
        self._stack = AsyncExitStack()
        self._open_calls: set[HostCalls] = set()
        self._is_closing = False

    async def __aenter__(self) -> Self:
        """Make ready for programs; starts no process."""
        self._tasks: TaskGroup = await self._stack.enter_async_context(anyio.create_task_group())
        self._pool = WorkerPool(self._tasks, library=self._library, spare=self._spare)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        """End every worker and every host call that a run left behind."""
        self._is_closing = True
        for calls in self._open_calls:
            calls.abandon()
        self._tasks.cancel_scope.cancel()
        return await self._stack.__aexit__(kind, error, trace)

    def warm(self) -> None:
        """Start a worker in the background, so that the first program finds one."""
        self._pool.warm()

    async def run(
        self, program: Program, host: GuestHost, *, deadline: Deadline, memory_bytes: int
    ) -> EngineResult:
        """Run one program; see `Engine.run`. Waiting for a worker is not charged to the program."""
        async with AsyncExitStack() as stack:
            with deadline.paused():
                lease = await stack.enter_async_context(self._pool.lease(is_errand=program.is_errand))
            calls = HostCalls(host, self._tasks, lease.worker.send)
            async with self._bounding(calls):
                ending = await self._run_guest(program, lease, calls, deadline, memory_bytes)
                # The worker is free for another program while this one's last calls go on.
                await stack.aclose()
                return await self._finish(ending, calls, deadline)

    async def _run_guest(
        self, program: Program, lease: Lease, calls: HostCalls, deadline: Deadline, memory_bytes: int
    ) -> Ending:
        session = Session(lease.worker, calls, memory_bytes=memory_bytes)
        ending: Ending | None = None
        failure: SandboxError | None = None

        async def follow() -> None:
            nonlocal ending, failure
            try:
                ending = await session.run(program)
            except SandboxError as error:  # the task group would wrap it
                failure = error

        await first_of(follow, deadline.wait_expired)
        if failure is not None:
            raise SandboxLost("closed", "it was closed while a program ran") if self._is_closing else failure
        if ending is None:
            waits_for = calls.pending
            await session.stop()
            return _timed_out(deadline, waits_for)
        lease.is_clean = ending.is_clean
        return ending

    async def _finish(self, ending: Ending, calls: HostCalls, deadline: Deadline) -> EngineResult:
        calls.stop_answering()
        is_over = ending.termination == "timed_out"
        unawaited = () if is_over else ending.pending
        if ending.termination == "completed":
            await first_of(calls.wait_idle, deadline.wait_expired)
        abandoned = () if is_over else calls.pending
        await calls.cancel(grace_s=CALL_GRACE_S)
        calls.raise_failure()
        return EngineResult(
            termination=ending.termination,
            value=ending.value,
            error=ending.error,
            unawaited=unawaited,
            abandoned=abandoned,
        )

    @asynccontextmanager
    async def _bounding(self, calls: HostCalls) -> AsyncGenerator[None]:
        """See to it that no call outlasts the block by more than its grace, and none the engine."""
        self._open_calls.add(calls)
        try:
            yield
        except BaseException:
            await calls.cancel(grace_s=ABORT_GRACE_S)
            raise
        finally:
            self._tasks.start_soon(self._forget_when_idle, calls)

    async def _forget_when_idle(self, calls: HostCalls) -> None:
        await calls.wait_idle()
        self._open_calls.discard(calls)


def _timed_out(deadline: Deadline, waits_for: tuple[str, ...]) -> Ending:
    what = f"while waiting for {_listed(waits_for)}" if waits_for else "while it was running"
    message = f"the program was stopped at its limit of {deadline.limit_s:g} s {what}"
    error = GuestError(name="Timeout", message=message, stack="")
    return Ending(termination="timed_out", error=error, is_clean=False)


def _listed(refs: tuple[str, ...]) -> str:
    # Enough to see what it was, in one line.
    shown = list(dict.fromkeys(refs))[:5]
    rest = len(refs) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest > 0 else "")
