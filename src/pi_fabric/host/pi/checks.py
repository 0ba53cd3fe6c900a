"""What can be wrong between Pi and Fabric, each with its fix. Changes nothing."""

import shutil
import sys
import time
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from pi_fabric.base.errors import ConfigError
from pi_fabric.base.jsonvalue import Json, JsonObject, decode, encode, is_array, is_object
from pi_fabric.base.paths import agent_dir
from pi_fabric.base.process import PIPE, child_process
from pi_fabric.config.jsonfile import read_json_object
from pi_fabric.config.trust import TrustState, stored_trust
from pi_fabric.host.pi.install import is_installed, python_path
from pi_fabric.host.pi.node import NODE_FLOOR, node_version, version_number
from pi_fabric.host.pi.program import FLOOR, PACKAGE, PARTS, PIPELINE, PiProgram, find_pi, inspect
from pi_fabric.host.pi.wire import PROTOCOL

Status = Literal["ok", "note", "missing"]
# Pi itself waits this long for the first answer.
START_TIMEOUT_S = 15.0
MAX_LINE_BYTES = 1024 * 1024
_TRUST = {
    "stored": "trusted by your decision",
    "default": "trusted by default alone: settings that widen what programs may do are left out",
    "untrusted": "not trusted: its fabric.json is not read",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    name: str
    status: Status
    """`missing` means that Fabric cannot work without it; `note` is worth knowing."""
    text: str
    fix: str = ""
    """What to do; empty when there is nothing to do."""


async def pi_findings(
    environ: Mapping[str, str], cwd: Path, *, pi: Path | None = None
) -> AsyncGenerator[Finding]:
    """Look at everything that Pi needs, in the order in which one would mend it.

    Args:
        environ: Environment that Pi would have.
        cwd: The project.
        pi: Pi's executable; None takes the one on PATH.
    """
    folder = agent_dir(environ)
    yield await _node(environ)
    program = await anyio.to_thread.run_sync(_program, environ, pi)
    for finding in _pi(program):
        yield finding
    yield await anyio.to_thread.run_sync(_listed, folder)
    python, finding = await anyio.to_thread.run_sync(_interpreter, environ, folder)
    yield finding
    trust = (await anyio.to_thread.run_sync(stored_trust, cwd, environ)).state
    for finding in await _sidecar(python, environ, cwd, trust):
        yield finding
    fix = "" if trust == "stored" else "start pi there and use /trust, if you trust its authors"
    yield Finding(name="project trust", status="note" if fix else "ok", text=_TRUST[trust], fix=fix)


async def _node(environ: Mapping[str, str]) -> Finding:
    found = await anyio.to_thread.run_sync(lambda: shutil.which("node", path=environ.get("PATH")))
    fix = f"install Node {NODE_FLOOR[0]}.{NODE_FLOOR[1]} or later, which Pi runs on"
    if found is None:
        return Finding(name="node", status="missing", text="there is no node on PATH", fix=fix)
    version = await node_version(Path(found), environ)
    text = f"{version or 'no version'} ({found})"
    if version_number(version) < NODE_FLOOR:
        return Finding(name="node", status="missing", text=f"{text} is too old", fix=fix)
    return Finding(name="node", status="ok", text=text)


def _program(environ: Mapping[str, str], pi: Path | None) -> PiProgram | None:
    return find_pi(environ.get("PATH")) if pi is None else inspect(pi)


def _pi(program: PiProgram | None) -> list[Finding]:
    if program is None:
        fix = f"npm install --global {PACKAGE}"
        return [Finding(name="pi", status="missing", text="there is no Pi on PATH", fix=fix)]
    text = f"{program.version} ({program.executable})"
    if program.number < FLOOR:
        floor = ".".join(map(str, FLOOR))
        fix = f"update Pi to {floor} or later: npm install --global {PACKAGE}@latest"
        return [Finding(name="pi", status="missing", text=text, fix=fix)]
    findings = [Finding(name="pi", status="ok", text=text)]
    if program.strays:
        scope, _, agent = PACKAGE.partition("/")
        pins = " ".join(f"{scope}/{name}@{program.version}" for name in (agent, *PARTS))
        findings.append(
            Finding(
                name="pi's parts",
                status="missing",
                text=f"{', '.join(program.strays)} beside Pi {program.version}: Pi will not start",
                fix=f"npm install --global --ignore-scripts {pins}",
            )
        )
    if program.number < PIPELINE:
        findings.append(
            Finding(
                name="tool hooks",
                status="note",
                text="this Pi does not run other extensions' tool hooks (permission gates among them) "
                "around its built-in tools when a program calls them",
                fix="update Pi to 1.x if you rely on such an extension",
            )
        )
    return findings


def _listed(folder: Path) -> Finding:
    fix = "pi-fabric pi install"
    try:
        is_there = is_installed(folder)
    except ConfigError as error:
        return Finding(name="extension", status="missing", text=error.message, fix=f"mend it, then: {fix}")
    if not is_there:
        text = f"Pi's settings in {folder} do not list it"
        return Finding(name="extension", status="missing", text=text, fix=fix)
    return Finding(name="extension", status="ok", text=f"listed in {folder / 'settings.json'}")


def _interpreter(environ: Mapping[str, str], folder: Path) -> tuple[str, Finding]:
    file = python_path(folder)
    chosen, origin = environ.get("PI_FABRIC_PYTHON"), "PI_FABRIC_PYTHON"
    if not chosen:
        written = read_json_object(file).value.get("python")
        chosen, origin = (written if isinstance(written, str) else ""), str(file)
    if not chosen:
        text = "not written down; the extension looks for one by itself"
        return sys.executable, Finding(name="python", status="note", text=text, fix="pi-fabric pi install")
    if shutil.which(chosen, path=environ.get("PATH")) is None:
        fix = "unset it" if origin == "PI_FABRIC_PYTHON" else "pi-fabric pi install"
        text = f"{chosen} (from {origin}) is not there"
        return chosen, Finding(name="python", status="missing", text=text, fix=fix)
    return chosen, Finding(name="python", status="ok", text=f"{chosen} (from {origin})")


async def _sidecar(python: str, environ: Mapping[str, str], cwd: Path, trust: TrustState) -> list[Finding]:
    started_s = time.monotonic()
    try:
        info, words = await _start(python, environ, cwd, trust)
    except OSError as error:
        info, words = None, str(error)
    if info is None:
        text = f"does not start: {words.strip()[-400:] or 'no answer'}"
        fix = f"see what this prints: {python} -P -m pi_fabric.cli.sidecar </dev/null"
        return [Finding(name="sidecar", status="missing", text=text, fix=fix)]
    elapsed_ms = (time.monotonic() - started_s) * 1000
    text = f"pi-fabric {info.get('version')} answers after {elapsed_ms:.0f} ms"
    notices: Json = info.get("notices")
    texts = [str(notice) for notice in notices] if is_array(notices) else []
    found = [Finding(name="configuration", status="note", text=notice) for notice in texts]
    return [Finding(name="sidecar", status="ok", text=text), *found]


async def _start(
    python: str, environ: Mapping[str, str], cwd: Path, trust: TrustState
) -> tuple[JsonObject | None, str]:
    """The answer to `initialize`, or nothing and the words that explain it."""
    hello: JsonObject = {
        "protocol": PROTOCOL, "piVersion": "doctor", "mode": "print", "cwd": str(cwd),
        "agentDir": str(agent_dir(environ)), "isTrusted": trust != "untrusted", "hasUI": False,
    }  # fmt: skip
    frame = encode({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
    argv = [python, "-P", "-m", "pi_fabric.cli.sidecar"]
    async with child_process(argv, cwd=cwd, env=environ, stderr=PIPE) as process:
        with anyio.move_on_after(START_TIMEOUT_S):
            try:
                return _answer(await _exchange(process, frame))
            except (anyio.BrokenResourceError, anyio.EndOfStream, anyio.IncompleteRead):
                assert process.stderr is not None
                words = b"".join([chunk async for chunk in process.stderr])
                return None, words.decode("utf-8", "replace")
            except anyio.DelimiterNotFound:
                return None, "what it writes is no frame"
    return None, f"no answer within {START_TIMEOUT_S:.0f} s"


async def _exchange(process: Process, frame: bytes) -> bytes:
    assert process.stdin is not None
    assert process.stdout is not None
    await process.stdin.send(frame + b"\n")
    return await BufferedByteReceiveStream(process.stdout).receive_until(b"\n", MAX_LINE_BYTES)


def _answer(line: bytes) -> tuple[JsonObject | None, str]:
    try:
        message = decode(line)
    except ValueError:
        return None, f"its first line is no frame: {line[:80]!r}"
    if not is_object(message):
        return None, f"its first line is no frame: {line[:80]!r}"
    result, error = message.get("result"), message.get("error")
    if is_object(result):
        return result, ""
    return None, str(error.get("message")) if is_object(error) else "its answer is empty"
