"""Searching what is open: from a query and sessions to an answer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, ParamSpec, TypeVar

import anyio.to_thread

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.config.model import MemoryConfig
from pi_fabric.memory.answers import brief_answer, full_answer, refused, refused_stale
from pi_fabric.memory.building import SOURCE_UNAVAILABLE
from pi_fabric.memory.catalogue import Row
from pi_fabric.memory.cold import ColdIndex, DigestHit
from pi_fabric.memory.discovery import Found
from pi_fabric.memory.entries import MAX_ENTRY_CHARS, cut_text
from pi_fabric.memory.expanding import range_problem, unavailable
from pi_fabric.memory.hydration import hydrate, stale_pointer
from pi_fabric.memory.items import ITEM_BUDGET, paged
from pi_fabric.memory.lineage import LiveBranch
from pi_fabric.memory.model import Coverage, Entry, Privacy
from pi_fabric.memory.patterns import search_pattern
from pi_fabric.memory.query import Query
from pi_fabric.memory.ranking import ENTRY_BUDGET, SessionHits, rank_entries
from pi_fabric.memory.refresh import MAX_SYNC_BYTES
from pi_fabric.memory.searchable import ReadSession, Searchable
from pi_fabric.memory.source import SourceChanged
from pi_fabric.protocol.regex import RegexPort

T = TypeVar("T")
P = ParamSpec("P")

MAX_FOLD: Final = "max_fold_bytes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """Sessions that are ready to be searched."""

    hot: Sequence[Searchable] = ()
    cold: Sequence[Row] = ()
    coverage: Coverage
    is_fold_complete: bool = True


@dataclass(slots=True)
class _Found:
    hits: list[SessionHits] = field(default_factory=list[SessionHits])
    digests: list[DigestHit] = field(default_factory=list[DigestHit])
    reasons: set[str] = field(default_factory=set[str])
    error: JsonObject | None = None


class Searcher:
    """Answers queries over opened sessions.

    Args:
        cold: Where the words of cold sessions are.
        config: Bounds of patterns and entries.
        regex: Runs patterns; None where nothing can.
    """

    def __init__(self, cold: ColdIndex, config: MemoryConfig, regex: RegexPort | None) -> None:
        self._cold = cold
        self._config = config
        self._regex = regex

    async def search(self, query: Query, opened: Opened) -> JsonObject:
        """The answer to a query."""
        is_pattern = query.mode == "regex" and not query.is_browse
        found = (
            await self._match(query, opened) if is_pattern else await _off_loop(self._look_up, query, opened)
        )
        if query.fold and not opened.is_fold_complete:
            found.reasons.add(MAX_FOLD)
        return await _off_loop(_answer, query, found, opened.coverage)

    async def search_one(
        self, query: Query, found: Found | None, live: LiveBranch | None, *, is_hidden: bool = False
    ) -> JsonObject:
        """The answer over one named session: it is read for the question and stays as cold as it was.

        Args:
            query: With a session for its scope.
            found: The session; None when there is none of this name.
            live: Its branch as a host has it.
            is_hidden: True when it may lie where nothing could be listed.
        """
        if found is None:
            reasons = frozenset((SOURCE_UNAVAILABLE,) if is_hidden else ())
            return await self.search(query, Opened(coverage=_coverage(0, 0, reasons)))
        size = 0 if found.stamp is None else found.stamp.size
        if size > self._config.max_sync_source_bytes:
            return await self.search(query, Opened(coverage=_coverage(1, 0, frozenset((MAX_SYNC_BYTES,)))))
        try:
            read = await _off_loop(self._read, query, found, live)
        except (OSError, SourceChanged) as error:
            return refused(query, unavailable(found, error))
        return await self.search(query, read) if isinstance(read, Opened) else read

    def _look_up(self, query: Query, opened: Opened) -> _Found:
        hits, is_over = rank_entries(opened.hot, query)
        digests, reasons = self._cold.search(opened.cold, query)
        return _Found(hits, digests, reasons | {ENTRY_BUDGET} if is_over else reasons)

    async def _match(self, query: Query, opened: Opened) -> _Found:
        rows, reasons = await _off_loop(self._cold.filtered, opened.cold, query.filters)
        result = await search_pattern(
            query=query,
            sessions=opened.hot,
            rows=rows,
            cold=self._cold,
            port=self._regex,
            config=self._config,
        )
        return _Found(result.hits, result.digests, reasons | result.reasons, result.error)

    def _read(self, query: Query, found: Found, live: LiveBranch | None) -> Opened | JsonObject:
        """One session from its source; an answer when a pointer or a range does not fit it."""
        privacy = Privacy(thinking=self._config.index_thinking, tool_output=self._config.index_tool_output)
        hydrated = hydrate(found, query.branches, live, privacy)
        if not hydrated.matches(query.expected):
            return refused_stale(query, stale_pointer(hydrated, query.expected))
        reasons: set[str] = set()
        entries: list[Entry] = []
        for entry in hydrated.entries(reasons):
            cut_text(entry, self._config.max_entry_chars)
            if entry.truncated:
                reasons.add(MAX_ENTRY_CHARS)
            entries.append(entry)
        if query.entry_range is not None:
            problem = range_problem(query.entry_range, len(entries))
            if problem is not None:
                return refused(query, problem)
            entries = entries[int(query.entry_range.first) : int(query.entry_range.last) + 1]
        session = ReadSession(
            entries,
            file=found.path,
            session_id=hydrated.source.session_id,
            kind=found.kind,
            source_hash=hydrated.source.source_hash,
            lineage=hydrated.lineage.fingerprint,
            mtime=hydrated.source.stamp.mtime_ms,
        )
        coverage = _coverage(1, 1, frozenset(reasons), skipped_lines=hydrated.source.skipped_lines)
        return Opened(hot=[session], coverage=coverage)


def _answer(query: Query, found: _Found, coverage: Coverage) -> JsonObject:
    page = paged(found.hits, found.digests, query)
    reasons = found.reasons | {ITEM_BUDGET} if page.is_cut else found.reasons
    write = full_answer if query.detail == "full" else brief_answer
    return write(query, page, coverage.with_reasons(reasons, found.error))


def _coverage(
    eligible: int, indexed: int, reasons: frozenset[str] = frozenset(), *, skipped_lines: int = 0
) -> Coverage:
    """The coverage of what does not come from the index."""
    return Coverage(
        indexed_sessions=indexed,
        eligible_sessions=eligible,
        stale_sessions=eligible - indexed,
        incomplete_sessions=indexed if reasons else 0,
        reasons=reasons,
        skipped_lines=skipped_lines,
    )


async def _off_loop(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    return await anyio.to_thread.run_sync(partial(work, *args, **kwargs))
