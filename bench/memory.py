"""Recall over many sessions: making the index, asking it again, and what both cost in memory and on disk.

Every process is new; sessions lie in the cache of the file system. Where a row says cold there is no index;
elsewhere there is one, which is made once for all rows.
"""

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import psutil

from bench.compaction import PEAK_OF
from bench.corpora import COLD_WORD, COMMON_WORDS, CORPORA, HOT_WORD, described
from bench.rows import Row
from bench.shell import COMMAND

FOLDER = tempfile.TemporaryDirectory()
RECALLING = str(Path(__file__).with_name("recalling.py"))
MIB = 2**20

RARE: dict[str, Any] = {"query": COLD_WORD, "scope": "global"}
HOT: dict[str, Any] = {"query": HOT_WORD, "scope": "global"}
COMMON: dict[str, Any] = {"query": COMMON_WORDS, "scope": "global"}
BROWSE: dict[str, Any] = {"scope": "global"}
# Measured calls of one process, after one that is not measured.
CALLS = 15
CALLS_FOR_P95 = 40
EXPANDED = 40
# Often enough to see what lives for some hundredths of a second, rarely enough to cost little.
SAMPLING_S = 0.025


def command(word: str) -> list[str]:
    """The process that recalls a word."""
    return [COMMAND, "recall", word, "--scope", "global", "--json"]


@contextmanager
def fresh_agent(corpus: str) -> Generator[Path]:
    """An agent's folder with the sessions of a corpus and no index."""
    sessions = CORPORA[corpus].made()
    with tempfile.TemporaryDirectory(dir=FOLDER.name) as folder:
        (Path(folder) / "sessions").symlink_to(sessions)
        yield Path(folder)


@cache
def indexed_agent(corpus: str) -> Path:
    """The same with an index of all sessions."""
    folder = Path(FOLDER.name) / corpus
    folder.mkdir()
    (folder / "sessions").symlink_to(CORPORA[corpus].made())
    recall(folder, COLD_WORD)
    return folder


def environment(agent: Path) -> dict[str, str]:
    """Of a process that is to know no other sessions."""
    return os.environ | {"PI_CODING_AGENT_DIR": str(agent), "HOME": str(agent)}


def recall(agent: Path, word: str) -> tuple[float, dict[str, Any]]:
    """Seconds of a process that recalls a word of one session, and the coverage of its answer."""
    start = time.perf_counter()
    done = subprocess.run(command(word), check=True, env=environment(agent), capture_output=True)
    elapsed_s = time.perf_counter() - start
    answer = json.loads(done.stdout)
    insist(answer["totalItems"] == 1, f"{word} was found {answer['totalItems']} times, not once")
    return elapsed_s, answer["coverage"]


def insist(is_right: bool, problem: str) -> None:
    """Stop the bench when memory answers wrongly: such an answer has no speed."""
    if not is_right:
        raise RuntimeError(f"memory answered wrongly: {problem}")


def cold(corpus: str) -> float:
    """Seconds of a process that makes the index and answers."""
    with fresh_agent(corpus) as agent:
        return recall(agent, COLD_WORD)[0]


def cold_parts(corpus: str) -> str:
    """Where the time of making the index goes, in a process that is asked twice."""
    with fresh_agent(corpus) as agent:
        told = ask(agent, [["recall", RARE]] * 2)
    made_ms, (first_ms, second_ms) = told["made_ms"][0], told["ms"]
    return (
        f"listing and making records {made_ms / 1e3:.2f}, merging, cleaning and answering "
        f"{(first_ms - made_ms) / 1e3:.2f}, the next recall {second_ms / 1e3:.2f} s; {described(corpus)}"
    )


def missing(corpus: str) -> float:
    """Sessions that one recall did not index."""
    with fresh_agent(corpus) as agent:
        coverage = recall(agent, COLD_WORD)[1]
    insist(coverage["eligibleSessions"] == CORPORA[corpus].sessions, f"not all sessions are seen: {coverage}")
    return coverage["eligibleSessions"] - coverage["indexedSessions"]


def again(corpus: str) -> float:
    """Milliseconds of a process that only answers."""
    return recall(indexed_agent(corpus), COLD_WORD)[0] * 1e3


def calls_of(args: dict[str, Any], count: int) -> list[Any]:
    """The same recall, once before the measured ones."""
    return [["recall", args]] * (1 + count)


def in_process(corpus: str, calls: Sequence[Any]) -> tuple[list[float], list[int]]:
    """Milliseconds of each call but the first, and what each found, in one new process."""
    told = ask(indexed_agent(corpus), calls)
    return told["ms"][1:], told["found"][1:]


def ask(agent: Path, calls: Sequence[Any]) -> dict[str, Any]:
    """What one process tells that makes these calls."""
    argv = [sys.executable, RECALLING, str(agent), json.dumps(calls)]
    return json.loads(subprocess.run(argv, check=True, env=environment(agent), capture_output=True).stdout)


def warm(corpus: str, args: dict[str, Any], count: int = CALLS) -> list[float]:
    """Milliseconds of recalls of a process that has answered before."""
    times, found = in_process(corpus, calls_of(args, count))
    sessions = CORPORA[corpus].sessions
    if args in (RARE, HOT):
        insist(set(found) == {1}, f"{args['query']} was found {sorted(set(found))} times, not once")
    else:
        insist(min(found) > 0.9 * sessions, f"{args} gave {min(found)} items of {sessions} sessions")
    return times


def warm_median(corpus: str, args: dict[str, Any]) -> float:
    """The median of one process."""
    return statistics.median(warm(corpus, args))


def warm_p95(corpus: str, args: dict[str, Any]) -> float:
    """What 95 of 100 calls do not exceed."""
    return statistics.quantiles(warm(corpus, args, CALLS_FOR_P95), n=20, method="inclusive")[-1]


def variants(corpus: str) -> str:
    """The same in full, and other questions."""
    asked = {
        "rare, hot session": HOT,
        "rare, in full": RARE | {"detail": "full"},
        "common, in full": COMMON | {"detail": "full"},
    }
    medians = (f"{name} {measured(corpus, args):.1f}" for name, args in asked.items())
    return f"{', '.join(medians)} ms; {described(corpus)}"


def measured(corpus: str, args: dict[str, Any]) -> float:
    """A median that no target is about."""
    return statistics.median(in_process(corpus, calls_of(args, CALLS))[0])


def expand() -> float:
    """Milliseconds that opening one entry of a large session takes; each call opens another one."""
    path = CORPORA["b"].files()[-1]
    ids = [json.loads(line)["id"] for line in path.read_bytes().splitlines() if b'"role"' in line]
    chosen = random.Random(1).sample(ids, EXPANDED + 1)
    session = indexed_agent("b") / "sessions" / path.parent.name / path.name
    calls = [["expand", {"session": str(session), "entryIds": [one]}] for one in chosen]
    times, found = in_process("b", calls)
    insist(set(found) == {1}, "an entry was not opened")
    return statistics.median(times)


@dataclass(slots=True)
class Peak:
    """The most memory that a process and its workers held, in MiB."""

    together: float = 0.0
    """All at one moment; sampled. What several map counts for each of them."""
    single: float = 0.0
    """The largest of them at any moment, as the system counted it."""


LAST_PEAK: dict[str, Peak] = {}


def peak_of(name: str, argv: Sequence[str], agent: Path) -> float:
    """The most that a command and its workers hold together, in MiB."""
    # The process between is small itself: a child's peak begins with what its parent held.
    watched = [sys.executable, "-c", PEAK_OF, *argv]
    peak = Peak()
    with subprocess.Popen(watched, env=environment(agent), stdout=subprocess.PIPE, text=True) as between:
        while between.poll() is None:
            peak.together = max(peak.together, held_below(between.pid))
            time.sleep(SAMPLING_S)
        insist(between.returncode == 0, f"{argv[:3]} failed")
        assert between.stdout is not None
        # Linux counts in KiB, macOS in bytes.
        peak.single = int(between.stdout.read()) * (1 if sys.platform == "darwin" else 1024) / MIB
    peak.together = max(peak.together, peak.single)
    LAST_PEAK[name] = peak
    return peak.together


def held_below(pid: int) -> float:
    """What the descendants of a process hold now, in MiB."""
    held = 0
    try:
        for child in psutil.Process(pid).children(recursive=True):
            try:
                held += child.memory_info().rss
            except psutil.Error:
                # It ended since it was listed.
                continue
    except psutil.Error:
        return 0.0
    return held / MIB


def cold_peak(corpus: str) -> float:
    """MiB of making the index."""
    with fresh_agent(corpus) as agent:
        held = peak_of(f"cold {corpus}", command(COLD_WORD), agent)
        recall(agent, COLD_WORD)
        return held


def warm_peak(corpus: str) -> float:
    """MiB of a process that only recalls."""
    agent = indexed_agent(corpus)
    calls = json.dumps(calls_of(RARE, 10) + calls_of(COMMON, 2))
    return peak_of(f"warm {corpus}", [sys.executable, RECALLING, str(agent), calls], agent)


def largest(name: str) -> str:
    """The largest process of the last sample."""
    return f"largest single process {LAST_PEAK[name].single:.0f} MiB"


def index_folder(corpus: str) -> Path:
    """Where the index of a corpus is."""
    return indexed_agent(corpus) / "fabric" / "memory-index"


def records_size(corpus: str) -> float:
    """MB of the records, which are the specification's."""
    return sum(path.stat().st_size for path in index_folder(corpus).glob("*.json")) / 1e6


def own_size(corpus: str) -> str:
    """What lies beside the records."""
    by_kind: dict[str, int] = {}
    for path in index_folder(corpus).glob("*/*"):
        by_kind[path.suffix] = by_kind.get(path.suffix, 0) + path.stat().st_size
    kinds = ", ".join(f"{kind or 'lock'} {size / 1e6:.1f}" for kind, size in sorted(by_kind.items()))
    return f"our own files {sum(by_kind.values()) / 1e6:.1f} MB: {kinds}; {described(corpus)}"


def row(
    name: str,
    limit: float,
    unit: str,
    measure: Callable[[], float],
    breakdown: Callable[[], str] | None = None,
    *,
    target: str = "",
    samples: int = 5,
) -> Row:
    """A row whose target is an upper bound."""
    return Row(
        name=f"memory-{name}",
        target=target or f"<= {limit:g} {unit}",
        limit=limit,
        unit=unit,
        measure=measure,
        breakdown=breakdown,
        samples=samples,
    )


ROWS = {
    one.name: one
    for one in (
        row("a-cold", 2.5, "s", partial(cold, "a"), partial(cold_parts, "a")),
        row("a-process", 500, "ms", partial(again, "a")),
        row("a-rare", 40, "ms", partial(warm_median, "a", RARE), partial(variants, "a")),
        row("a-common", 80, "ms", partial(warm_median, "a", COMMON)),
        row("a-browse", 80, "ms", partial(warm_median, "a", BROWSE)),
        row("a-size", 16, "MB", partial(records_size, "a"), partial(own_size, "a"), samples=1),
        row("b-cold", 9, "s", partial(cold, "b"), partial(cold_parts, "b"), samples=3),
        row("b-cold-peak", 400, "MiB", partial(cold_peak, "b"), partial(largest, "cold b"), samples=3),
        row("b-missing", 0, "left", partial(missing, "b"), target="all are indexed at once", samples=1),
        row("b-rare", 60, "ms", partial(warm_median, "b", RARE), partial(variants, "b")),
        row("b-common", 150, "ms", partial(warm_median, "b", COMMON)),
        row("b-expand", 20, "ms", expand),
        row("b-size", 63, "MB", partial(records_size, "b"), partial(own_size, "b"), samples=1),
        row("c-process", 1_200, "ms", partial(again, "c")),
        row("c-rare-p95", 150, "ms", partial(warm_p95, "c", RARE), partial(variants, "c")),
        row("c-warm-peak", 350, "MiB", partial(warm_peak, "c"), partial(largest, "warm c"), samples=3),
    )
}
