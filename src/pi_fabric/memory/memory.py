"""Recall, expansion and listing over every session: the three questions that can be asked of memory."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.base.paths import agent_dir, expand_home
from pi_fabric.config.model import MemoryConfig
from pi_fabric.history.session.claude import claude_root
from pi_fabric.history.session.codex import codex_root
from pi_fabric.memory.answers import (
    JsonAnswer,
    ambiguous,
    brief_answer,
    full_answer,
    refused,
    refused_stale,
    stale_pointer,
)
from pi_fabric.memory.building import SOURCE_UNAVAILABLE
from pi_fabric.memory.cache import Cache
from pi_fabric.memory.catalogue import Head
from pi_fabric.memory.cleanup import Cleaner, CleanupBudget
from pi_fabric.memory.discovery import Found, Listing, Root, Scopes, find_file, list_sessions, newest
from pi_fabric.memory.entries import MAX_ENTRY_CHARS, cut_text
from pi_fabric.memory.expanding import (
    ExpandRequest,
    Problem,
    choose,
    expanded,
    range_problem,
    read_request,
)
from pi_fabric.memory.hydration import Hydrated, hydrate
from pi_fabric.memory.index import Index, Snapshot
from pi_fabric.memory.items import ITEM_BUDGET, paged
from pi_fabric.memory.lineage import LiveBranch
from pi_fabric.memory.merging import merge_small_groups
from pi_fabric.memory.model import BRANCHES, EVERYTHING, Branches, Coverage, Entry, Privacy
from pi_fabric.memory.patterns import search_pattern
from pi_fabric.memory.query import Query, read_branches, read_query
from pi_fabric.memory.ranking import ENTRY_BUDGET, rank_entries
from pi_fabric.memory.recorded import RecordStamps
from pi_fabric.memory.refresh import MAX_SYNC_BYTES, Budget, Progress, Wanted
from pi_fabric.memory.searchable import ReadSession, Searchable
from pi_fabric.memory.source import HEAD_BYTES, SourceChanged, SourceKind, read_head
from pi_fabric.memory.upkeep import ClearResult, MemoryStatus, RebuildResult, clear, measure, mode_status
from pi_fabric.protocol.regex import RegexPort

_DEFAULT_INDEX: Final = "fabric/memory-index"
# A listing tells at most this many sessions, whatever is configured.
_MAX_LISTED: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Current:
    """The session that a question comes from."""

    file: str
    branch: LiveBranch | None = None
    """Its active branch as the host has it; None follows the file."""


class Memory:
    """Everything that is remembered, for one user.

    Args:
        config: Settings in force.
        environ: Tells the home and agent folders.
        regex: Runs patterns; None where nothing can.
    """

    def __init__(
        self, *, config: MemoryConfig, environ: Mapping[str, str], regex: RegexPort | None = None
    ) -> None:
        self._config = config
        self._regex = regex
        home = Path(os.path.abspath(agent_dir(environ)))  # noqa: PTH100 - links in it stay as they are
        self._sessions_dir = str(home / "sessions")
        self._roots = _roots(config, environ, self._sessions_dir)
        configured = config.index_dir
        self.folder = home / _DEFAULT_INDEX if configured is None else expand_home(configured, environ)
        self.cache = Cache(Path(os.path.abspath(self.folder)))  # noqa: PTH100
        self._records = RecordStamps(self.cache)
        self._indexes: dict[Branches, Index] = {
            mode: Index(self.cache, mode, self._records) for mode in BRANCHES
        }
        self._cleaner = Cleaner(
            self.cache, self._records, {mode: self._indexes[mode].catalogue for mode in BRANCHES}
        )
        self._refreshing = anyio.Lock()
        self._heads: dict[str, tuple[Found, Head]] = {}

    async def recall(
        self,
        args: JsonObject,
        *,
        cwd: Path,
        current: Current | None = None,
        progress: Progress | None = None,
    ) -> JsonObject:
        """Search or browse sessions; see `memory.recall`.

        Raises:
            RequestError: If the arguments do not go together.
            StoreError: If the index can neither be read nor made.
        """
        query = read_query(args)
        listing = await self._list()
        current = await anyio.to_thread.run_sync(_as_listed, current, listing)
        scopes = self._scopes(listing, cwd, current)
        selection = await anyio.to_thread.run_sync(scopes.select, query.scope)
        if selection.candidates:
            return ambiguous(query.scope.strip().removeprefix("session:").strip(), selection.candidates)
        if query.names_session:
            return await self._recall_one(query, selection.found, current)
        index = self._indexes[query.branches]
        wanted = self._wanted(selection.found, listing, query.branches, current)
        snapshot = await self._snapshot(index, wanted, listing, progress)
        return await self._answer(query, snapshot.hot, snapshot, index)

    async def expand(self, args: JsonObject, *, cwd: Path, current: Current | None = None) -> JsonObject:
        """Open addresses of one session; see `memory.expand`.

        Raises:
            RequestError: If the arguments are no request.
        """
        request = read_request(args)
        listing = await self._list()
        current = await anyio.to_thread.run_sync(_as_listed, current, listing)
        scopes = self._scopes(listing, cwd, current)
        selection = await anyio.to_thread.run_sync(scopes.named, request.session)
        if selection.candidates:
            return ambiguous(request.session, selection.candidates) | {"expanded": []}
        if not selection.found:
            message = "no session has this path, id or file name"
            problem = {"code": "session_not_found", "message": message}
            return {"session": request.session, "error": problem, "expanded": []}
        found = selection.found[0]
        live = _live_branch(found.path, request.branches, current)
        return await anyio.to_thread.run_sync(partial(self._expand, request, found, live))

    async def sessions(
        self,
        args: JsonObject,
        *,
        cwd: Path,
        current: Current | None = None,
        progress: Progress | None = None,
    ) -> JsonObject:
        """List sessions, newest first; see `memory.sessions`.

        Raises:
            RequestError: If the branch mode is none.
        """
        branches = read_branches(args, "memory.sessions")
        scope = args.get("scope")
        scope = scope if isinstance(scope, str) else "session"
        limit = args.get("limit")
        listing = await self._list()
        current = await anyio.to_thread.run_sync(_as_listed, current, listing)
        scopes = self._scopes(listing, cwd, current)
        selection = await anyio.to_thread.run_sync(scopes.select, scope)
        if selection.candidates:
            return ambiguous(scope.strip().removeprefix("session:").strip(), selection.candidates)
        shown = min(self._config.max_sessions, _MAX_LISTED, limit if isinstance(limit, int) else _MAX_LISTED)
        found = selection.found[: max(0, shown)]
        wanted = self._wanted(found, listing, branches, current)
        snapshot = await self._snapshot(self._indexes[branches], wanted, listing, progress, opens=False)
        rows = await anyio.to_thread.run_sync(
            lambda: [self._session_row(one, snapshot, wanted, branches) for one in found]
        )
        return {"scope": scope, "branches": branches, "sessions": rows}

    async def status(self) -> MemoryStatus:
        """What lies on the disk; nothing is brought up to date.

        Raises:
            StoreError: If the index cannot be read.
        """
        return await anyio.to_thread.run_sync(self._status)

    async def rebuild(
        self, progress: Progress | None = None, *, branches: Branches = "active"
    ) -> RebuildResult:
        """Build every session anew, whatever that takes.

        Raises:
            OSError: If the index cannot be written.
        """
        listing = await self._list()
        wanted = self._wanted(listing.found, listing, branches, None)
        async with self._refreshing:
            snapshot = await self._indexes[branches].rebuild(wanted, self._config, progress)
        return RebuildResult(indexed=len(snapshot.rows), failed=snapshot.stale)

    async def clear(self) -> ClearResult:
        """Remove the index; it is built again when something is asked."""
        result = await anyio.to_thread.run_sync(clear, self.cache)
        for index in self._indexes.values():
            index.forget(list(index.catalogue.rows.values()))
        return result

    def _status(self) -> MemoryStatus:
        listing = list_sessions(self._roots)
        for index in self._indexes.values():
            index.catalogue.load()
        records = measure(self.cache.folder, only_records=True)
        own = measure(self.cache.own)
        return MemoryStatus(
            folder=self.cache.folder,
            sessions_on_disk=len(listing.found),
            by_mode={mode: mode_status(self._indexes[mode].catalogue.rows, listing) for mode in BRANCHES},
            record_files=records[0],
            record_bytes=records[1],
            own_files=own[0],
            own_bytes=own[1],
            unreadable=tuple(listing.unreadable),
        )

    async def _list(self) -> Listing:
        return await anyio.to_thread.run_sync(list_sessions, self._roots)

    async def _snapshot(
        self,
        index: Index,
        wanted: Wanted,
        listing: Listing,
        progress: Progress | None,
        *,
        opens: bool = True,
    ) -> Snapshot:
        """Bring the wanted sessions up to date, and remove what no session needs any more."""
        budget = Budget(self._config.max_sync_sessions, self._config.max_sync_source_bytes)
        async with self._refreshing:
            snapshot = await index.snapshot(wanted, self._config, budget, progress, opens=opens)
            reasons = await anyio.to_thread.run_sync(self._clean, index, listing)
        return replace(snapshot, coverage=snapshot.coverage.with_reasons(reasons))

    def _clean(self, index: Index, listing: Listing) -> set[str]:
        budget = CleanupBudget(self._config.max_cache_cleanup_files, self._config.max_sync_source_bytes)
        reasons = self._cleaner.clean(listing, budget)
        # Groups that cannot be merged are built anew when their sessions are asked for.
        with suppress(OSError, ValueError):
            merge_small_groups(self.cache, index.catalogue)
        return reasons

    def _scopes(self, listing: Listing, cwd: Path, current: Current | None) -> Scopes:
        index = self._indexes["active"]
        return Scopes(
            listing=listing,
            sessions_dir=self._sessions_dir,
            cwd=str(cwd),
            session_file=None if current is None else current.file,
            head_of=self._head_of,
            ids_of={file: row.session_id for file, row in index.catalogue.rows.items()},
        )

    def _head_of(self, found: Found) -> Head:
        """What the header of a file says; read again when the file has changed."""
        known = self._heads.get(found.path)
        if known is not None and known[0].stamp == found.stamp:
            return known[1]
        row = self._indexes["active"].catalogue.rows.get(found.path)
        if row is not None and row.stamp == found.stamp:
            head = row.head
        else:
            try:
                with open(found.path, "rb") as stream:  # noqa: PTH123 - a text costs less than a Path
                    head = read_head(stream.read(HEAD_BYTES), found.kind)
            except OSError:
                head = Head(None, "")
        self._heads[found.path] = (found, head)
        return head

    def _wanted(
        self, found: Sequence[Found], listing: Listing, branches: Branches, current: Current | None
    ) -> Wanted:
        live: dict[str, LiveBranch] = {}
        if current is not None and current.branch is not None and branches == "active":
            live[current.file] = current.branch
        return Wanted(
            found=found,
            hot=newest(listing.found, self._config.hot_sessions),
            live=live,
            trusts_stamps=self._config.verify == "stat",
        )

    async def _answer(
        self, query: Query, sessions: Sequence[Searchable], snapshot: Snapshot, index: Index
    ) -> JsonObject:
        coverage = snapshot.coverage
        reasons: set[str] = set()
        error: JsonObject | None = None
        if query.fold and not snapshot.is_fold_complete:
            reasons.add("max_fold_bytes")
        if query.mode == "regex" and not query.is_browse:
            rows = snapshot.cold
            if query.filters:
                rows, filter_reasons = index.cold.filtered(rows, query.filters)
                reasons |= filter_reasons
            found = await search_pattern(
                query=query,
                sessions=sessions,
                rows=rows,
                cold=index.cold,
                port=self._regex,
                config=self._config,
            )
            hits, digests = found.hits, found.digests
            reasons |= found.reasons
            error = found.error
        else:
            (hits, is_over), (digests, cold_reasons) = await anyio.to_thread.run_sync(
                lambda: (rank_entries(sessions, query), index.cold.search(snapshot.cold, query))
            )
            reasons |= cold_reasons
            if is_over:
                reasons.add(ENTRY_BUDGET)
        page = paged(hits, digests, query)
        if page.is_cut:
            reasons.add(ITEM_BUDGET)
        final = coverage.with_reasons(reasons, error)
        write = full_answer if query.detail == "full" else brief_answer
        return await anyio.to_thread.run_sync(write, query, page, final)

    async def _recall_one(self, query: Query, found: list[Found], current: Current | None) -> JsonObject:
        """Search one session that is named: it is read for the question and stays as cold as it was."""
        index = self._indexes[query.branches]
        if not found:
            return await self._answer(query, [], _nothing(), index)
        one = found[0]
        if one.stamp is not None and one.stamp.size > self._config.max_sync_source_bytes:
            return await self._answer(query, [], _nothing(eligible=1, reason=MAX_SYNC_BYTES), index)
        live = _live_branch(one.path, query.branches, current)
        privacy = Privacy(thinking=self._config.index_thinking, tool_output=self._config.index_tool_output)
        try:
            read = await anyio.to_thread.run_sync(
                partial(_read_session, one, query, live, privacy, self._config.max_entry_chars)
            )
        except (OSError, SourceChanged):
            problem = Problem(code=SOURCE_UNAVAILABLE, message=f"{one.path} cannot be read", details={})
            return refused(query, problem)
        if isinstance(read, JsonAnswer):
            return read.answer
        session, reasons = read
        snapshot = _nothing(eligible=1, indexed=1, reasons=reasons)
        return await self._answer(query, [session], snapshot, index)

    def _expand(self, request: ExpandRequest, found: Found, live: LiveBranch | None) -> JsonObject:
        session = found.path
        try:
            hydrated = hydrate(found, request.branches, live, EVERYTHING)
            if not hydrated.matches(request.expected):
                stale = stale_pointer(hydrated, request.expected)
                head = {"session": session, "branches": request.branches}
                return head | {"error": stale, "expanded": []}
            chosen = choose(request, hydrated.light_entries())
            if isinstance(chosen, Problem):
                head = (
                    _bound(session, hydrated, request.branches) if chosen.is_bound else {"session": session}
                )
                return head | {"error": chosen.to_json(), "expanded": []}
            wanted = frozenset(entry.index for entry in chosen)
            entries = hydrated.pick(chosen, wanted.__contains__)
        except (OSError, SourceChanged):
            problem = {"code": SOURCE_UNAVAILABLE, "message": f"{session} cannot be read"}
            return {"session": session, "error": problem, "expanded": []}
        head = _bound(session, hydrated, request.branches)
        return head | {"expanded": [expanded(entry) for entry in entries]}

    def _session_row(
        self, found: Found, snapshot: Snapshot, wanted: Wanted, branches: Branches
    ) -> JsonObject:
        row = snapshot.rows.get(found.path)
        head = self._head_of(found)
        mtime = found.stamp.mtime_ms if found.stamp is not None else 0
        record: JsonObject = {
            "id": (row.session_id if row is not None else head.session_id) or Path(found.path).stem,
            "file": found.path,
            # A listing looks no further than the head; what was digested is known to the end.
            "cwd": row.cwd if row is not None and row.tier == "cold" else head.cwd,
            "mtime": mtime,
            "entryCount": row.entry_count if row is not None else 0,
            "tier": "hot" if found.path in wanted.hot else "cold",
            "branches": branches,
            "lineageFingerprint": row.lineage if row is not None else None,
        }
        return record if found.kind == "pi" else record | {"source": found.kind}


def _roots(config: MemoryConfig, environ: Mapping[str, str], sessions_dir: str) -> list[Root]:
    """Where the sessions of the configured agents are."""
    folders: dict[SourceKind, Path | None] = {
        "pi": Path(sessions_dir),
        "claude": claude_root(environ),
        "codex": codex_root(environ),
    }
    return [
        Root(path=str(folder), kind=kind)
        for kind, folder in folders.items()
        if kind in config.sources and folder is not None
    ]


def _as_listed(current: Current | None, listing: Listing) -> Current | None:
    """The current session under the path that the listing has it by: a host may know another one."""
    if current is None or any(one.path == current.file for one in listing.found):
        return current
    stamp = find_file(os.path.abspath(current.file)).stamp  # noqa: PTH100
    same = (
        one.path
        for one in listing.found
        if one.stamp is not None and stamp is not None and one.stamp.is_same_file(stamp)
    )
    return replace(current, file=next(same, current.file))


def _live_branch(path: str, branches: Branches, current: Current | None) -> LiveBranch | None:
    is_live = current is not None and branches == "active" and current.file == path
    return current.branch if is_live and current is not None else None


def _read_session(
    found: Found, query: Query, live: LiveBranch | None, privacy: Privacy, max_entry_chars: int
) -> tuple[ReadSession, frozenset[str]] | JsonAnswer:
    hydrated = hydrate(found, query.branches, live, privacy)
    if not hydrated.matches(query.expected):
        problem = stale_pointer(hydrated, query.expected)
        return JsonAnswer(refused_stale(query, problem))
    reasons: set[str] = set()
    entries: list[Entry] = []
    for entry in hydrated.entries(reasons):
        cut_text(entry, max_entry_chars)
        if entry.truncated:
            reasons.add(MAX_ENTRY_CHARS)
        entries.append(entry)
    if query.entry_range is not None:
        problem = range_problem(query.entry_range, len(entries))
        if problem is not None:
            return JsonAnswer(refused(query, problem))
        entries = entries[int(query.entry_range.first) : int(query.entry_range.last) + 1]
    session = ReadSession(
        entries,
        file=found.path,
        session_id=hydrated.source.session_id,
        source_hash=hydrated.source.source_hash,
        lineage=hydrated.lineage.fingerprint,
        mtime=hydrated.source.stamp.mtime_ms,
    )
    return session, frozenset(reasons)


def _bound(session: str, hydrated: Hydrated, branches: Branches) -> JsonObject:
    """What an answer says of the source it was read from."""
    return {
        "session": session,
        "sourceHash": hydrated.source.source_hash,
        "branches": branches,
        "lineageFingerprint": hydrated.lineage.fingerprint,
    }


def _nothing(
    *, eligible: int = 0, indexed: int = 0, reason: str = "", reasons: frozenset[str] = frozenset()
) -> Snapshot:
    """The index's part of an answer that does not come from it."""
    all_reasons = reasons | {reason} if reason else reasons
    return Snapshot(
        hot=[],
        cold=[],
        rows={},
        coverage=Coverage(
            indexed_sessions=indexed,
            eligible_sessions=eligible,
            stale_sessions=eligible - indexed,
            incomplete_sessions=indexed if all_reasons else 0,
            reasons=frozenset(all_reasons),
        ),
        is_fold_complete=True,
        stale={},
        skipped_lines=0,
        built=0,
    )
