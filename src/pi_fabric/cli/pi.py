"""`pi-fabric pi`: puts Fabric into the Pi coding agent and takes it out again."""

import os
from pathlib import Path

import typer

from pi_fabric.base.paths import agent_dir, shorten_home
from pi_fabric.cli.doctor import PiOption, report
from pi_fabric.cli.options import JsonOption, ProjectOption
from pi_fabric.cli.output import emit
from pi_fabric.host.pi.install import Installation
from pi_fabric.host.pi.install import install as put_in
from pi_fabric.host.pi.install import uninstall as take_out
from pi_fabric.host.pi.manifest import EXTENSION_DIR

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def pi() -> None:
    """Fabric inside the Pi coding agent."""


@app.command()
def install() -> None:
    """Put Fabric into Pi; repeat it after an upgrade."""
    done = put_in(agent_dir(os.environ))
    emit(_sentence(done, "Fabric is in Pi now", "Fabric was in Pi already"))
    for folder in done.replaced:
        emit(f"  in place of {_short(folder)}")
    if done.has_changed:
        emit("  start pi as always; `/fabric status` there shows that it works")


@app.command()
def uninstall() -> None:
    """Take Fabric out of Pi; other settings stay."""
    done = take_out(agent_dir(os.environ))
    emit(_sentence(done, "Fabric is out of Pi", "Fabric was not in Pi"))


@app.command()
def path() -> None:
    """Print the extension's folder, for `pi -e`."""
    emit(str(EXTENSION_DIR))


@app.command()
def doctor(as_json: JsonOption = False, cwd: ProjectOption = Path(), pi_program: PiOption = None) -> None:
    """Find what is wrong, and how to mend it."""
    report(cwd=cwd, pi=pi_program, as_json=as_json, has_engine=False)


def _sentence(done: Installation, changed: str, unchanged: str) -> str:
    return f"{changed if done.has_changed else unchanged} ({_short(done.settings)})."


def _short(path: Path) -> str:
    return shorten_home(path, os.environ)
