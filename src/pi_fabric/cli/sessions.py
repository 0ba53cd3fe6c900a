"""`pi-fabric sessions`: every past session, newest first."""

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from pi_fabric.base.jsonvalue import JsonObject, stringify
from pi_fabric.base.printable import printable
from pi_fabric.cli.memory_run import ask, home_path, open_config, tell_error
from pi_fabric.cli.options import JsonOption, ProjectOption
from pi_fabric.cli.output import ExitCode, emit, say, table_console, working_folder
from pi_fabric.cli.recall_view import local_day
from pi_fabric.cli.scopes import ScopeOption, check_scope
from pi_fabric.memory.model import Branches

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_EPILOG = (
    "Exit codes: 0 listed, 1 no answer, 2 wrong usage, 6 memory is switched off."
    " Example: pi-fabric sessions --scope global --limit 20"
)
# The most that one listing tells.
_MAX_LIMIT: Final = 500
# What is left of 80 columns beside an id of 36 characters, date, entries and tier.
_PROJECT_COLUMNS: Final = 15
_BAD_HEADER: Final = "(bad header)"


@app.command(name="sessions", epilog=_EPILOG)
def run(
    *,
    scope: ScopeOption = "project",
    branches: Annotated[
        Branches, typer.Option(help="Count the entries of the branch that a session is on, or all.")
    ] = "active",
    limit: Annotated[
        int | None, typer.Option(min=1, max=_MAX_LIMIT, help="At most so many; else memory.maxSessions.")
    ] = None,
    cwd: ProjectOption = Path(),
    as_json: JsonOption = False,
) -> None:
    """List sessions: id, date, entries, tier, project, file, and whose log it is when it is not Pi's.

    Of a hot session the index holds the text, of a cold one the words. Where the header of a session
    cannot be read, (bad header) stands for its project. A pipe gets one line for each session, with tabs
    between.
    """
    check_scope(scope)
    args: JsonObject = {"scope": scope, "branches": branches}
    if limit is not None:
        args["limit"] = limit
    folder = working_folder(cwd)
    answer = ask(
        lambda memory, progress: memory.sessions(args, cwd=folder, progress=progress),
        config=open_config(folder),
        is_quiet=as_json,
    )
    if as_json:
        emit(stringify(answer, indent=2))
    elif "error" in answer:
        tell_error(answer["error"])
    elif not answer["sessions"]:
        say(f"pi-fabric: {_nothing(scope)}")
    elif sys.stdout.isatty():
        _print_table(answer["sessions"])
    else:
        emit("\n".join("\t".join(_cells(session)) for session in answer["sessions"]))
    raise typer.Exit(ExitCode.FAILED if "error" in answer else ExitCode.OK)


def _nothing(scope: str) -> str:
    if scope == "global":
        return "there is no session yet"
    if scope in ("project", "session"):
        return "no session belongs to this folder; --scope global lists all of them"
    return "no session has this path, id or file name"


def _cells(session: JsonObject) -> list[str]:
    source = [str(session["source"])] if "source" in session else []
    return [
        printable(str(session["id"])),
        local_day(session["mtime"]),
        str(session["entryCount"]),
        str(session["tier"]),
        _project(session),
        home_path(str(session["file"])),
        *source,
    ]


def _project(session: JsonObject) -> str:
    if session["cwd"]:
        return home_path(str(session["cwd"]))
    # Without a header a session of Pi's is known by the name of its file.
    has_header = "source" in session or session["id"] != Path(str(session["file"])).stem
    return "" if has_header else _BAD_HEADER


def _print_table(sessions: list[JsonObject]) -> None:
    from rich.text import Text  # noqa: PLC0415 - only people pay for rich

    with table_console() as console:
        console.print(Text(f"{'ID':<36}  {'DATE':<10}  ENTRIES  TIER  PROJECT", style="bold"))
        for session in sessions:
            name, day, entries, tier, project, file, *source = _cells(session)
            # What tells projects apart is at the end of their paths.
            shown = project if len(project) <= _PROJECT_COLUMNS else f"…{project[1 - _PROJECT_COLUMNS :]}"
            row = f"{name:<36}  {day}  {int(entries):>7,}  {tier:<4}  {shown}"
            console.print(Text(row), no_wrap=True, overflow="ellipsis")
            about = f"  {file}" + (f" ({source[0]})" if source else "")
            console.print(Text(about, style="dim"), soft_wrap=True)
