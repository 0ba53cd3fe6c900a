"""Recall, expansion and listing over every session: the questions that can be asked of memory."""

import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from pi_fabric.base.errors import StoreError
from pi_fabric.base.jsonvalue import JsonObject, is_finite_number
from pi_fabric.base.paths import agent_dir, expand_home
from pi_fabric.config.model import MemoryConfig
from pi_fabric.history.session.claude import claude_root
from pi_fabric.history.session.codex import codex_root
from pi_fabric.memory.answers import ambiguous, in_words
from pi_fabric.memory.building import SOURCE_UNAVAILABLE
from pi_fabric.memory.cache import Cache
from pi_fabric.memory.cleanup import Cleaner, CleanupBudget
from pi_fabric.memory.discovery import Found, Listing, Root, Scopes, find_file, list_sessions, newest
from pi_fabric.memory.expanding import expand_session, not_found, read_request
from pi_fabric.memory.heads import Heads
from pi_fabric.memory.index import Index, Snapshot
from pi_fabric.memory.lineage import LiveBranch
from pi_fabric.memory.merging import merge_small_groups
from pi_fabric.memory.model import BRANCHES, Branches, SourceKind
from pi_fabric.memory.query import read_branches, read_query
from pi_fabric.memory.recalling import Opened, Searcher
from pi_fabric.memory.recorded import RecordLost, RecordStamps
from pi_fabric.memory.refresh import Budget, Progress, Wanted
from pi_fabric.memory.upkeep import ClearResult, MemoryStatus, RebuildResult, clear, measure, mode_status
from pi_fabric.protocol.regex import RegexPort

_DEFAULT_INDEX: Final = "fabric/memory-index"
# A question during which other processes replace what it looks at is asked again this often.
_ATTEMPTS: Final = 5
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
        home = _absolute(agent_dir(environ))
        self._known_roots = _known_roots(environ, home / "sessions")
        self._roots = [root for root in self._known_roots if root.kind in config.sources]
        configured = config.index_dir
        # Not from the working folder: there is one index, wherever a question is asked.
        self.folder = home / (_DEFAULT_INDEX if configured is None else expand_home(configured, environ))
        self.cache = Cache(self.folder)
        self._records = RecordStamps(self.cache)
        self._indexes: dict[Branches, Index] = {
            mode: Index(self.cache, mode, self._records) for mode in BRANCHES
        }
        self._cleaner = Cleaner(
            self.cache, self._records, {mode: self._indexes[mode].catalogue for mode in BRANCHES}
        )
        self._refreshing = anyio.Lock()
        self._heads = Heads()

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
        asked = await self._asked(cwd, current)
        selection = await anyio.to_thread.run_sync(asked.scopes.select, query.scope)
        if selection.candidates:
            return in_words(query, ambiguous(_target(query.scope), selection.candidates))
        index = self._indexes[query.branches]
        searcher = Searcher(index.cold, self._config, self._regex)
        if query.names_session:
            found = selection.found[0] if selection.found else None
            live = asked.live_branch(found, query.branches)
            return await searcher.search_one(query, found, live, is_hidden=bool(selection.hidden))
        wanted = self._wanted(selection.found, asked, query.branches)
        for _ in range(_ATTEMPTS):
            snapshot = await self._snapshot(index, wanted, asked.listing, progress)
            opened = Opened(
                hot=snapshot.hot,
                cold=snapshot.cold,
                coverage=snapshot.coverage.with_reasons([SOURCE_UNAVAILABLE] if selection.hidden else ()),
                is_fold_complete=snapshot.is_fold_complete,
            )
            try:
                return await searcher.search(query, opened)
            except RecordLost as lost:
                # Another process built the session while we were searching, or somebody damaged the record.
                async with self._refreshing:
                    index.forget([lost.row])
        raise StoreError(self.cache.folder, "other processes change it all the time; ask again")

    async def expand(self, args: JsonObject, *, cwd: Path, current: Current | None = None) -> JsonObject:
        """Open addresses of one session; see `memory.expand`.

        Raises:
            RequestError: If the arguments are no request.
        """
        request = read_request(args)
        asked = await self._asked(cwd, current)
        selection = await anyio.to_thread.run_sync(asked.scopes.named, request.session)
        if selection.candidates:
            return ambiguous(request.session, selection.candidates) | {"expanded": []}
        if not selection.found:
            return not_found(request, selection.hidden)
        found = selection.found[0]
        live = asked.live_branch(found, request.branches)
        return await anyio.to_thread.run_sync(expand_session, request, found, live)

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
            StoreError: If the index can neither be read nor made.
        """
        branches = read_branches(args, "memory.sessions")
        scope = args["scope"] if isinstance(args.get("scope"), str) else "session"
        asked = await self._asked(cwd, current)
        selection = await anyio.to_thread.run_sync(asked.scopes.select, scope)
        if selection.candidates:
            return ambiguous(_target(scope), selection.candidates)
        found = selection.found[: self._shown(args.get("limit"))]
        wanted = self._wanted(found, asked, branches)
        snapshot = await self._snapshot(self._indexes[branches], wanted, asked.listing, progress, opens=False)
        rows = [partial(self._session_row, one, snapshot, wanted) for one in found]
        listed = await anyio.to_thread.run_sync(lambda: [row() for row in rows])
        return {"scope": scope, "branches": branches, "sessions": listed}

    async def name_of(self, file: str, session_id: str, *, cwd: Path) -> str:
        """What a person opens a session by: its id where that means no other, else its path."""
        asked = await self._asked(cwd, None)
        meant = await anyio.to_thread.run_sync(asked.scopes.named, session_id)
        return session_id if [one.path for one in meant.found] == [file] else file

    async def status(self) -> MemoryStatus:
        """What lies on the disk; nothing is brought up to date.

        Raises:
            StoreError: If the index cannot be read.
        """
        async with self._refreshing:
            return await anyio.to_thread.run_sync(self._status)

    async def rebuild(
        self, progress: Progress | None = None, *, branches: Branches = "active"
    ) -> RebuildResult:
        """Build every session anew, whatever that takes.

        Raises:
            StoreError: If the index cannot be written.
        """
        listing = await self._list()
        wanted = Wanted(
            found=listing.found,
            hot=newest(listing.found, self._config.hot_sessions),
            live={},
            trusts_stamps=True,
        )
        with self._storing():
            async with self._refreshing:
                snapshot = await self._indexes[branches].rebuild(wanted, self._config, progress)
        return RebuildResult(indexed=len(snapshot.rows), failed=snapshot.stale)

    async def clear(self) -> ClearResult:
        """Remove the index; it is built again when something is asked.

        Raises:
            StoreError: If another process does not let go of it.
        """
        with self._storing():
            async with self._refreshing:
                lock = self._indexes["active"].catalogue.locked
                result = await anyio.to_thread.run_sync(clear, self.cache, lock)
                for index in self._indexes.values():
                    index.forget(list(index.catalogue.rows.values()))
        return result

    def _status(self) -> MemoryStatus:
        listing = self._listed()
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
        return await anyio.to_thread.run_sync(self._listed)

    def _listed(self) -> Listing:
        return list_sessions(self._roots, without=self.cache.own)

    async def _asked(self, cwd: Path, current: Current | None) -> "_Asked":
        """Where a question comes from, and every session that there is."""
        catalogue = self._indexes["active"].catalogue
        if not catalogue.is_loaded and not self._refreshing.locked():
            # What is known already spares reading heads; from now on questions bring it up to date.
            async with self._refreshing:
                with suppress(StoreError):
                    await anyio.to_thread.run_sync(catalogue.load)
        return await anyio.to_thread.run_sync(self._look_around, cwd, current)

    def _look_around(self, cwd: Path, current: Current | None) -> "_Asked":
        listing = self._listed()
        current = _as_listed(current, listing)
        rows = self._indexes["active"].catalogue.rows
        scopes = Scopes(
            listing=listing,
            roots=self._known_roots,
            cwd=str(cwd),
            session_file=None if current is None else current.file,
            head_of=lambda found: self._heads.of(found, rows),
            # Another question may be changing them in another thread; copying is one step.
            ids_of={file: row.session_id for file, row in rows.copy().items()},
        )
        return _Asked(listing=listing, scopes=scopes, current=current)

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
        with self._storing():
            async with self._refreshing:
                snapshot = await index.snapshot(wanted, self._config, budget, progress, opens=opens)
                reasons = await anyio.to_thread.run_sync(self._clean, index, listing)
        return replace(snapshot, coverage=snapshot.coverage.with_reasons(reasons))

    @contextmanager
    def _storing(self) -> Generator[None]:
        """Say where and why the index cannot be kept."""
        try:
            yield
        except TimeoutError as error:
            raise StoreError(self.cache.folder, "another process is using the index; ask again") from error
        except OSError as error:
            reason = f"the index cannot be kept: {error.strerror or error}; see memory.indexDir"
            place = Path(error.filename) if isinstance(error.filename, str) else self.cache.folder
            raise StoreError(place, reason) from error

    def _clean(self, index: Index, listing: Listing) -> set[str]:
        budget = CleanupBudget(self._config.max_cache_cleanup_files, self._config.max_sync_source_bytes)
        reasons: set[str] = set()
        # What cannot be written can be searched all the same, and groups that cannot be merged are built
        # anew when their sessions are asked for.
        with suppress(OSError, StoreError):
            reasons = self._cleaner.clean(listing, budget)
        with suppress(OSError, StoreError, ValueError):
            merge_small_groups(self.cache, index.catalogue)
        return reasons

    def _wanted(self, found: Sequence[Found], asked: "_Asked", branches: Branches) -> Wanted:
        live: dict[str, LiveBranch] = {}
        current = asked.current
        if current is not None and current.branch is not None and branches == "active":
            live[current.file] = current.branch
        return Wanted(
            found=found,
            hot=newest(asked.listing.found, self._config.hot_sessions),
            live=live,
            trusts_stamps=self._config.verify == "stat",
        )

    def _shown(self, limit: object) -> int:
        """How many sessions a listing tells."""
        most = min(self._config.max_sessions, _MAX_LISTED)
        return max(1, min(most, int(limit))) if is_finite_number(limit) else most

    def _session_row(self, found: Found, snapshot: Snapshot, wanted: Wanted) -> JsonObject:
        row = snapshot.rows.get(found.path)
        head = self._heads.of(found, snapshot.rows)
        record: JsonObject = {
            "id": (row.session_id if row is not None else head.session_id) or Path(found.path).stem,
            "file": found.path,
            # A listing looks no further than the head; what was digested is known to the end.
            "cwd": row.cwd if row is not None and row.tier == "cold" else head.cwd,
            "mtime": found.stamp.mtime_ms if found.stamp is not None else 0,
            "entryCount": row.entry_count if row is not None else 0,
            "tier": "hot" if found.path in wanted.hot else "cold",
            "branches": snapshot.branches,
            "lineageFingerprint": row.lineage if row is not None else None,
        }
        return record if found.kind == "pi" else record | {"source": found.kind}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """Where a question comes from."""

    listing: Listing
    scopes: Scopes
    current: Current | None

    def live_branch(self, found: Found | None, branches: Branches) -> LiveBranch | None:
        """The host's branch of a session; None for one that is not live, and for all branches."""
        is_live = found is not None and self.current is not None and self.current.file == found.path
        return self.current.branch if is_live and branches == "active" and self.current else None


def _absolute(path: Path) -> Path:
    """A path that does not follow the working folder; links in it stay as they are."""
    return path if path.is_absolute() else Path(os.path.abspath(path))  # noqa: PTH100


def _target(scope: str) -> str:
    return scope.strip().removeprefix("session:").strip()


def _known_roots(environ: Mapping[str, str], sessions_dir: Path) -> list[Root]:
    """Where the sessions of every agent are that we can read; Pi's first."""
    folders: dict[SourceKind, Path | None] = {
        "pi": sessions_dir,
        "claude": claude_root(environ),
        "codex": codex_root(environ),
    }
    return [Root(path=str(folder), kind=kind) for kind, folder in folders.items() if folder is not None]


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
