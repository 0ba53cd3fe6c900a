"""Memory across layers: a fact in one cold session of a thousand, and every address of every summary."""

import hashlib
import itertools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from pi_fabric.base.jsonvalue import Json, JsonObject, is_array, is_object
from pi_fabric.certify.checks import Phase
from pi_fabric.certify.endurance import Endurance
from pi_fabric.certify.messages import Clock, assistant, user
from pi_fabric.certify.pi_driver import PiDriver
from pi_fabric.certify.recollection import HOT_SESSIONS, Recollection
from pi_fabric.memory.entries import EntryReader
from pi_fabric.memory.model import EVERYTHING
from pi_fabric.memory.source import Source

SESSIONS: Final = 1_000
RARE_WORD: Final = "xylothek7391"
RARE_FACT: Final = f"The key to the {RARE_WORD} hangs behind the third map — Ω鯨."
# Long before all others, so that it cannot be among the hot ones.
_OLD_NS: Final = 1_600_000_000 * 10**9
# Of no file.
_NO_HASH: Final = "0" * 64
# How many sessions are made by one question to the driver: enough to be quick, few enough to tell progress.
_BATCH: Final = 100

CHECKS: Final = (
    "every session is eligible and indexed completely",
    "exactly the newest sessions are hot",
    "the rare fact is found in its cold session",
    "its pointer carries the hash of the source",
    "the cold session opens to the exact fact",
    "the fact expands by its entry id",
    "every address of every summary expands",
    "what expands is what the source says",
    "a pointer to other bytes is refused",
)
# An entry's id as Pi makes them, with what may stand behind it: an operation, a phase, a call.
_ADDRESS: Final = re.compile(r"(?<![0-9a-zA-Z-])[0-9a-f]{8}(?:/[^\s\],)]+)?(?![0-9a-zA-Z-])")


@dataclass(frozen=True, slots=True, kw_only=True)
class RareSession:
    """Where the fact is."""

    file: str
    entry_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """Where the sessions are made, and how many."""

    cwd: Path
    session_dir: Path
    sessions: int = SESSIONS


async def remember(
    driver: PiDriver,
    phase: Phase,
    endurance: Endurance,
    recollection: Recollection,
    archive: Archive,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> None:
    """Make the sessions and ask for what they hold; see `CHECKS`."""
    phase.require(*CHECKS)
    rare = await _make_sessions(driver, archive, progress)
    await _find_rare_fact(phase, recollection, rare, archive)
    await _expand_addresses(phase, recollection, endurance)
    agent_dir = Path(driver.environ["PI_CODING_AGENT_DIR"])
    sizes = {"sourceBytes": agent_dir / "sessions", "cacheBytes": agent_dir / "fabric"}
    for name, folder in sizes.items():
        phase.figures[name] = await anyio.to_thread.run_sync(_bytes_below, folder)


def _are_newest(folder: Path, chosen: set[str]) -> bool:
    """True when no session was written after a chosen one; many have the same time."""
    times = {str(file): file.stat().st_mtime_ns for file in folder.glob("*.jsonl")}
    others = (time_ns for file, time_ns in times.items() if file not in chosen)
    return chosen <= times.keys() and min(map(times.__getitem__, chosen), default=0) >= max(others, default=0)


def _bytes_below(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


async def _make_sessions(
    driver: PiDriver, archive: Archive, progress: Callable[[int, int], None]
) -> RareSession:
    clock = Clock()
    count = archive.sessions
    made: list[JsonObject] = []
    for first in range(0, count, _BATCH):
        batch = [_session(clock, number, count) for number in range(first, min(first + _BATCH, count))]
        made += await driver.create(archive.cwd, archive.session_dir, batch)
        progress(len(made), count)
    rare = made[count // 2]
    await anyio.to_thread.run_sync(lambda: os.utime(rare["file"], ns=(_OLD_NS, _OLD_NS)))
    return RareSession(file=rare["file"], entry_id=rare["entryIds"][0])


def _session(clock: Clock, number: int, count: int) -> list[JsonObject]:
    wish = f"Session {number}: look into shard_{number} and the retry of worker-{number % 17}."
    if number == count // 2:
        wish = f"{wish} {RARE_FACT}"
    return [user(clock, wish), assistant(clock, f"Shard {number} is in order; the retry waits {number} ms.")]


async def _find_rare_fact(
    phase: Phase, recollection: Recollection, rare: RareSession, archive: Archive
) -> None:
    found = await recollection.recall(query=RARE_WORD, scope="global")
    coverage = found["coverage"]
    phase.figures["coverage"] = coverage
    is_whole = coverage["complete"] and coverage["eligibleSessions"] >= archive.sessions
    is_indexed = coverage["indexedSessions"] == coverage["eligibleSessions"]
    phase.see(CHECKS[0], is_whole and is_indexed, str(coverage))
    everything = await recollection.recall(scope="global", pageSize=200)
    hot = {segment["sessionFile"] for segment in everything["segments"]}
    phase.figures["hotSessions"] = len(hot)
    newest = await anyio.to_thread.run_sync(_are_newest, archive.session_dir, hot)
    is_exact = len(hot) == HOT_SESSIONS and newest and rare.file not in hot
    failure = f"{len(hot)} sessions are hot, the newest: {newest}, the rare one: {rare.file in hot}"
    phase.see(CHECKS[1], is_exact, failure)
    hits = found["digestHits"]
    is_found = [hit["sessionFile"] for hit in hits] == [rare.file] and not found["segments"]
    if not phase.see(CHECKS[2], is_found, f"{len(hits)} cold and {len(found['segments'])} hot matches"):
        return
    [pointer] = hits
    digest = hashlib.sha256(await anyio.Path(rare.file).read_bytes()).hexdigest()
    phase.see(CHECKS[3], pointer["sourceHash"] == digest, pointer["sourceHash"])
    await _open_pointer(phase, recollection, rare, pointer)


async def _open_pointer(
    phase: Phase, recollection: Recollection, rare: RareSession, pointer: JsonObject
) -> None:
    bound = {
        "expectedSourceHash": pointer["sourceHash"],
        "expectedLineageFingerprint": pointer["lineageFingerprint"],
    }
    scope = f"session:{pointer['sessionFile']}"
    opened = await recollection.recall(query=RARE_WORD, scope=scope, **bound)
    texts = [one["entry"]["text"] for segment in opened["segments"] for one in segment["entries"]]
    phase.see(CHECKS[4], any(RARE_FACT in text for text in texts), str(opened.get("error")))
    expanded = await recollection.expand(rare.file, [rare.entry_id], **bound)
    found = [(one["entryId"], RARE_FACT in one["text"]) for one in expanded["expanded"]]
    phase.see(CHECKS[5], found == [(rare.entry_id, True)], str(expanded.get("error") or found))
    wrong = bound | {"expectedSourceHash": _NO_HASH}
    refused = await recollection.recall(query=RARE_WORD, scope=scope, **wrong)
    _check_refused(phase, refused, refused["segments"])
    refused = await recollection.expand(rare.file, [rare.entry_id], **wrong)
    _check_refused(phase, refused, refused["expanded"])


def _check_refused(phase: Phase, answer: JsonObject, shown: Sequence[Json]) -> None:
    error = answer.get("error")
    is_refused = is_object(error) and error["code"] == "stale_pointer" and not shown
    phase.see(CHECKS[8], is_refused, f"it answered {error} and showed {len(shown)}")


async def _expand_addresses(phase: Phase, recollection: Recollection, endurance: Endurance) -> None:
    """Open every address that a summary or its details name, and compare it with the source."""
    emitted = sorted(set(emitted_addresses(endurance.summaries, endurance.details)))
    file = str(endurance.file)
    source_hash, truth = await anyio.to_thread.run_sync(_truth, file)
    bound = {"expectedSourceHash": source_hash}
    opened = await _expand_all(recollection, file, emitted, bound)
    for address in emitted:
        text = opened.get(address)
        if phase.see(CHECKS[6], text is not None, f"{address} does not open"):
            phase.see(CHECKS[7], text == truth.get(address), f"{address} opens to something else")
    refused = await recollection.expand(file, emitted, expectedSourceHash=_NO_HASH)
    _check_refused(phase, refused, refused["expanded"])
    phase.figures |= {"emittedAddresses": len(emitted), "expandedAddresses": len(opened)}


async def _expand_all(
    recollection: Recollection, file: str, addresses: Sequence[str], bound: JsonObject
) -> dict[str, str]:
    """The text behind each address that opens; all at once when all of them do."""
    together = await recollection.expand(file, addresses, **bound)
    texts = {one["entryId"]: one["text"] for one in together["expanded"]}
    found = {address: texts[address] for address in addresses if address in texts}
    for address in addresses:
        if address not in found:
            alone = await recollection.expand(file, [address], **bound)
            if alone["expanded"]:
                found[address] = alone["expanded"][0]["text"]
    return found


def emitted_addresses(summaries: Iterable[str], details: Iterable[JsonObject]) -> Iterator[str]:
    """Every address in the texts of summaries and in the records beside them."""
    for text in itertools.chain(summaries, *(_strings(record) for record in details)):
        yield from _ADDRESS.findall(text)


def _strings(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif is_object(value):
        for item in value.values():
            yield from _strings(item)
    elif is_array(value):
        for item in value:
            yield from _strings(item)


def _truth(file: str) -> tuple[str, dict[str, str]]:
    """A source's hash and its texts by address, normalized anew and without the index."""
    source = Source(file)
    reader = EntryReader(session_file=source.path, privacy=EVERYTHING)
    lines = source.entries(source.lines.lineage("active"))
    entries = [entry for line in lines for entry in reader.read(*line)]
    texts = {entry.entry_id: entry.text for entry in entries if entry.entry_id is not None}
    return source.source_hash, texts
