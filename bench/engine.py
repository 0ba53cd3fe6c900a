"""The engine alone: no compiler, no action pipeline, a host that answers at once.

Each sample runs in an event loop of its own with a warm worker; the worker's start is not counted.
"""

import time
from collections.abc import Awaitable, Callable

import anyio
import psutil

from bench.rows import Row
from pi_fabric.base.clock import Deadline, SystemClock
from pi_fabric.base.jsonvalue import Json
from pi_fabric.runtime.engine import EngineResult, Program
from pi_fabric.runtime.engines.quickjs import QuickJsEngine

MEMORY_BYTES = 64 * 2**20
EMPTY = ""
IN_A_ROW = "for (let i = 0; i < 1000; i++) await tools.call({ ref: 'stub.echo', args: { i } });"
IN_PARALLEL = "await Promise.all(Array.from({ length: 1000 }, (_, i) => tools.call({ ref: 'stub.echo' })));"
# Before the sample: the first programs of a worker touch memory for the first time.
WARM_UPS = 3


class EchoHost:
    """Answers every call at once with its arguments."""

    async def call(self, ref: str, args: Json) -> Json:
        """The arguments."""
        del ref
        return args

    def notify(self, kind: str, payload: list[Json]) -> None:
        """Nothing."""


async def run_once(engine: QuickJsEngine, body: str) -> EngineResult:
    """Run a program and insist that it completed."""
    program = Program(javascript=f"async function program() {{{body}\n}}")
    deadline = Deadline(60, SystemClock())
    result = await engine.run(program, EchoHost(), deadline=deadline, memory_bytes=MEMORY_BYTES)
    if result.termination != "completed":
        raise RuntimeError(f"the benchmark's program failed: {result.error}")
    return result


async def timed(body: str, measure: Callable[[QuickJsEngine, str], Awaitable[float]]) -> float:
    """One sample with a warm engine."""
    async with QuickJsEngine(spare=False) as engine:
        for _ in range(WARM_UPS):
            await run_once(engine, body)
        return await measure(engine, body)


async def milliseconds(engine: QuickJsEngine, body: str) -> float:
    """Wall time of one run."""
    start = time.perf_counter()
    await run_once(engine, body)
    return (time.perf_counter() - start) * 1e3


def row(name: str, target: str, limit: float, body: str) -> Row:
    """A row that times one program."""
    return Row(
        name=name,
        target=target,
        limit=limit,
        unit="ms",
        measure=lambda: anyio.run(timed, body, milliseconds),
        breakdown=lambda: anyio.run(breakdown, body),
    )


async def breakdown(body: str) -> str:
    """Where the time of one run goes: our process, the worker, waiting for each other."""
    async with QuickJsEngine(spare=False) as engine:
        for _ in range(WARM_UPS):
            await run_once(engine, body)
        worker = psutil.Process().children()[0]
        before, host_before = worker.cpu_times(), time.process_time()
        # Ten runs: the kernel counts a process's time in hundredths of a second.
        start = time.perf_counter()
        for _ in range(10):
            await run_once(engine, body)
        wall_ms = (time.perf_counter() - start) * 1e2
        after, host_after = worker.cpu_times(), time.process_time()
        memory_mib = worker.memory_info().rss / 2**20
    host_ms = (host_after - host_before) * 1e2
    worker_ms = (after.user + after.system - before.user - before.system) * 1e2
    return (
        f"mean of 10: {wall_ms:.1f} ms wall = host {host_ms:.1f} + worker {worker_ms:.1f} "
        f"+ switching and load {wall_ms - host_ms - worker_ms:.1f}; worker {memory_mib:.0f} MiB"
    )


ROWS = {
    "engine-empty": row("engine-empty", "<= 6 ms [12]", 6, EMPTY),
    "engine-1000-in-a-row": row("engine-1000-in-a-row", "<= 140 ms [99-103]", 140, IN_A_ROW),
    "engine-1000-parallel": row("engine-1000-parallel", "<= 50 ms [78-89]", 50, IN_PARALLEL),
}
