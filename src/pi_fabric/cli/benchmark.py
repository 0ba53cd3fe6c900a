"""`pi-fabric benchmark`: measurements that cost money, and so run only when they are asked for clearly."""

import os
import signal
import sys
import tempfile
import textwrap
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import anyio
import typer

from pi_fabric.base.clock import SystemClock
from pi_fabric.base.errors import FabricError, RequestError, StoreError
from pi_fabric.base.groups import sole_exception
from pi_fabric.base.jsonvalue import JsonObject, stringify
from pi_fabric.base.nearest import nearest
from pi_fabric.certify.resume.arms import ARM_NAMES, ARMS, ArmName
from pi_fabric.certify.resume.gate import (
    ENABLE,
    MAX_REPEATS,
    VARIABLES,
    Gate,
    Refused,
    Skipped,
    read_gate,
)
from pi_fabric.certify.resume.scrub import Scrubber
from pi_fabric.cli.options import JsonOption
from pi_fabric.cli.output import TABLE_COLUMNS, ExitCode, emit, say, working_folder

if TYPE_CHECKING:
    from pi_fabric.certify.resume.benchmark import Plan, Progress
    from pi_fabric.certify.resume.one_run import Bench
    from pi_fabric.certify.resume.results import Report
    from pi_fabric.certify.resume.schedule import Slot

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None)

# As long as a model may work on one of these tasks; a day is where it can only be stuck.
DEFAULT_TIMEOUT_S = 900.0
MAX_TIMEOUT_S = 86_400.0
_EPILOG = (
    "Exit codes: 0 measured, stopped at the budget, or skipped; 1 no run came to its end; 2 wrong usage;"
    " 5 interrupted; 6 Pi or Node is missing. Example: pi-fabric benchmark real-resume --report result.html"
)


@app.callback(epilog="Example: pi-fabric benchmark real-resume")
def benchmark() -> None:
    """Measure Fabric with a real model. Costs money, and does nothing until it is enabled."""


@app.command(name="real-resume", epilog=_EPILOG)
def real_resume(
    *,
    arms: Annotated[
        str | None, typer.Option(metavar="A,B", help=f"Some of {', '.join(ARM_NAMES)}; else all.")
    ] = None,
    repeats: Annotated[
        int | None, typer.Option(min=1, max=MAX_REPEATS, help="Runs of each task in each arm.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Another one gives another order.")] = 0,
    fixtures: Annotated[
        Path | None,
        typer.Option(
            "--fixtures", metavar="DIR", help="Tasks of your own instead of the two that are built in."
        ),
    ] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.1, max=MAX_TIMEOUT_S, help="Seconds for one run.")
    ] = DEFAULT_TIMEOUT_S,
    report: Annotated[
        list[Path] | None,
        typer.Option("--report", metavar="FILE", help="Also write a .html, .md or .json; may be repeated."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Let a model finish tasks in the real Pi after their sessions were compacted.

    Each task is resumed in a fresh Pi: with its full context, and compacted by Fabric, by Pi's own model, and
    by pi-vcc when that is named. A test outside the model scores the files. Without PI_FABRIC_REAL_RESUME=1
    nothing is started and nothing is spent; the command then says what to set.
    """
    cwd = working_folder(Path())
    gate = read_gate(os.environ, cwd)
    if isinstance(gate, Skipped):
        _skip(gate, as_json=as_json)
        return
    if isinstance(gate, Refused):
        _refuse(gate, as_json=as_json)
        raise typer.Exit(ExitCode.USAGE)
    scrub = Scrubber(gate.key_env, gate.key)
    try:
        code = _measure(
            gate,
            scrub,
            arms=_arms(arms, gate),
            repeats=gate.repeats if repeats is None else repeats,
            seed=seed,
            fixtures=None if fixtures is None else cwd / fixtures,
            timeout_s=timeout,
            reports=[cwd / file for file in report or ()],
            as_json=as_json,
        )
    except FabricError as error:
        # Whatever it quotes: the credential must not be in it.
        error.message = scrub(error.message)
        error.args = (error.message,)
        raise
    except OSError as error:
        reason = f"the benchmark cannot keep its files: {error.strerror or error}"
        raise StoreError(Path(tempfile.gettempdir()), scrub(reason)) from None
    raise typer.Exit(code)


def _measure(  # noqa: PLR0913 - what the options say
    gate: Gate,
    scrub: Scrubber,
    *,
    arms: tuple[ArmName, ...],
    repeats: int,
    seed: int,
    fixtures: Path | None,
    timeout_s: float,
    reports: Sequence[Path],
    as_json: bool,
) -> ExitCode:
    # Imported when something is going to be measured: a skip does without.
    from pi_fabric.certify.resume.benchmark import Plan  # noqa: PLC0415
    from pi_fabric.certify.resume.fixture import BUILT_IN, load_fixtures  # noqa: PLC0415
    from pi_fabric.certify.resume.one_run import Bench  # noqa: PLC0415
    from pi_fabric.certify.resume.program import find_programs  # noqa: PLC0415
    from pi_fabric.certify.resume.reports.as_json import as_json as as_object  # noqa: PLC0415
    from pi_fabric.certify.resume.reports.as_text import as_text  # noqa: PLC0415
    from pi_fabric.certify.resume.reports.files import check_target, write_report  # noqa: PLC0415

    for file in reports:
        check_target(file, "--report")
    tasks = load_fixtures(BUILT_IN if fixtures is None else fixtures)
    programs = anyio.run(find_programs, os.environ)
    plan = Plan(fixtures=tasks, arms=arms, repeats=repeats, seed=seed, pi_version=programs.pi_version)
    bench = Bench(
        gate=gate,
        pi=programs.pi,
        node=programs.node,
        environ=os.environ,
        timeout_s=timeout_s,
        scrub=scrub,
        clock=SystemClock(),
    )
    with _progress(gate.max_usd, is_quiet=as_json) as progress:
        found = anyio.run(_run, plan, bench, progress)
    emit(scrub(stringify(as_object(found), indent=2) if as_json else as_text(found)))
    for file in reports:
        write_report(file, found, scrub)
    return _code(found)


async def _run(plan: "Plan", bench: "Bench", progress: "Progress | None") -> "Report":
    from pi_fabric.certify.resume.benchmark import run_benchmark  # noqa: PLC0415 - as above

    report: Report | None = None
    with sole_exception():
        async with anyio.create_task_group() as watchers:
            stop = anyio.Event()
            await watchers.start(_set_on_interrupt, stop)
            report = await run_benchmark(plan, bench, stop=stop, progress=progress)
            watchers.cancel_scope.cancel()
    assert report is not None
    return report


async def _set_on_interrupt(
    stop: anyio.Event, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    """Ctrl-C ends the run and not us: what was paid for is still reported."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
        task_status.started()
        async for _ in signals:
            stop.set()


def _code(report: "Report") -> ExitCode:
    if report.stopped == "interrupted":
        return ExitCode.ABORTED
    # Failed tasks are what is measured; when nothing ended by itself, nothing was.
    has_measured = any(run.ending == "settled" for run in report.runs)
    return ExitCode.OK if has_measured else ExitCode.FAILED


def _arms(option: str | None, gate: Gate) -> tuple[ArmName, ...]:
    """The chosen arms in the order of the table; all that can be run when none was chosen."""
    if option is None:
        return tuple(arm for arm in ARM_NAMES if gate.pi_vcc is not None or not ARMS[arm].loads_pi_vcc)
    names = [name.strip() for name in option.split(",") if name.strip()]
    for name in names:
        if name not in ARM_NAMES:
            close = nearest(name, ARM_NAMES)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(ARM_NAMES)}"
            raise RequestError("--arms", f"there is no arm {name!r}; {hint}")
    if not names:
        raise RequestError("--arms", f"name one or more of {', '.join(ARM_NAMES)}")
    if gate.pi_vcc is None and "pi-vcc" in names:
        raise RequestError("--arms", "the arm pi-vcc needs PI_VCC_EXTENSION, its extension's file")
    return tuple(arm for arm in ARM_NAMES if arm in names)


def _skip(skipped: Skipped, *, as_json: bool) -> None:
    if as_json:
        emit(
            stringify({"benchmark": "real-resume", "status": "skip", "reason": skipped.reason} | _switches())
        )
        return
    lines = [*_wrapped(f"SKIP: {skipped.reason}, so nothing was started and nothing was spent."), ""]
    emit(
        "\n".join([*lines, *_wrapped("This benchmark asks a real model and costs money. To enable it, set:")])
    )
    emit("\n".join(_variable_lines()))
    emit(f"\nExample:\n{_example()}")


def _refuse(refused: Refused, *, as_json: bool) -> None:
    if as_json:
        problems = list(refused.problems)
        emit(stringify({"benchmark": "real-resume", "status": "refused", "problems": problems} | _switches()))
        return
    say(f"pi-fabric: {ENABLE} is 1, but nothing was started:")
    for problem in refused.problems:
        say("\n".join(_wrapped(f"  {problem}.")))
    say("`pi-fabric benchmark real-resume` without it lists every variable.")


def _switches() -> JsonObject:
    return {
        "variables": [
            {"name": each.name, "meaning": each.meaning, "required": each.is_required} for each in VARIABLES
        ]
    }


def _variable_lines() -> list[str]:
    width = max(len(each.name) for each in VARIABLES)
    return [
        f"  {each.name:<{width}}  {each.meaning}{'' if each.is_required else ' (optional)'}"
        for each in VARIABLES
    ]


def _example() -> str:
    words = [f"{each.name}={each.example}" for each in VARIABLES if each.is_required]
    return " \\\n".join(f"  {word}" for word in [*words, "pi-fabric benchmark real-resume"])


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, TABLE_COLUMNS, subsequent_indent="    ", break_on_hyphens=False)


@contextmanager
def _progress(max_usd: float, *, is_quiet: bool) -> "Generator[Progress | None]":
    """One line on a terminal: which run it is, and what was spent."""
    if is_quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - only a person pays for rich

    with Console(stderr=True, highlight=False).status("checking the fixtures") as status:

        def show(done: int, total: int, slot: "Slot", spent_usd: float) -> None:
            where = f"{slot.fixture}, repeat {slot.repeat}, {slot.arm}"
            status.update(f"run {done + 1} of {total}: {where}; ${spent_usd:.2f} of ${max_usd:g}")

        yield show
