"""What a person sees on standard error while a program runs."""

from collections.abc import Generator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from pi_fabric.base.bounds import clip_bytes
from pi_fabric.base.printable import printable
from pi_fabric.protocol.events import (
    CallEnded,
    CallStarted,
    EventSink,
    ExecutionEvent,
    PhaseStarted,
    ProgressReported,
)

# One line beside the spinner in 80 columns.
MAX_LINE_BYTES = 70


@contextmanager
def live_progress() -> Generator[EventSink]:
    """Show phases as lines and the running calls as one line that is gone at the end."""
    console = Console(stderr=True, highlight=False)
    with console.status("checking") as status:
        yield _Progress(console, status)


class _Progress:
    def __init__(self, console: Console, status: Status) -> None:
        self._console = console
        self._status = status
        self._running: dict[int, str] = {}
        self._done = 0

    def __call__(self, event: ExecutionEvent) -> None:
        match event:
            case CallStarted():
                self._running[event.sequence] = event.ref
            case CallEnded():
                self._running.pop(event.sequence, None)
                self._done += 1
            case PhaseStarted():
                self._console.print(f"[bold]{_line_of(event.name)}[/bold]")
            case ProgressReported():
                self._console.print(_line_of(event.message), style="dim")
            case _:
                return
        self._status.update(escape(self._line()))

    def _line(self) -> str:
        names = ", ".join(dict.fromkeys(self._running.values())) or "running"
        return f"{clip_bytes(printable(names), MAX_LINE_BYTES - 20)} ({self._done} calls done)"


def _line_of(text: str) -> str:
    return escape(clip_bytes(printable(text), MAX_LINE_BYTES))
