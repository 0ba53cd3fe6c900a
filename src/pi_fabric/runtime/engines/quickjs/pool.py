"""Workers: one per running program, one spare that is warm, none that is in doubt.

A worker whose program ended by itself is used again; any other is killed. At most MAX_WORKERS programs run
at a time, and MAX_ERRANDS on their behalf; further ones wait, in order of arrival.
"""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import anyio
from anyio.abc import TaskGroup

from pi_fabric.base.errors import SandboxError
from pi_fabric.runtime.engines.quickjs.child import Worker, start_worker
from pi_fabric.runtime.engines.quickjs.waits import first_of

# Programs mostly wait for their host calls, so more than there are cores makes sense; each costs some 30 MB.
MAX_WORKERS: Final = 8
# Errands compute and never wait for a host, so more would only slow each other down.
MAX_ERRANDS: Final = 2
# The longest limit that a program may have by configuration: after that a place must have come free.
MAX_WAIT_S: Final = 900.0


@dataclass(eq=False, slots=True)
class _Slot:
    """A worker's life, from the order to start it until it is gone."""

    worker: Worker | None = None
    error: SandboxError | None = None
    settled: anyio.Event = field(default_factory=anyio.Event)
    """Set when `worker` or `error` is."""
    retired: anyio.Event = field(default_factory=anyio.Event)


@dataclass(eq=False, slots=True)
class Lease:
    """A worker in use by one program."""

    worker: Worker
    is_clean: bool = False
    """To be set when the program ended by itself; otherwise the worker is killed."""


class WorkerPool:
    """Gives out workers. Lives in the engine's task group and ends with it."""

    def __init__(self, tasks: TaskGroup, *, library: Path, spare: bool) -> None:
        """Nothing is started yet.

        Args:
            tasks: Where workers are kept.
            library: What their programs find besides the language.
            spare: True keeps one more worker warm than programs are running.
        """
        self._tasks = tasks
        self._library = library
        self._keeps_spare = spare
        # One to be used again and, with a spare, one for the program that comes meanwhile.
        self._idle_limit = 2 if spare else 1
        self._places = anyio.Semaphore(MAX_WORKERS)
        # Their own: programs in all of the others may be waiting for errands.
        self._errand_places = anyio.Semaphore(MAX_ERRANDS)
        self._idle: list[_Slot] = []
        self._first_start = anyio.Lock()
        self._has_started = False

    def warm(self) -> None:
        """Have a worker started in the background, if none is idle."""
        if not self._idle:
            self._idle.append(self._order())

    @asynccontextmanager
    async def lease(self, *, is_errand: bool = False) -> AsyncGenerator[Lease]:
        """A worker for one program; waits for a place and for the worker's start.

        Args:
            is_errand: As in `Program`.

        Raises:
            SandboxError: If none can be started, or no place came free for MAX_WAIT_S.
        """
        places = self._errand_places if is_errand else self._places
        with anyio.move_on_after(MAX_WAIT_S) as limit:
            await places.acquire()
        if limit.cancelled_caught:
            raise SandboxError("busy", f"no place came free for {MAX_WAIT_S:g} s")
        try:
            slot, worker = await self._ready_slot()
            if self._keeps_spare:
                self.warm()
            lease = Lease(worker)
            try:
                yield lease
            finally:
                self._give_back(slot, lease)
        finally:
            places.release()

    async def _ready_slot(self) -> tuple[_Slot, Worker]:
        while True:
            slot = self._pick() or self._order()
            try:
                await slot.settled.wait()
            except BaseException:
                self._put_back(slot)
                raise
            if slot.error is not None:
                raise slot.error
            if slot.worker is not None and slot.worker.is_alive:
                return slot, slot.worker
            slot.retired.set()

    def _pick(self) -> _Slot | None:
        # The one used last has the warmest memory; one that is still starting comes last.
        self._idle.sort(key=lambda slot: slot.settled.is_set())
        return self._idle.pop() if self._idle else None

    def _give_back(self, slot: _Slot, lease: Lease) -> None:
        if lease.is_clean and lease.worker.is_alive:
            self._put_back(slot)
        else:
            lease.worker.kill()
            slot.retired.set()

    def _put_back(self, slot: _Slot) -> None:
        is_wanted = len(self._idle) < self._idle_limit or self._places.statistics().tasks_waiting > 0
        if is_wanted and slot.error is None:
            self._idle.append(slot)
        else:
            slot.retired.set()

    def _order(self) -> _Slot:
        slot = _Slot()
        self._tasks.start_soon(self._keep, slot)
        return slot

    async def _keep(self, slot: _Slot) -> None:
        try:
            async with AsyncExitStack() as stack:
                slot.worker = await self._start(stack)
                slot.settled.set()
                await first_of(slot.retired.wait, slot.worker.wait)
        except SandboxError as error:
            slot.error = error
        except OSError as error:
            slot.error = SandboxError("start", f"no process can be started: {error}")
        finally:
            if not slot.settled.is_set():
                slot.error = slot.error or SandboxError("closed", "the engine is closing")
                slot.settled.set()
            if slot in self._idle:
                self._idle.remove(slot)

    async def _start(self, stack: AsyncExitStack) -> Worker:
        if self._has_started:
            return await stack.enter_async_context(start_worker(self._library))
        # Until one has, each would compile the module for itself.
        async with self._first_start:
            worker = await stack.enter_async_context(start_worker(self._library))
            self._has_started = True
            return worker
