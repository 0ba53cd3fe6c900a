"""`pi-fabric doctor`: what is wrong, and the fix."""

import os
import textwrap
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Annotated

import anyio
import typer

from pi_fabric.base.errors import FabricError, Unavailable
from pi_fabric.base.jsonvalue import JsonObject, stringify
from pi_fabric.base.printable import printable
from pi_fabric.cli.options import JsonOption, ProjectOption
from pi_fabric.cli.output import TABLE_COLUMNS, ExitCode, emit
from pi_fabric.config import load_config
from pi_fabric.host.pi.checks import Finding, pi_findings
from pi_fabric.protocol.host import HostPorts

app = typer.Typer(add_completion=False, rich_markup_mode=None)

PiOption = Annotated[
    Path | None, typer.Option("--pi", help="Pi's executable; the one on PATH when not given.", exists=True)
]

# A start from cold takes seconds on a slow disk.
ENGINE_TIMEOUT_S = 30.0
_INDENT = " " * 9


@app.command()
def doctor(as_json: JsonOption = False, cwd: ProjectOption = Path(), pi_program: PiOption = None) -> None:
    """Find what is wrong and how to mend it; exit code 6 when something needed is missing."""
    report(cwd=cwd, pi=pi_program, as_json=as_json, has_engine=True)


def report(*, cwd: Path, pi: Path | None, as_json: bool, has_engine: bool) -> None:
    """Print every finding and end with the exit code that sums them up.

    Args:
        cwd: The project.
        pi: Pi's executable; None takes the one on PATH.
        as_json: One JSON object instead of lines.
        has_engine: Whether to look at the engine, the compiler and ripgrep too.
    """
    findings = anyio.run(_gather, cwd.absolute(), pi, has_engine)
    if as_json:
        emit(stringify({"findings": [_object(finding) for finding in findings]}, indent=2))
    else:
        emit("\n".join(line for finding in findings for line in _lines(finding)))
    if any(finding.status == "missing" for finding in findings):
        raise typer.Exit(ExitCode.UNAVAILABLE)


async def _gather(cwd: Path, pi: Path | None, has_engine: bool) -> Sequence[Finding]:
    findings = [finding async for finding in _engine_findings(cwd)] if has_engine else []
    findings += [finding async for finding in pi_findings(os.environ, cwd, pi=pi)]
    return findings


async def _engine_findings(cwd: Path) -> AsyncGenerator[Finding]:
    yield await _engine(cwd)
    yield await _compiler()
    yield await _ripgrep()


async def _engine(cwd: Path) -> Finding:
    from pi_fabric.compose import open_fabric  # noqa: PLC0415 - `pi doctor` does without the engine

    loaded = await anyio.to_thread.run_sync(lambda: load_config(cwd=cwd, environ=os.environ, trust=None))
    name = f"engine {loaded.config.executor.runtime}"
    try:
        with anyio.fail_after(ENGINE_TIMEOUT_S):
            async with open_fabric(ports=HostPorts(), config=loaded.config, cwd=cwd) as fabric:
                result = await fabric.execute({"code": "return 6 * 7"})
    except (FabricError, TimeoutError, ImportError) as error:
        text = str(error) or f"gave no answer within {ENGINE_TIMEOUT_S:.0f} s"
        return Finding(name=name, status="missing", text=text, fix="reinstall pi-fabric")
    if result.text != "42":
        return Finding(name=name, status="missing", text=result.text, fix="reinstall pi-fabric")
    return Finding(name=name, status="ok", text="runs a program")


async def _compiler() -> Finding:
    from pi_fabric.runtime.typescript import COMPILER_HINT, find_compiler  # noqa: PLC0415 - as above

    compiler = await find_compiler(os.environ)
    if compiler is None:
        text = "no TypeScript compiler: programs in TypeScript are refused, JavaScript runs unchecked"
        return Finding(name="compiler", status="note", text=text, fix=COMPILER_HINT)
    return Finding(name="compiler", status="ok", text=f"{compiler.version} ({compiler.path})")


async def _ripgrep() -> Finding:
    from pi_fabric.host.standalone.ripgrep import Ripgrep  # noqa: PLC0415 - as above

    try:
        program = await Ripgrep().locate()
    except Unavailable as error:
        return Finding(name="ripgrep", status="note", text=error.what, fix=error.hint)
    return Finding(name="ripgrep", status="ok", text=str(program))


def _object(finding: Finding) -> JsonObject:
    return {"name": finding.name, "status": finding.status, "text": finding.text, "fix": finding.fix or None}


def _lines(finding: Finding) -> list[str]:
    lines = textwrap.wrap(
        printable(f"{finding.status:<8} {finding.name}: {finding.text}"),
        TABLE_COLUMNS,
        subsequent_indent=_INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )
    # Not wrapped: a command must stay in one piece to be copied.
    return [*lines, f"{_INDENT}-> {printable(finding.fix)}"] if finding.fix else lines
