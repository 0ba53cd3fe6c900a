"""Write the reference pages from what the code declares: `python tools/reference.py [--check]`.

With `--check` nothing is written; a page that differs is named and the exit code is 1.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from pi_fabric.base.jsonvalue import JsonObject, stringify
from pi_fabric.cli.commands import COMMANDS
from pi_fabric.cli.output import ExitCode
from pi_fabric.config import KEYS
from pi_fabric.config.keys import plain
from pi_fabric.protocol.actions import Action, CallShape
from pi_fabric.providers import compact, memory, pi

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"
GENERATED = "<!-- Written by `make docs`; change the declarations in the code instead. -->"


def pages() -> dict[str, str]:
    """Every generated page by file name."""
    return {
        "configuration.md": "\n".join(_configuration()) + "\n",
        "actions.md": "\n".join(_actions()) + "\n",
        "commands.md": "\n".join(_commands()) + "\n",
    }


def main() -> int:
    """Write or check the pages; returns the exit code."""
    differing = [
        name for name, text in pages().items() if not _path(name).exists() or _path(name).read_text() != text
    ]
    if "--check" in sys.argv:
        for name in differing:
            print(f"docs/reference/{name} is out of date: run `make docs`")
        return 1 if differing else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in differing:
        _path(name).write_text(pages()[name])
        print(f"wrote docs/reference/{name}")
    return 0


def _path(name: str) -> Path:
    return FOLDER / name


def _configuration() -> Iterator[str]:
    yield from ("# Configuration keys", "", GENERATED, "")
    yield "`~/.pi/agent/fabric.json` holds your defaults, `<project>/.pi/fabric.json` a trusted project's."
    yield "[The guide](../guide/configuration.md) explains layers and trust."
    yield from ("", "| key | value | default | meaning |", "| --- | --- | --- | --- |")
    for key in KEYS:
        default = plain(key.kind.initial())
        shown = "not set" if default is None else f"`{stringify(default)}`"
        yield f"| `{key.name}` | {key.kind.hint} | {shown} | {key.description} |"


def _actions() -> Iterator[str]:
    yield from ("# Actions", "", GENERATED, "")
    yield "What a program can call today; `tools.describe({ ref })` says the same inside a program."
    for provider, actions in (
        (pi.PiProvider, pi.ACTIONS),
        (compact.CompactProvider, compact.ACTIONS),
        (memory.MemoryProvider, memory.ACTIONS),
    ):
        yield from ("", f"## `{provider.name}`", "", provider.description)
        for action in actions:
            yield from _action(provider.name, action)


def _action(provider: str, action: Action) -> Iterator[str]:
    yield from ("", f"### `{provider}.{action.name}`", "", action.description, "")
    yield f"Risk: {action.risk}. Returns: `{action.returns}`."
    properties: JsonObject = action.input_schema.get("properties", {})
    required: list[str] = action.input_schema.get("required", [])
    yield from ("", "| argument | type | also | meaning |", "| --- | --- | --- | --- |")
    shape = action.shape or CallShape()
    for name, schema in properties.items():
        mark = "" if name in required else "?"
        others = ", ".join(f"`{alias}`" for alias in shape.aliases.get(name, ()))
        yield f"| `{name}{mark}` | {schema.get('type', 'any')} | {others} | {schema.get('description', '')} |"


def _commands() -> Iterator[str]:
    yield from ("# Commands", "", GENERATED, "", "| command | does | example |", "| --- | --- | --- |")
    for name, command in COMMANDS.items():
        yield f"| `pi-fabric {name}` | {command.summary} | `pi-fabric {command.example}` |"
    yield from ("", "## Exit codes", "", "| code | name |", "| --- | --- |")
    for code in ExitCode:
        yield f"| {code.value} | {code.name.lower().replace('_', ' ')} |"


if __name__ == "__main__":
    sys.exit(main())
