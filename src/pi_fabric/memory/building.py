"""Building the records of sessions: from a source to its record, the row about it, and its words.

What is built is written complete or not at all. Cold sessions are built in groups, whose words lie in one
file, so that a search opens few files.
"""

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.memory.cache import Cache, record_name
from pi_fabric.memory.catalogue import Row, Shown
from pi_fabric.memory.digest import MAX_CACHE, Address, DigestBuilder, pieces
from pi_fabric.memory.entries import EntryReader
from pi_fabric.memory.folding import chunks, folded_terms
from pi_fabric.memory.hot_index import HotIndexBuilder
from pi_fabric.memory.lineage import Lineage, LiveBranch
from pi_fabric.memory.model import Branches, Entry, Number, Privacy, SourceKind, Tier
from pi_fabric.memory.shard import ShardWriter
from pi_fabric.memory.source import Source, SourceChanged
from pi_fabric.memory.stamp import stamp_of
from pi_fabric.memory.termfile import encode_terms

SOURCE_CHANGED: Final = "source_changed_during_index"
SOURCE_UNAVAILABLE: Final = "source_unavailable"
INDEX_ERROR: Final = "index_error"
MAX_FOLD_BYTES: Final = 512 * 1024
"""Of the folded words of one session, as many as its vocabulary may have."""
# A session that is written each time while it is read is left for the next question.
_ATTEMPTS: Final = 3
# Of the chunks of a session; most sessions have fewer, and a huge one must not keep all of its own.
_MAX_SEEN: Final = 200_000


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Settings that a record depends on."""

    branches: Branches
    max_entry_chars: int
    thinking: bool
    tool_output: bool
    max_vocabulary_bytes: int
    max_cache_bytes: int

    @property
    def privacy(self) -> Privacy:
        """Which bodies are indexed."""
        return Privacy(thinking=self.thinking, tool_output=self.tool_output)

    def policy(self, tier: Tier, lineage: str) -> str:
        """How a record names the settings it was built with."""
        bounds = (
            f"chars:{self.max_entry_chars}"
            if tier == "hot"
            else f"vocab:{self.max_vocabulary_bytes};cache:{self.max_cache_bytes}"
        )
        return f"{bounds};branches:{self.branches};lineage:{lineage};{self.privacy.policy()}"


class Task(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One session to build."""

    file: str
    tier: Tier
    kind: SourceKind = "pi"
    live_ids: tuple[str, ...] | None = None
    """The live branch; None for a session that is not live."""
    live_leaf_id: str | None = None

    @property
    def live(self) -> LiveBranch | None:
        """The live branch of the task."""
        return None if self.live_ids is None else LiveBranch(ids=self.live_ids, leaf_id=self.live_leaf_id)


class Built(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What came of one task: a row, or the reason why there is none."""

    file: str
    row: Row | None = None
    problem: str = ""


@dataclass(slots=True)
class _ColdWords:
    """Words of the cold sessions of a group."""

    words: dict[bytes, list[int]]
    folded: dict[bytes, list[int]]
    slots: int = 0


class Builder:
    """Builds sessions into one cache; blocking."""

    def __init__(self, cache: Cache, options: Options) -> None:
        self._cache = cache
        self._options = options

    def build(self, tasks: Iterable[Task]) -> list[Built]:
        """Build sessions; the cold ones among them become one group.

        Never raises for what a source holds; what cannot be built is told with its reason.

        Raises:
            OSError: If the cache cannot be written.
        """
        group = uuid.uuid4().hex
        cold = _ColdWords({}, {})
        found = [self._build_one(task, group, cold) for task in tasks]
        if cold.slots:
            self._cache.write(self._cache.folded(group), encode_terms(cold.folded))
            self._cache.write(self._cache.words(group), encode_terms(cold.words))
        return found

    def _build_one(self, task: Task, group: str, cold: _ColdWords) -> Built:
        """As often as it takes to find the session unchanged, within a bound."""
        built = self._try_one(task, group, cold)
        for _ in range(_ATTEMPTS - 1):
            if built.problem != SOURCE_CHANGED:
                break
            built = self._try_one(task, group, cold)
        return built

    def _try_one(self, task: Task, group: str, cold: _ColdWords) -> Built:
        try:
            source = Source(task.file, task.kind)
        except SourceChanged:
            return Built(file=task.file, problem=SOURCE_CHANGED)
        except OSError:
            return Built(file=task.file, problem=SOURCE_UNAVAILABLE)
        lineage = source.lines.lineage(self._options.branches, task.live)
        build = self._build_hot if task.tier == "hot" else self._build_cold
        try:
            row = build(source, lineage, group, cold)
        except SourceChanged:
            return Built(file=task.file, problem=SOURCE_CHANGED)
        except (RecursionError, ValueError, TypeError, KeyError):
            # A source that our rules do not foresee must not keep the others from being indexed.
            return Built(file=task.file, problem=INDEX_ERROR)
        if row is None:
            return Built(file=task.file, problem=MAX_CACHE)
        other = record_name(task.file, self._options.branches, "cold" if task.tier == "hot" else "hot")
        self._cache.remove(self._cache.record(other))
        return Built(file=task.file, row=row)

    def _build_cold(self, source: Source, lineage: Lineage, group: str, cold: _ColdWords) -> Row | None:
        digest = DigestBuilder(
            max_vocabulary_bytes=self._options.max_vocabulary_bytes,
            max_cache_bytes=self._options.max_cache_bytes,
        )
        folded: set[bytes] = set()
        seen: set[bytes] = set()
        fold_bytes, is_fold_complete = 0, True
        for entry in self._entries(source, lineage, digest.reasons):
            digest.add(entry)
            if is_fold_complete:
                fresh = _folded_of(entry.text, seen) - folded
                fold_bytes += sum(map(len, fresh))
                is_fold_complete = fold_bytes <= MAX_FOLD_BYTES
                if is_fold_complete:
                    folded |= fresh
        written = digest.record(self._identity(source, lineage, "cold"), source.stamp.size)
        if written is None:
            return None
        record, data = written
        name = record_name(source.path, self._options.branches, "cold")
        status = self._cache.write(self._cache.record(name), data)
        slot = cold.slots
        cold.slots += 1
        for word in record["vocabulary"]:
            cold.words.setdefault(word.encode(), []).append(slot)
        for term in folded:
            cold.folded.setdefault(term, []).append(slot)
        row = self._row(source, lineage, "cold", sorted(digest.reasons))
        row.record, row.record_stamp = name, stamp_of(status)
        row.entry_count, row.last_ts = digest.entry_count, digest.last_ts
        row.is_fold_complete = is_fold_complete
        row.group, row.slot = group, slot
        row.shown = shown_of(record["addresses"])
        return row

    def _build_hot(self, source: Source, lineage: Lineage, _group: str, _cold: _ColdWords) -> Row:
        group = uuid.uuid4().hex
        name = record_name(source.path, self._options.branches, "hot")
        index = HotIndexBuilder(max_fold_bytes=MAX_FOLD_BYTES)
        reasons: set[str] = set()
        last_ts: Number | None = None
        with self._cache.replacing(self._cache.record(name), also=self._cache.entries(group)) as new:
            identity = self._identity(source, lineage, "hot")
            shard = ShardWriter(new.stream, identity, self._options.max_entry_chars)
            for entry in self._entries(source, lineage, reasons):
                shard.add(entry)
                index.add(entry)
                if entry.timestamp is not None:
                    last_ts = entry.timestamp if last_ts is None else max(last_ts, entry.timestamp)
            final = shard.reasons(frozenset(reasons))
            shard.finish(final)
        self._cache.write(self._cache.rows(group), index.rows_file(shard.first_start, shard.ends))
        self._cache.write_parts(self._cache.words(group), index.words_file())
        self._cache.write_parts(self._cache.folded(group), index.folded_file())
        row = self._row(source, lineage, "hot", final)
        row.record, row.record_stamp, row.group = name, stamp_of(new.status), group
        row.entry_count, row.last_ts = len(index.lengths), last_ts
        row.is_fold_complete = index.is_fold_complete
        return row

    def _entries(self, source: Source, lineage: Lineage, reasons: set[str]) -> Iterator[Entry]:
        reader = EntryReader(session_file=source.path, privacy=self._options.privacy)
        for session_id, raw in source.entries(lineage):
            yield from reader.read(session_id, raw)
        reasons |= reader.reasons | lineage.reasons | source.reasons

    def _identity(self, source: Source, lineage: Lineage, tier: Tier) -> JsonObject:
        return {
            "sessionId": source.session_id,
            "file": source.path,
            "cwd": source.cwd,
            "mtime": source.stamp.mtime_ms,
            "size": source.stamp.size,
            "sourceHash": source.source_hash,
            "branches": self._options.branches,
            "lineageFingerprint": lineage.fingerprint,
            "policy": self._options.policy(tier, lineage.fingerprint),
        }

    def _row(self, source: Source, lineage: Lineage, tier: Tier, reasons: list[str]) -> Row:
        file_lineage = source.lines.lineage(self._options.branches).fingerprint
        return Row(
            file=source.path,
            kind=source.kind,
            tier=tier,
            stamp=source.stamp,
            read_began_ns=source.read_began_ns,
            source_hash=source.source_hash,
            lineage=lineage.fingerprint,
            file_lineage=file_lineage,
            policy=self._options.policy(tier, lineage.fingerprint),
            record="",
            record_stamp=source.stamp,
            session_id=source.session_id,
            cwd=source.cwd,
            head=source.head,
            entry_count=0,
            last_ts=None,
            reasons=reasons,
            skipped_lines=source.skipped_lines,
            is_fold_complete=True,
            group="",
            slot=0,
            shown=[],
        )


def shown_of(addresses: Iterable[Address]) -> list[Shown]:
    """What filters see of addresses, those alike taken together."""
    times: dict[tuple[str | None, str | None], list[Number | None]] = {}
    for _, _, _, role, tool, moment in addresses:
        times.setdefault((role, tool), []).append(moment)
    return [_shown(role, tool, moments) for (role, tool), moments in times.items()]


def _shown(role: str | None, tool: str | None, moments: list[Number | None]) -> Shown:
    known = [moment for moment in moments if moment is not None]
    return Shown(role, tool, min(known, default=None), max(known, default=None), len(known) < len(moments))


def _folded_of(text: str, seen: set[bytes]) -> set[bytes]:
    """Folded terms of the chunks that were not seen yet; the others have been looked at."""
    found: set[bytes] = set()
    for piece in pieces(text):
        fresh = set(chunks(piece)) - seen
        if len(seen) > _MAX_SEEN:
            seen.clear()
        seen |= fresh
        for chunk in fresh:
            found |= folded_terms(chunk)
    return found
