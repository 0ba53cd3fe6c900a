"""How Pi and Node are started here."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from pi_fabric.base.errors import Unavailable
from pi_fabric.certify.resume.gate import PI
from pi_fabric.host.pi.node import find_node
from pi_fabric.host.pi.program import FLOOR, PACKAGE, PiProgram, find_pi, inspect


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """What was found."""

    pi: tuple[str, ...]
    """Command line that starts Pi, without arguments."""
    pi_version: str
    node: Path


async def find_programs(environ: Mapping[str, str]) -> Programs:
    """Find Pi, and a Node that it can run on.

    Args:
        environ: `PI_FABRIC_PI` names Pi's executable or its `cli.js`; else the `pi` on PATH is taken.

    Raises:
        Unavailable: If one is missing, or Pi cannot be used.
    """
    node = await find_node(environ)
    program = await anyio.to_thread.run_sync(_program, environ)
    if program.number < FLOOR or program.strays:
        what = f"Pi {program.version} cannot be used ({program.executable})"
        raise Unavailable(what, "pi-fabric pi doctor says why")
    executable = str(program.executable)
    is_script = program.executable.suffix in (".js", ".mjs")
    command = (str(node), executable) if is_script else (executable,)
    return Programs(pi=command, pi_version=program.version, node=node)


def _program(environ: Mapping[str, str]) -> PiProgram:
    named = environ.get(PI)
    if named:
        program = inspect(Path(named).absolute()) if Path(named).is_file() else None
        if program is None:
            raise Unavailable(f"{PI} names no Pi: {named}", "name Pi's executable or its cli.js")
        return program
    program = find_pi(environ.get("PATH"))
    if program is None:
        raise Unavailable("there is no Pi on PATH", f"npm install --global {PACKAGE}, or set {PI}")
    return program
