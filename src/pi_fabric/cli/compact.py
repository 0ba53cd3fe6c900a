"""`pi-fabric compact`: what a compaction of a session would keep, and why. Reads; never writes."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from pi_fabric.base.errors import RequestError
from pi_fabric.base.jsonvalue import stringify
from pi_fabric.base.printable import printable
from pi_fabric.cli.compaction_run import Options, Run, compact, load
from pi_fabric.cli.compaction_view import (
    as_object,
    as_text,
    difference,
    exit_code,
    reason_of,
    remarks,
    report_lines,
)
from pi_fabric.cli.options import JsonOption
from pi_fabric.cli.output import ExitCode, emit, say, table_console, working_folder
from pi_fabric.cli.quoted import one_line
from pi_fabric.cli.session_file import find_session
from pi_fabric.compaction.explain import Explanation, explain_summary
from pi_fabric.compaction.outcome import Compiled, Declined
from pi_fabric.compaction.qa import Report, check
from pi_fabric.config import load_config
from pi_fabric.config.model import CompactionFill, FabricConfig
from pi_fabric.history.session import Session

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_EPILOG = (
    "Exit codes: 0 done, 1 no compaction, or something was lost (--qa), 2 wrong usage."
    " Example: pi-fabric compact session.jsonl --window 200000 --explain"
)
_TOKENS = "TOKENS"
# No window is near it, and every figure stays one that a table has room for.
_MAX_TOKENS = 10**12


@app.command(name="compact", epilog=_EPILOG)
def run(  # noqa: PLR0913 - one parameter for each option
    *,
    session: Annotated[
        str | None,
        typer.Argument(help="Session file; or a file's name or a session's id under Pi's agent folder."),
    ] = None,
    window: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=_MAX_TOKENS,
            metavar=_TOKENS,
            help="The model's window; without it the last turn is kept.",
        ),
    ] = None,
    reserve: Annotated[
        int | None,
        typer.Option(
            min=0, max=_MAX_TOKENS, metavar=_TOKENS, help="Kept free for the answer; else Pi's 16,384."
        ),
    ] = None,
    keep: Annotated[
        int | None,
        typer.Option(
            min=0, max=_MAX_TOKENS, metavar=_TOKENS, help="Recent entries worth keeping; else 20,000."
        ),
    ] = None,
    ratio: Annotated[
        float | None,
        typer.Option(
            min=0.25, max=0.85, help="Part of the window in use afterwards; else as in `pi-fabric config`."
        ),
    ] = None,
    fill: Annotated[
        CompactionFill | None, typer.Option(help="Keep up to the ratio, or only the recent tail.")
    ] = None,
    tokens_before: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=_MAX_TOKENS,
            metavar=_TOKENS,
            help="Size of the context; else the last usage, else a guess.",
        ),
    ] = None,
    instructions: Annotated[str | None, typer.Option(help="As after /compact in Pi.")] = None,
    preserve: Annotated[
        list[str] | None, typer.Option(help="A fact to keep word for word; may be repeated.")
    ] = None,
    branch: Annotated[
        str | None, typer.Option(metavar="LEAF", help="Entry that ends the branch; else where Pi resumes.")
    ] = None,
    as_json: JsonOption = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show why it was cut there, tokens, and what blocks left out.")
    ] = False,
    qa: Annotated[
        bool, typer.Option("--qa", help="Check that nothing of the source is lost; 1 when something is.")
    ] = False,
    diff: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="A B", help="Compare two summaries: leaf ids of SESSION, or without SESSION two sessions."
        ),
    ] = None,
) -> None:
    """Print the summary that a compaction of a Pi session would store.

    Reads formats 1, 2 and 3; the file is never changed.
    """
    compaction = _config().compaction
    options = Options(
        window=window,
        reserve=reserve,
        keep=keep,
        ratio=compaction.target_context_ratio if ratio is None else ratio,
        fill=fill or compaction.fill,
        tokens_before=tokens_before,
        instructions=instructions,
        preserve=None if preserve is None else tuple(preserve),
    )
    if diff is not None:
        if explain or qa or branch is not None:
            raise RequestError("--diff", "goes with neither --explain, --qa nor --branch")
        raise typer.Exit(_compare(session, diff, options, as_json=as_json))
    if session is None:
        raise RequestError("SESSION", "name a session file, or compare two with --diff")
    one = compact(_open(session, is_quiet=as_json), options, leaf_id=branch)
    explanation = explain_summary(one.event) if explain else None
    report = check(one.outcome.summary, one.source) if qa and isinstance(one.outcome, Compiled) else None
    if as_json:
        emit(stringify(as_object(one, explanation, report), indent=2))
    else:
        _show(one, explanation, report)
    raise typer.Exit(exit_code(one, report))


def _config() -> FabricConfig:
    return load_config(cwd=working_folder(Path()), environ=os.environ, trust=None).config


def _open(name: str, *, is_quiet: bool) -> Session:
    session = load(find_session(name, os.environ))
    if not is_quiet and session.faults.total:
        count = session.faults.total
        noun = "one fault" if count == 1 else f"the first of {count} faults"
        say(f"pi-fabric: {one_line(session.path.name, 50)}: {noun}:\n  {session.faults.listed[0]}")
    return session


def _show(run: Run, explanation: Explanation | None, report: Report | None) -> None:
    if explanation is not None:
        _print_tables(run, explanation)
    elif report is None:
        for line in remarks(run):
            say(f"pi-fabric: {line}")
    if report is not None:
        emit("\n".join(report_lines(report)))
    elif isinstance(run.outcome, Compiled) and explanation is None:
        emit(as_text(run.outcome.summary, is_terminal=sys.stdout.isatty()))
    if isinstance(run.outcome, Declined):
        say(f"pi-fabric: {reason_of(run.outcome)}")


def _print_tables(run: Run, explanation: Explanation) -> None:
    from pi_fabric.cli.compaction_tables import explained  # noqa: PLC0415 - only people pay for rich

    with table_console() as console:
        for part in explained(run, explanation):
            console.print(part)


def _compare(name: str | None, pair: tuple[str, str], options: Options, *, as_json: bool) -> ExitCode:
    if name is None:
        runs = [compact(_open(one, is_quiet=as_json), options) for one in pair]
    else:
        session = _open(name, is_quiet=as_json)
        runs = [compact(session, options, leaf_id=leaf, named_by="--diff") for leaf in pair]
    lines = difference(*runs)
    if as_json:
        first, second = map(as_object, runs)
        emit(stringify({"a": first, "b": second, "diff": lines}, indent=2))
    else:
        emit("\n".join(map(printable, lines)) if lines else "The two summaries are the same.")
        for one in runs:
            if isinstance(one.outcome, Declined):
                say(f"pi-fabric: {one.name}: {reason_of(one.outcome)}")
    return max(map(exit_code, runs))
