"""Compiling a compaction: from decoded entries to the summary, without reading the file.

Entries are decoded once; each sample compiles the whole branch anew.
"""

import gc
import tempfile
import time
from functools import cache
from pathlib import Path

from bench.rows import Row
from bench.sessions import FULL_TOKENS, SIZES, write_session
from pi_fabric.base.jsonvalue import JsonObject, decode
from pi_fabric.compaction.budget import read_budget
from pi_fabric.compaction.compile import CompactionEvent, compile_summary
from pi_fabric.compaction.cut import Empty, find_live_cut
from pi_fabric.compaction.outcome import Compiled
from pi_fabric.compaction.projections import PROJECTIONS, Source
from pi_fabric.history.events.normalize import normalize

SEED = 7
WINDOW = 200_000


@cache
def event(size: str) -> CompactionEvent:
    """What the host would send for a session of that size."""
    entries, size_bytes = SIZES[size]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        write_session(path, entries=entries, size_bytes=size_bytes, seed=SEED)
        lines = path.read_bytes().rstrip(b"\n").split(b"\n")
    branch: list[JsonObject] = [decode(line) for line in lines[1:]]
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
    return milliseconds("50m") / milliseconds("5m")


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


def row(name: str, size: str, limit: float, original: str) -> Row:
    """A row that times one compile."""
    return Row(
        name=name,
        target=f"<= {limit:g} ms [{original}]",
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
        breakdown=lambda: breakdown("50m"),
    ),
}
