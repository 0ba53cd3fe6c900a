"""Compiling a compaction: from decoded entries to the summary, without reading the file.

Entries are decoded once; each sample compiles the whole branch anew.
"""

import gc
import statistics
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

from bench.rows import Row
from bench.sessions import FULL_TOKENS, SIZES, write_session
from bench.shell import COMMAND
from pi_fabric.compaction.budget import read_budget
from pi_fabric.compaction.compile import CompactionEvent, compile_summary
from pi_fabric.compaction.cut import Empty, find_live_cut
from pi_fabric.compaction.outcome import Compiled
from pi_fabric.compaction.projections import PROJECTIONS, Source
from pi_fabric.history.events.normalize import normalize
from pi_fabric.history.session import read_session

SEED = 7
WINDOW = 200_000
# Peak memory of a process that compacts a file, in sizes of the file.
MAX_MEMORY_TIMES = 4
# A process that is small itself: a child's peak begins with what its parent held when it was forked.
PEAK_OF = """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


@cache
def event(size: str) -> CompactionEvent:
    """What the host would send for a session of that size."""
    entries, size_bytes = SIZES[size]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        write_session(path, entries=entries, size_bytes=size_bytes, seed=SEED)
        branch = read_session(path).branch()
    return CompactionEvent(
        entries=branch, tokens_before=FULL_TOKENS, context_window=WINDOW, target_ratio=0.65
    )


def milliseconds(size: str) -> float:
    """Wall time of one compile, garbage of earlier ones collected before."""
    given = event(size)
    gc.collect()
    start = time.perf_counter()
    outcome = compile_summary(given)
    elapsed_ms = (time.perf_counter() - start) * 1e3
    if not isinstance(outcome, Compiled):
        raise RuntimeError(f"the benchmark's session was not compacted: {outcome.cause}")
    return elapsed_ms


def ratio() -> float:
    """How many times as long ten times the entries take."""
    small = statistics.median(milliseconds("5m") for _ in range(3))
    return milliseconds("50m") / small


def breakdown(size: str) -> str:
    """Where the time of one compile goes."""
    given = event(size)
    stages: list[tuple[str, float]] = []
    start = time.perf_counter()

    def stop(name: str) -> None:
        nonlocal start
        stages.append((name, (time.perf_counter() - start) * 1e3))
        start = time.perf_counter()

    budget = read_budget(context_window=WINDOW, target_ratio=0.65, settings=None)
    cut = find_live_cut(given.entries, tokens_before=given.tokens_before, budget=budget)
    stop("cut")
    events = normalize(given.entries[: len(given.entries) if isinstance(cut, Empty) else cut.source_end])
    stop("normalize")
    source = Source.of(events)
    stop("pair")
    for projection in PROJECTIONS:
        stop(projection(source).name)
    return ", ".join(f"{name} {elapsed_ms:.1f}" for name, elapsed_ms in stages) + " ms"


def peak() -> str:
    """What a new process holds at most that reads and compacts the large session."""
    entries, size_bytes = SIZES["50m"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        write_session(path, entries=entries, size_bytes=size_bytes, seed=SEED)
        file_bytes = path.stat().st_size
        argv = [COMMAND, "compact", str(path), "--window", str(WINDOW)]
        measured = subprocess.run([sys.executable, "-c", PEAK_OF, *argv], check=True, capture_output=True)
    # Linux counts in KiB, macOS in bytes.
    peak_bytes = int(measured.stdout) * (1 if sys.platform == "darwin" else 1024)
    times = peak_bytes / file_bytes
    verdict = "ok" if times <= MAX_MEMORY_TIMES else "MISSED"
    return f"peak {peak_bytes / 1e6:.0f} MB, {times:.1f} x the file (<= {MAX_MEMORY_TIMES} x) {verdict}"


def row(name: str, size: str, limit: float, reference: str) -> Row:
    """A row that times one compile."""
    return Row(
        name=name,
        target=f"<= {limit:g} ms [{reference}]",
        limit=limit,
        unit="ms",
        measure=lambda: milliseconds(size),
        breakdown=lambda: breakdown(size),
    )


ROWS = {
    "compact-330k": row("compact-330k", "330k", 8, "2.5"),
    "compact-5mb": row("compact-5mb", "5m", 110, "42"),
    "compact-50mb": Row(
        name="compact-50mb",
        target="<= 12 x compact-5mb",
        limit=12,
        unit="times",
        measure=ratio,
        breakdown=lambda: f"{breakdown('50m')}\n{peak()}",
    ),
}
