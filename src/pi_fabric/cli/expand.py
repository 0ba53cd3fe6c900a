"""`pi-fabric expand`: entries of a session in full, read from the session file itself."""

import re
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from pi_fabric.base.errors import RequestError
from pi_fabric.base.jsonvalue import JsonObject, stringify
from pi_fabric.base.printable import printable
from pi_fabric.cli.memory_run import ask, open_config, tell_error
from pi_fabric.cli.options import JsonOption
from pi_fabric.cli.output import ExitCode, emit, table_console, working_folder
from pi_fabric.cli.quoted import MAX_MISTYPED_BYTES, one_line
from pi_fabric.memory.model import Branches

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_EPILOG = (
    "Exit codes: 0 opened, 1 not opened, 2 wrong usage, 6 memory is switched off."
    " Example: pi-fabric expand session.jsonl --index 12 --range 40:44"
)
# No session has so many entries.
_MAX_INDEX: Final = 10**9
# Of all ranges but a lone one, which needs no list of what is in it.
MAX_RANGED: Final = 10_000
_RANGE: Final = re.compile(r"(\d{1,9}):(\d{1,9})", re.ASCII)


@app.command(name="expand", epilog=_EPILOG)
def run(  # noqa: PLR0913 - one parameter for each option
    *,
    session: Annotated[
        str, typer.Argument(metavar="SESSION", help="Session file, its name, or the session's id.")
    ],
    entries: Annotated[
        list[str] | None, typer.Option("--entry", metavar="ID", help="An entry's id; may be repeated.")
    ] = None,
    indices: Annotated[
        list[int] | None,
        typer.Option(
            "--index", metavar="N", min=0, max=_MAX_INDEX, help="An entry's number; may be repeated."
        ),
    ] = None,
    ranges: Annotated[
        list[str] | None,
        typer.Option("--range", metavar="A:B", help="Entries A to B, both included; may be repeated."),
    ] = None,
    operations: Annotated[
        list[str] | None,
        typer.Option("--op", metavar="ADDR", help="An operation's address; may be repeated."),
    ] = None,
    branches: Annotated[
        Branches, typer.Option(help="Only the branch that the session is on, or all.")
    ] = "active",
    source_hash: Annotated[
        str | None, typer.Option("--hash", metavar="H", help="Open nothing unless the file still has it.")
    ] = None,
    lineage: Annotated[
        str | None, typer.Option(metavar="H", help="Open nothing unless the branch still has it.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print entries of a session, whole, in their order and each once.

    A pipe gets their texts to the byte, a line break after each; a terminal gets a line about each as well.
    """
    args: JsonObject = {"session": session, "branches": branches}
    args |= _addresses(entries or [], indices or [], ranges or [], operations or [])
    if source_hash is not None:
        args["expectedSourceHash"] = source_hash
    if lineage is not None:
        args["expectedLineageFingerprint"] = lineage
    folder = working_folder(Path())
    answer = ask(lambda memory, _: memory.expand(args, cwd=folder), config=open_config(folder), is_quiet=True)
    if as_json:
        emit(stringify(answer, indent=2))
    elif "error" in answer:
        tell_error(answer["error"])
    else:
        for entry in answer["expanded"]:
            _show(entry, is_terminal=sys.stdout.isatty())
    raise typer.Exit(ExitCode.FAILED if "error" in answer else ExitCode.OK)


def _addresses(
    entries: list[str], indices: list[int], ranges: list[str], operations: list[str]
) -> JsonObject:
    if not (entries or indices or ranges or operations):
        raise RequestError("SESSION", "say what to open:\n  --entry ID, --index N, --range A:B or --op ADDR")
    args: JsonObject = {"entryIds": entries, "operationAddresses": operations}
    bounds = [_bounds(text) for text in ranges]
    if len(bounds) == 1:
        ((first, last),) = bounds
        return args | {"indices": indices, "entryRange": {"first": first, "last": last}}
    if sum(last - first + 1 for first, last in bounds) > MAX_RANGED:
        raise RequestError("--range", f"several of them may name {MAX_RANGED:,} entries; one may name more")
    return args | {"indices": [*indices, *(at for first, last in bounds for at in range(first, last + 1))]}


def _bounds(text: str) -> tuple[int, int]:
    match = _RANGE.fullmatch(text)
    if match is None or int(match[1]) > int(match[2]):
        shown = one_line(text, MAX_MISTYPED_BYTES)
        raise RequestError("--range", f"{shown!r} is not A:B, two numbers in order")
    return int(match[1]), int(match[2])


def _show(entry: JsonObject, *, is_terminal: bool) -> None:
    text = str(entry["text"])
    if not is_terminal:
        emit(text)
        return
    from rich.text import Text  # noqa: PLC0415 - only people pay for rich

    with table_console() as console:
        console.print(Text(_headline(entry), style="bold cyan"), no_wrap=True, overflow="ellipsis")
    emit("\n".join(map(printable, text.split("\n"))))


def _headline(entry: JsonObject) -> str:
    parts = (f"#{entry['index']}", entry.get("entryId"), entry.get("toolName"), entry.get("outcome"))
    return printable(" ".join(str(part) for part in parts if part is not None))
