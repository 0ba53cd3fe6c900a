"""What a run is doing at this moment, summed up from its events for a person who waits."""

from pi_fabric.protocol.events import (
    CallEnded,
    CallStarted,
    ExecutionEvent,
    LogWritten,
    PhaseStarted,
    ProgressReported,
)

# What a person can take in at a glance; the whole is in the result.
SHOWN_REFS = 4
SHOWN_LOG_LINES = 3
LINE_CHARS = 160
# The library's own operations go on around the calls; counting them says nothing.
OWN_PREFIX = "fabric."


class RunProgress:
    """Sums up one run; the object is its `EventSink`. Cheap, never raises."""

    def __init__(self) -> None:
        self._running: dict[int, str] = {}
        self.done = 0
        """Calls that have ended."""
        self.failed = 0
        """Those among them that did not succeed."""
        self.phase = ""
        """Name of the current phase; empty before the first."""
        self.message = ""
        """Newest progress message."""
        self.logs: tuple[str, ...] = ()
        """Newest printed lines, three at most."""

    def __call__(self, event: ExecutionEvent) -> bool:
        """Take one event; True when there is something new to show."""
        match event:
            case CallStarted():
                self._running[event.sequence] = event.ref
            case CallEnded():
                ref = self._running.pop(event.sequence, OWN_PREFIX)
                if not ref.startswith(OWN_PREFIX):
                    self.done += 1
                    self.failed += event.outcome != "succeeded"
            case PhaseStarted():
                self.phase = event.name[:LINE_CHARS]
            case ProgressReported():
                self.message = event.message[:LINE_CHARS]
            case LogWritten():
                self.logs = (*self.logs, event.text[:LINE_CHARS])[-SHOWN_LOG_LINES:]
            case _:
                return False
        return True

    @property
    def running(self) -> dict[str, int]:
        """Calls that are open, counted by reference, in the order in which they began."""
        counts: dict[str, int] = {}
        for ref in self._running.values():
            if not ref.startswith(OWN_PREFIX):
                counts[ref] = counts.get(ref, 0) + 1
        return counts

    def summary(self) -> str:
        """One line: `12 calls done, 1 failed; running: pi.read (5), pi.bash`."""
        line = f"{self.done} {'call' if self.done == 1 else 'calls'} done"
        if self.failed:
            line += f", {self.failed} failed"
        named = [ref if count == 1 else f"{ref} ({count})" for ref, count in self.running.items()]
        if named:
            more = f" and {len(named) - SHOWN_REFS} more" if len(named) > SHOWN_REFS else ""
            line += f"; running: {', '.join(named[:SHOWN_REFS])}{more}"
        return line
