"""Shows a running program in Pi: snapshots at a steady pace, never one frame per event.

The first change is shown at once, later ones at most once per interval; what changes in between is in
the next snapshot. Nothing is sent after the end.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.protocol.events import (
    CallEnded,
    CallStarted,
    ExecutionEvent,
    LogWritten,
    PhaseStarted,
    ProgressReported,
)

# What a person can take in at a glance; the whole is in the result.
SHOWN_CALLS = 6
SHOWN_LOG_LINES = 3
LINE_CHARS = 160


class Progress:
    """Sums up the events of one run; `sink` is its `EventSink`."""

    def __init__(self) -> None:
        self._running: dict[int, str] = {}
        self._done = 0
        self._failed = 0
        self._phase = ""
        self._message = ""
        self._logs: list[str] = []
        self._changed = anyio.Event()

    def sink(self, event: ExecutionEvent) -> None:
        """Take one event; cheap, never raises."""
        match event:
            case CallStarted():
                self._running[event.sequence] = event.ref
            case CallEnded():
                self._running.pop(event.sequence, None)
                self._done += 1
                self._failed += event.outcome != "succeeded"
            case PhaseStarted():
                self._phase = event.name[:LINE_CHARS]
            case ProgressReported():
                self._message = event.message[:LINE_CHARS]
            case LogWritten():
                self._logs = [*self._logs, event.text[:LINE_CHARS]][-SHOWN_LOG_LINES:]
            case _:
                return
        self._changed.set()

    def snapshot(self) -> JsonObject:
        """Content and details of a partial result in Pi's shape."""
        refs = list(self._running.values())
        counts = f"{self._done} calls done" + (f", {self._failed} failed" if self._failed else "")
        if refs:
            more = f" and {len(refs) - SHOWN_CALLS} more" if len(refs) > SHOWN_CALLS else ""
            counts += f"; running: {', '.join(refs[:SHOWN_CALLS])}{more}"
        lines = [self._phase and f"phase: {self._phase}", self._message, *self._logs, counts]
        return {
            "content": [{"type": "text", "text": "\n".join(line for line in lines if line)}],
            "details": {
                "phase": self._phase,
                "done": self._done,
                "failed": self._failed,
                "running": refs[:SHOWN_CALLS],
            },
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
