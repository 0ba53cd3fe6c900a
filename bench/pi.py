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

from bench.rows import Row
from pi_fabric.base.process import child_process
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


@asynccontextmanager
async def _idle_sidecar() -> AsyncGenerator[psutil.Process]:
    hello: dict[str, Any] = {
        "protocol": PROTOCOL, "piVersion": VERSION, "mode": "rpc", "cwd": str(Path.cwd()),
        "agentDir": tempfile.gettempdir(), "isTrusted": False, "hasUI": False,
    }  # fmt: skip
    frame = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    argv = [sys.executable, "-P", "-m", "pi_fabric.cli.sidecar"]
    async with child_process(argv, env=dict(os.environ)) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        await process.stdin.send(json.dumps(frame).encode() + b"\n")
        await process.stdout.receive()
        # The engine opens after the first answer; what it then weighs is what stays.
        await anyio.sleep(SETTLE_S)
        yield psutil.Process(process.pid)


def _sidecar_rss_mib() -> float:
    async def measure() -> float:
        async with _idle_sidecar() as process:
            return process.memory_info().rss / 2**20

    return anyio.run(measure)


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
    )
}
