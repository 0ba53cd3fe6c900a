"""What Fabric adds to Pi's start, and what the sidecar weighs."""

import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import psutil
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from bench.rows import Row
from bench.sessions import SIZES, write_session
from pi_fabric.base.process import child_process
from pi_fabric.host.pi.channel import MAX_LINE_BYTES
from pi_fabric.host.pi.manifest import EXTENSION_DIR
from pi_fabric.host.pi.wire import PROTOCOL
from tools import install_pi
from tools.pi_rpc import pi_environment, pi_session, write_agent_dir
from tools.scripted_model import ScriptedModel

VERSION = install_pi.TARGET
# One start varies by a tenth of a second; a sample compares the medians of so many, less one.
STARTS = 5
SETTLE_S = 0.5


async def _start(folder: Path, model: ScriptedModel, arguments: list[str], *, is_ready: bool) -> float:
    """Milliseconds from Pi's spawn to its first answer, or to its first request to the model."""
    agent_dir = write_agent_dir(folder / "agent", model)
    extra = {"PI_FABRIC_PYTHON": sys.executable}
    extra |= {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    started_s = time.perf_counter()
    env = pi_environment(agent_dir, extra)
    async with pi_session(VERSION, cwd=folder, env=env, arguments=arguments) as pi:
        if is_ready:
            await pi.prompt("hi")
        else:
            await pi.command("get_state")
        return (time.perf_counter() - started_s) * 1000


def _added(*, is_ready: bool) -> Callable[[], float]:
    async def pairs() -> float:
        folder = Path(tempfile.mkdtemp(prefix="pi-fabric-bench-"))
        try:
            with ScriptedModel() as model:
                times: dict[bool, list[float]] = {False: [], True: []}
                for turn in range(2 * STARTS):
                    # Taking turns, and the first pair left out: a cold cache would favour the second.
                    has_ours = turn % 2 == turn // 2 % 2
                    ours = ["-e", str(EXTENSION_DIR)] if has_ours else []
                    elapsed_ms = await _start(folder, model, ours, is_ready=is_ready)
                    if turn >= 2:
                        times[has_ours].append(elapsed_ms)
                return statistics.median(times[True]) - statistics.median(times[False])
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def measure() -> float:
        anyio.run(install_pi.install, VERSION)
        return anyio.run(pairs)

    return measure


HELLO: dict[str, Any] = {
    "protocol": PROTOCOL, "piVersion": VERSION, "mode": "rpc", "cwd": str(Path.cwd()),
    "agentDir": tempfile.gettempdir(), "isTrusted": False, "hasUI": False,
}  # fmt: skip


@asynccontextmanager
async def _sidecar() -> AsyncGenerator[tuple[Process, psutil.Process]]:
    argv = [sys.executable, "-P", "-m", "pi_fabric.cli.sidecar"]
    async with child_process(argv, env=dict(os.environ)) as process:
        yield process, psutil.Process(process.pid)


@asynccontextmanager
async def _idle_sidecar() -> AsyncGenerator[psutil.Process]:
    async with _sidecar() as (process, seen):
        await _Line(process).ask("initialize", HELLO)
        # The engine opens after the first answer; what it then weighs is what stays.
        await anyio.sleep(SETTLE_S)
        yield seen


def _sidecar_rss_mib() -> float:
    async def measure() -> float:
        async with _idle_sidecar() as process:
            return process.memory_info().rss / 2**20

    return anyio.run(measure)


class _Line:
    """Pi's end of the line to an idle sidecar."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._send, self._stream = process.stdin.send, BufferedByteReceiveStream(process.stdout)

    async def tell(self, method: str, params: dict[str, Any]) -> None:
        await self._write({"method": method, "params": params})

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        await self._write({"id": method, "method": method, "params": params})
        while True:
            message = json.loads(await self._stream.receive_until(b"\n", MAX_LINE_BYTES))
            if message.get("id") == method:
                return message["result"]

    async def _write(self, message: dict[str, Any]) -> None:
        await self._send(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")


async def _first_compaction_ms(file: Path, ids: list[str]) -> float:
    """From the question to the answer, for the first compaction of a session that was followed."""
    place = {"file": str(file), "leafId": ids[-1]}
    question = {
        "file": str(file), "ids": ids, "tokensBefore": 150_000, "contextWindow": 200_000,
        "reason": "threshold", "settings": {"reserveTokens": 16_384, "keepRecentTokens": 20_000},
    }  # fmt: skip
    async with _sidecar() as (process, _):
        line = _Line(process)
        await line.ask("initialize", HELLO)
        await line.tell("session", place)
        # Answered when the file has been read.
        await line.ask("summarizeBranch", {"file": str(file), "ids": []})
        await anyio.sleep(SETTLE_S)
        started_s = time.perf_counter()
        answer = await line.ask("compact", question)
        elapsed_ms = (time.perf_counter() - started_s) * 1000
    if answer["kind"] != "compaction":
        raise RuntimeError(str(answer)[:200])
    return elapsed_ms


def _compaction_ms() -> float:
    entries, size_bytes = SIZES["5m"]
    with tempfile.TemporaryDirectory(prefix="pi-fabric-bench-") as folder:
        file = Path(folder, "session.jsonl")
        write_session(file, entries=entries, size_bytes=size_bytes, seed=1)
        lines = [json.loads(line) for line in file.read_bytes().split(b"\n")[1:] if line]
        return anyio.run(_first_compaction_ms, file, [line["id"] for line in lines])


def _children() -> str:
    async def measure() -> str:
        async with _idle_sidecar() as process:
            children = process.children(recursive=True)
            return f"{len(children)} child processes while idle"

    return anyio.run(measure)


ROWS = {
    row.name: row
    for row in (
        Row(
            name="pi-start",
            target="<= 100 ms added, not awaited",
            limit=100,
            unit="ms",
            measure=_added(is_ready=False),
        ),
        Row(
            name="pi-ready",
            target="<= 400 ms added, until ready",
            limit=400,
            unit="ms",
            measure=_added(is_ready=True),
        ),
        Row(
            name="sidecar-memory",
            target="<= 80 MiB RSS",
            limit=80,
            unit="MiB",
            measure=_sidecar_rss_mib,
            breakdown=_children,
        ),
        Row(
            name="pi-compaction",
            target="<= 30 ms, 5 MB session followed",
            limit=30,
            unit="ms",
            measure=_compaction_ms,
        ),
    )
}
