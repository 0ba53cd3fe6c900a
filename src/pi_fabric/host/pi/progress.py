"""Shows a running program in Pi: snapshots at a steady pace, never one frame per event.

The first change is shown at once, later ones at most once per interval; what changes in between is in
the next snapshot. Nothing is sent after the end.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import islice

import anyio

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.execution.progress import SHOWN_REFS, RunProgress
from pi_fabric.protocol.events import ExecutionEvent


class Progress:
    """Shows one run in Pi; `sink` is its `EventSink`."""

    def __init__(self) -> None:
        self._run = RunProgress()
        self._changed = anyio.Event()

    def sink(self, event: ExecutionEvent) -> None:
        """Take one event; cheap, never raises."""
        if self._run(event):
            self._changed.set()

    def snapshot(self) -> JsonObject:
        """Content and details of a partial result in Pi's shape."""
        run = self._run
        lines = [run.phase and f"phase: {run.phase}", run.message, *run.logs, run.summary()]
        running = dict(islice(run.running.items(), SHOWN_REFS))
        return {
            "content": [{"type": "text", "text": "\n".join(line for line in lines if line)}],
            "details": {"phase": run.phase, "done": run.done, "failed": run.failed, "running": running},
        }

    @asynccontextmanager
    async def shown(
        self, show: Callable[[JsonObject], Awaitable[None]], *, interval_s: float
    ) -> AsyncGenerator[None]:
        """Call `show` with snapshots while the block is open; 0 shows every change."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._pump, show, interval_s)
            yield
            tasks.cancel_scope.cancel()

    async def _pump(self, show: Callable[[JsonObject], Awaitable[None]], interval_s: float) -> None:
        while True:
            await self._changed.wait()
            self._changed = anyio.Event()
            await show(self.snapshot())
            await anyio.sleep(interval_s)
