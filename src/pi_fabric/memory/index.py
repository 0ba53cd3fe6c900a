"""The index of one branch mode: what is asked of it is first brought up to date.

Holds in memory what was looked at last: rows of the catalogue, columns of hot sessions, open files. All of
it is dropped when the disk says otherwise.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final

import anyio
import anyio.to_thread

from pi_fabric.config.model import MemoryConfig
from pi_fabric.memory.building import INDEX_ERROR
from pi_fabric.memory.cache import Cache
from pi_fabric.memory.catalogue import Catalogue, Row
from pi_fabric.memory.cold import ColdIndex
from pi_fabric.memory.model import Branches, Coverage
from pi_fabric.memory.recorded import RecordStamps
from pi_fabric.memory.refresh import Budget, Progress, Refreshed, Refresher, Wanted, options_of
from pi_fabric.memory.searchable import IndexedSession

# A session that other processes build again and again while we look at it is given up after this many.
_ATTEMPTS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The wanted sessions, ready to be searched."""

    branches: Branches
    hot: list[IndexedSession]
    """In the order wanted."""
    cold: list[Row]
    rows: dict[str, Row]
    stale: dict[str, str]
    """Wanted sessions that have no row, each with the reason."""
    coverage: Coverage
    is_fold_complete: bool


class Index:
    """One branch mode of one cache; one question at a time."""

    def __init__(self, cache: Cache, branches: Branches, records: RecordStamps) -> None:
        self.branches: Branches = branches
        self.catalogue = Catalogue(cache, branches)
        self.cold = ColdIndex(cache)
        self._cache = cache
        self._records = records
        self._sessions: dict[str, tuple[Row, IndexedSession]] = {}

    async def snapshot(
        self,
        wanted: Wanted,
        config: MemoryConfig,
        budget: Budget,
        progress: Progress | None = None,
        *,
        opens: bool = True,
    ) -> Snapshot:
        """Bring the wanted sessions up to date and open the hot ones.

        Args:
            wanted: The sessions.
            config: Settings of the records.
            budget: Work that may be done.
            progress: Told while records are built.
            opens: False when only rows are needed.

        Raises:
            OSError: If the index cannot be written.
        """
        refresher = Refresher(self._cache, self.catalogue, options_of(config, self.branches), self._records)
        refreshed = await refresher.refresh(wanted, budget, progress)
        lost = await anyio.to_thread.run_sync(partial(self._open, refreshed.rows.values())) if opens else []
        for _ in range(_ATTEMPTS):
            if not lost:
                break
            # Somebody removed or damaged what lies beside the records, or another process has newer ones.
            self.forget(lost)
            refreshed = await refresher.refresh(wanted, budget, progress)
            lost = await anyio.to_thread.run_sync(partial(self._open, refreshed.rows.values()))
        for row in lost:
            refreshed.rows.pop(row.file)
            refreshed.stale[row.file] = INDEX_ERROR
            refreshed.reasons.add(INDEX_ERROR)
        return self._snapshot(wanted, refreshed, opens=opens)

    async def rebuild(
        self, wanted: Wanted, config: MemoryConfig, progress: Progress | None = None
    ) -> Snapshot:
        """Build the wanted sessions anew, without bounds on the work.

        Raises:
            OSError: If the index cannot be written.
        """
        before = await anyio.to_thread.run_sync(self._forget_all)
        try:
            return await self.snapshot(wanted, config, Budget.unbounded(), progress, opens=False)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._remove_groups, before)

    def _forget_all(self) -> frozenset[str]:
        """Take all rows out; the groups that they were in."""
        self._cache.prepare()
        self.catalogue.load()
        groups = frozenset(row.group for row in self.catalogue.rows.values())
        self.catalogue.update((), list(self.catalogue.rows))
        return groups

    def _remove_groups(self, groups: frozenset[str]) -> None:
        for group in groups.difference(row.group for row in self.catalogue.rows.values()):
            self._cache.remove_group(group)

    def forget(self, rows: Iterable[Row]) -> None:
        """Take rows as not known, so that their sessions are built at the next question.

        What another question has put in their place since stays.
        """
        for row in rows:
            if self.catalogue.rows.get(row.file) is row:
                del self.catalogue.rows[row.file]
            self._sessions.pop(row.file, None)

    def _open(self, rows: Iterable[Row]) -> list[Row]:
        """Open what is not open yet; the rows of which something is missing."""
        lost: list[Row] = []
        hot: dict[str, tuple[Row, IndexedSession]] = {}
        groups: set[str] = set()
        for row in rows:
            if row.tier == "cold":
                groups.add(row.group)
                continue
            known = self._sessions.get(row.file)
            if known is not None and known[0] is row:
                hot[row.file] = known
                continue
            try:
                hot[row.file] = (row, IndexedSession(self._cache, row))
            except (OSError, ValueError):
                lost.append(row)
        self._sessions = hot
        self.cold.keep_only(groups)
        missing = self.cold.missing(groups)
        return lost + [row for row in rows if row.tier == "cold" and row.group in missing]

    def _snapshot(self, wanted: Wanted, refreshed: Refreshed, *, opens: bool) -> Snapshot:
        rows = refreshed.rows
        reasons = set(refreshed.reasons)
        for row in rows.values():
            if row.reasons:
                reasons.update(row.reasons)
        return Snapshot(
            branches=self.branches,
            hot=[self._sessions[row.file][1] for row in rows.values() if row.tier == "hot"] if opens else [],
            cold=[row for row in rows.values() if row.tier == "cold"],
            rows=rows,
            stale=refreshed.stale,
            coverage=Coverage(
                indexed_sessions=len(rows),
                eligible_sessions=len(wanted.found),
                stale_sessions=len(wanted.found) - len(rows),
                incomplete_sessions=sum(bool(row.reasons) for row in rows.values()),
                reasons=frozenset(reasons),
                skipped_lines=sum(row.skipped_lines for row in rows.values()),
            ),
            is_fold_complete=all(row.is_fold_complete for row in rows.values()),
        )
