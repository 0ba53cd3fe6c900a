"""What a person sees on standard error while a program runs."""

from collections.abc import Generator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from pi_fabric.base.bounds import clip_bytes
from pi_fabric.base.printable import printable
from pi_fabric.execution.progress import RunProgress
from pi_fabric.protocol.events import EventSink, ExecutionEvent, PhaseStarted, ProgressReported

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
        self._run = RunProgress()

    def __call__(self, event: ExecutionEvent) -> None:
        if not self._run(event):
            return
        if isinstance(event, PhaseStarted):
            self._console.print(f"[bold]{_line_of(self._run.phase)}[/bold]")
        elif isinstance(event, ProgressReported):
            self._console.print(_line_of(self._run.message), style="dim")
        self._status.update(_line_of(self._run.summary()))


def _line_of(text: str) -> str:
    return escape(clip_bytes(printable(text), MAX_LINE_BYTES))
