"""What a person sees on standard error while sessions are indexed."""

from collections.abc import Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from pi_fabric.memory.refresh import Progress as Told


@contextmanager
def index_progress() -> Generator[Told]:
    """A bar from the first session that is to be indexed on; gone at the end."""
    bars = Progress(
        TextColumn("indexing sessions"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        console=Console(stderr=True, highlight=False),
        transient=True,
    )
    task: TaskID | None = None

    def show(done: int, total: int) -> None:
        nonlocal task
        if task is None:
            task = bars.add_task("", total=total)
            bars.start()
        bars.update(task, completed=done, total=total)

    try:
        yield show
    finally:
        bars.stop()
