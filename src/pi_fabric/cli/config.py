"""`pi-fabric config`: what is configured, and where each value comes from."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pi_fabric.base.jsonvalue import Json, JsonObject, stringify
from pi_fabric.base.paths import shorten_home
from pi_fabric.base.printable import printable
from pi_fabric.cli.options import JsonOption, ProjectOption
from pi_fabric.cli.output import emit, table_console, working_folder
from pi_fabric.config import KEYS, LoadedConfig, load_config
from pi_fabric.config.keys import plain

if TYPE_CHECKING:
    from rich.table import Table

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None)

# A screenful; what is more is in the JSON.
MAX_LISTED = 20
TRUST_SENTENCES = {
    "stored": "trusted by your decision",
    "default": "trusted by default; keys that widen what programs may do are left out",
    "untrusted": "not trusted; its files are not read",
}


@app.callback()
def config() -> None:
    """Look at the configuration."""


@app.command()
def show(
    as_json: JsonOption = False,
    cwd: ProjectOption = Path(),
) -> None:
    """Show every value in force and where it was set."""
    loaded = load_config(cwd=working_folder(cwd), environ=os.environ, trust=None)
    if as_json:
        emit(stringify(as_object(loaded), indent=2))
        return
    with table_console() as console:
        console.print(_table(loaded))
        for line in _remarks(loaded):
            console.print(printable(line), soft_wrap=not console.is_terminal)


def as_object(loaded: LoadedConfig) -> JsonObject:
    """Everything that `show` knows, for machines."""
    return {
        "config": loaded.config.to_json(),
        "keys": {key.name: _key_object(loaded, key.name, key.value_in(loaded.config)) for key in KEYS},
        "trust": loaded.trust,
        "files": [
            {"layer": file.layer, "path": str(file.path), "state": file.state} for file in loaded.files
        ],
        "corrections": [
            {
                "key": fault.key,
                "file": _text(fault.file),
                "given": fault.given,
                "used": fault.used,
                "reason": fault.reason,
            }
            for fault in loaded.corrections
        ],
        "notices": [{"message": notice.message, "file": _text(notice.file)} for notice in loaded.notices],
    }


def _key_object(loaded: LoadedConfig, name: str, value: object) -> JsonObject:
    origin = loaded.origins[name]
    return {
        "value": plain(value),
        "origin": origin.layer,
        "file": _text(origin.file),
        "variable": origin.variable,
    }


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _table(loaded: LoadedConfig) -> "Table":
    from rich.table import Table  # noqa: PLC0415 - only people see it

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("KEY", no_wrap=True)
    table.add_column("VALUE", overflow="fold")
    table.add_column("FROM", no_wrap=True)
    corrected = {fault.path for fault in loaded.corrections}
    for key in KEYS:
        layer = loaded.origins[key.name].layer
        mark = " *" if any(path[: len(key.path)] == key.path for path in corrected) else ""
        style = "dim" if layer == "default" and not mark else ""
        table.add_row(key.name, _value_text(plain(key.value_in(loaded.config))), layer + mark, style=style)
    return table


def _value_text(value: Json) -> str:
    if value is None:
        return "(not set)"
    return printable(value if isinstance(value, str) else stringify(value))


def _remarks(loaded: LoadedConfig) -> Iterator[str]:
    yield ""
    states = {"absent": " (not there)", "unusable": " (ignored)", "untrusted": " (not read)"}
    for file in loaded.files:
        yield f"{file.layer:<8} {shorten_home(file.path, os.environ)}{states.get(file.state, '')}"
    yield f"{'trust':<8} {TRUST_SENTENCES[loaded.trust]}"
    if loaded.corrections:
        yield from ("", "* corrected:")
    for fault in loaded.corrections[:MAX_LISTED]:
        where = f"{shorten_home(fault.file, os.environ)}: " if fault.file else ""
        yield f"  {where}{fault.message}"
    if len(loaded.corrections) > MAX_LISTED:
        yield f"  and {len(loaded.corrections) - MAX_LISTED} more; --json lists them all"
    if loaded.notices:
        yield from ("", "Notices:")
    for notice in loaded.notices:
        where = f"{shorten_home(notice.file, os.environ)}: " if notice.file else ""
        yield f"  {where}{notice.message}"
