"""`pi-fabric certify`: proves that context and memory hold, against an installed Pi; offline."""

import os
import signal
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import anyio
import anyio.abc
import typer

from pi_fabric.base.errors import FabricError, RequestError, Unavailable
from pi_fabric.base.groups import sole_exception
from pi_fabric.base.jsonvalue import stringify
from pi_fabric.cli.output import ExitCode, emit, say, table_console
from pi_fabric.host.pi.node import find_node
from pi_fabric.host.pi.program import PACKAGE, PiProgram, find_pi, inspect

if TYPE_CHECKING:
    from pi_fabric.certify.context import Report, Tell

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None)

_EPILOG = (
    "Exit codes: 0 everything holds, 1 something does not, 6 no Pi or no Node."
    " Example: pi-fabric certify context --json report.json"
)


@app.callback()
def certify() -> None:
    """Prove what Fabric promises, against the Pi that is installed."""


@app.command(epilog=_EPILOG)
def context(
    *,
    pi: Annotated[
        list[Path] | None,
        typer.Option(help="Pi's executable; may be repeated. Else the one on PATH.", exists=True),
    ] = None,
    json_path: Annotated[
        Path | None, typer.Option("--json", metavar="PATH", help="Also write the report to a file.")
    ] = None,
    short: Annotated[
        bool, typer.Option("--short", help="10 compactions and 50 sessions: quick, and no certification.")
    ] = False,
) -> None:
    """Certify compaction, memory and continuation; about ten seconds a version.

    Uses the installed Pi's own functions and Fabric's extension, without a model and without the network.
    Prints a summary, then the whole report as JSON.
    """
    if json_path is not None:
        _check_writable(json_path)
    report = anyio.run(_certify, _programs(pi), short)
    text = stringify(report.to_json(), indent=2)
    try:
        # First: whoever reads the rest may stop reading.
        if json_path is not None:
            _write(json_path, text)
    finally:
        _show(report, text)


def _show(report: "Report", text: str) -> None:
    """Print summary and report.

    Raises:
        Exit: If the report is none that holds, also when nobody reads it to its end.
    """
    try:
        _print(report)
        emit(text)
    except SystemExit:
        if report.holds:
            raise
    if not report.holds:
        raise typer.Exit(ExitCode.FAILED)


async def _certify(programs: Sequence[PiProgram], is_short: bool) -> "Report":
    from pi_fabric.certify.context import Certification, Size  # noqa: PLC0415 - `--help` does without

    size = Size.short() if is_short else Size()
    node = await find_node(os.environ)
    report: Report | None = None
    with _progress() as tell, sole_exception():
        async with anyio.create_task_group() as watchers:
            await watchers.start(_cancel_on_signal, watchers.cancel_scope)
            certification = Certification(node=node, environ=os.environ, size=size)
            report = await certification.run(programs, tell)
            watchers.cancel_scope.cancel()
    if report is None:
        raise KeyboardInterrupt
    return report


async def _cancel_on_signal(
    scope: anyio.CancelScope, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    """Whoever ends us, what we started and wrote goes with us."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
        task_status.started()
        async for _ in signals:
            scope.cancel()


def _programs(chosen: Sequence[Path] | None) -> list[PiProgram]:
    if not chosen:
        found = find_pi(os.environ.get("PATH"))
        if found is None:
            raise Unavailable("There is no Pi on PATH", f"Name one with --pi, or: npm install -g {PACKAGE}")
        return [found]
    return [_program(path) for path in chosen]


def _program(path: Path) -> PiProgram:
    found = inspect(path)
    if found is None:
        raise RequestError("--pi", f"{path} is not part of {PACKAGE}")
    return found


@contextmanager
def _progress() -> Generator["Tell"]:
    """One line on a terminal that tells the phase at hand, gone at the end."""
    if not sys.stderr.isatty():
        yield lambda _name, _done, _of: None
        return
    from rich.console import Console  # noqa: PLC0415 - only a terminal pays for rich
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("certifying", total=None)
        yield lambda name, done, of: bar.update(task, description=name, completed=done, total=of)


def _print(report: "Report") -> None:
    from pi_fabric.certify.summary import summarize  # noqa: PLC0415 - after the work, nobody waits for rich

    with table_console() as console:
        for part in summarize(report):
            console.print(part)


def _check_writable(path: Path) -> None:
    """Say at once, and not after the work, that the report has no place to go."""
    if not path.absolute().parent.is_dir():
        raise RequestError("--json", f"the folder of {path} does not exist")
    place = path if path.exists() else path.absolute().parent
    if path.is_dir() or not os.access(place, os.W_OK):
        raise RequestError("--json", f"{path} cannot be written")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise FabricError(f"{path} cannot be written: {error.strerror or error}") from error
    say(f"pi-fabric: the report is in {path}")
