"""`pi-fabric memory`: what the index of sessions holds, building it anew, removing it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

import typer

from pi_fabric.base.jsonvalue import JsonObject, stringify
from pi_fabric.cli.memory_run import ask, home_path, one_paragraph, open_config
from pi_fabric.cli.options import JsonOption
from pi_fabric.cli.output import ExitCode, emit, working_folder
from pi_fabric.memory import Memory
from pi_fabric.memory.model import Branches
from pi_fabric.memory.refresh import Progress
from pi_fabric.memory.upkeep import ClearResult, MemoryStatus, ModeStatus, RebuildResult
from pi_fabric.memory.wording import REASONS, count

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None)

# Enough to see what is wrong; what is more is in the JSON.
MAX_LISTED: Final = 5
_KIB: Final = 1024


@app.callback(epilog="Example: pi-fabric memory status")
def memory() -> None:
    """Look at the index of sessions, build it anew, or remove it. Session files are never changed."""


@app.command(epilog="Example: pi-fabric memory status --json")
def status(as_json: JsonOption = False) -> None:
    """Say what the index holds, how large it is, and what is not in it and why.

    Nothing is brought up to date; works when memory is switched off too.
    """
    config = open_config(working_folder(Path()), must_be_on=False)
    found = ask(lambda memory, _: memory.status(), config=config, is_quiet=True)
    if as_json:
        emit(stringify(_object(found, is_on=config.enabled), indent=2))
    else:
        emit("\n".join(_lines(found, is_on=config.enabled)))


@app.command(epilog="Exit codes: 0 done, 1 a session could not be indexed. Example: pi-fabric memory rebuild")
def rebuild(
    as_json: JsonOption = False,
    branches: Annotated[
        Branches, typer.Option(help="The index of the branches that sessions are on, or of all.")
    ] = "active",
) -> None:
    """Forget the index and read every session anew, however many there are."""
    result = ask(
        lambda memory, progress: memory.rebuild(progress, branches=branches),
        config=open_config(working_folder(Path())),
        is_quiet=as_json,
    )
    if as_json:
        emit(stringify({"indexed": result.indexed, "failed": dict(result.failed)}, indent=2))
    else:
        emit("\n".join(rebuilt_lines(result)))
    raise typer.Exit(ExitCode.FAILED if result.failed else ExitCode.OK)


@app.command(epilog="Example: pi-fabric memory clear")
def clear(as_json: JsonOption = False) -> None:
    """Remove the index and say what was removed; the next question builds it again.

    Works when memory is switched off too. Files that are not of the index stay where they are.
    """
    config = open_config(working_folder(Path()), must_be_on=False)
    folders: list[Path] = []

    async def question(memory: Memory, _: Progress | None) -> ClearResult:
        folders.append(memory.cache.folder)
        return await memory.clear()

    result = ask(question, config=config, is_quiet=True)
    (folder,) = folders
    if as_json:
        told = {"folder": str(folder), "files": result.files, "bytes": result.file_bytes}
        emit(stringify(told, indent=2))
        return
    removed = f"{count(result.files, 'file', 'files')}, {_size(result.file_bytes)}, from"
    lines = [f"Removed {removed}", f"  {home_path(str(folder))}"] if result.files else ["There was no index."]
    emit("\n".join([*lines, "Sessions themselves were not touched."]))


def rebuilt_lines(result: RebuildResult) -> Iterator[str]:
    """What a rebuild tells a person."""
    yield f"Indexed {count(result.indexed, 'session', 'sessions')}."
    if result.failed:
        yield f"{count(len(result.failed), 'session', 'sessions')} could not be indexed:"
    for file, reason in list(result.failed.items())[:MAX_LISTED]:
        yield f"  {home_path(file)}"
        yield f"    {REASONS.get(reason, reason)}"
    yield from _more(len(result.failed))


def _object(found: MemoryStatus, *, is_on: bool) -> JsonObject:
    return {
        "enabled": is_on,
        "folder": str(found.folder),
        "sessionsOnDisk": found.sessions_on_disk,
        "byMode": {mode: _mode_object(one) for mode, one in found.by_mode.items()},
        "recordFiles": found.record_files,
        "recordBytes": found.record_bytes,
        "ownFiles": found.own_files,
        "ownBytes": found.own_bytes,
        "unreadable": list(found.unreadable),
    }


def _mode_object(one: ModeStatus) -> JsonObject:
    return {
        "indexed": one.indexed,
        "hot": one.hot,
        "cold": one.cold,
        "stale": one.stale,
        "incomplete": one.incomplete,
        "reasons": {
            reason: {"sessions": sessions, "meaning": REASONS.get(reason, reason)}
            for reason, sessions in one.reasons.items()
        },
        "skippedLines": one.skipped_lines,
    }


def _lines(found: MemoryStatus, *, is_on: bool) -> Iterator[str]:
    if not is_on:
        yield "Memory is switched off: memory.enabled is false."
    yield f"index     {home_path(str(found.folder))}"
    yield f"sessions  {found.sessions_on_disk:,} on the disk"
    for mode, one in found.by_mode.items():
        yield from _mode_lines(mode, one)
    yield f"records   {count(found.record_files, 'file', 'files')}, {_size(found.record_bytes)}"
    yield f"beside    {count(found.own_files, 'file', 'files')}, {_size(found.own_bytes)}"
    if found.unreadable:
        yield "These could not be looked at:"
    for path in found.unreadable[:MAX_LISTED]:
        yield f"  {home_path(path)}"
    yield from _more(len(found.unreadable))


def _mode_lines(mode: Branches, one: ModeStatus) -> Iterator[str]:
    if not one.indexed:
        options = "" if mode == "active" else f" --branches {mode}"
        yield f"{mode:<8}  nothing is indexed; a question does it, or:"
        yield f"          pi-fabric memory rebuild{options}"
        return
    yield one_paragraph(
        f"{mode:<8}  {one.indexed:,} indexed: {one.hot:,} hot (text), {one.cold:,} cold (words);"
        f" {one.stale:,} new or changed since",
        indent=10,
    )
    if one.incomplete:
        yield f"          {count(one.incomplete, 'session is', 'sessions are')} not wholly in the index:"
    for reason, sessions in sorted(one.reasons.items()):
        text = f"{' ' * 12}{sessions:,}: {REASONS.get(reason, reason)}"
        yield one_paragraph(text, indent=14)
    if one.skipped_lines:
        yield f"          left out: {count(one.skipped_lines, 'line that is', 'lines that are')} no JSON"


def _more(number: int) -> Iterator[str]:
    if number > MAX_LISTED:
        yield f"  and {number - MAX_LISTED:,} more; --json lists them all"


def _size(size_bytes: int) -> str:
    if size_bytes < _KIB:
        return count(size_bytes, "byte", "bytes")
    if size_bytes < _KIB**2:
        return f"{size_bytes / _KIB:,.1f} KiB"
    return f"{size_bytes / _KIB**2:,.1f} MiB"
