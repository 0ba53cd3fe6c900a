"""Bringing the index up to date for the sessions of a question, within the budgets for work.

What has not changed is neither read nor hashed. What is built is on the disk and in the catalogue as soon
as its group is done, so that a run that is killed loses only the groups at hand.
"""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import anyio.to_thread

from pi_fabric.base.errors import StoreError
from pi_fabric.config.model import MemoryConfig
from pi_fabric.memory.building import SOURCE_UNAVAILABLE, Builder, Built, Options, Task
from pi_fabric.memory.cache import Cache
from pi_fabric.memory.catalogue import Catalogue, Row
from pi_fabric.memory.crew import build_with_workers, grouped
from pi_fabric.memory.discovery import Found
from pi_fabric.memory.lineage import LiveBranch, fingerprint
from pi_fabric.memory.merging import rewrite_groups
from pi_fabric.memory.model import Branches, Tier
from pi_fabric.memory.recorded import RecordStamps
from pi_fabric.memory.source import SourceChanged, hash_source
from pi_fabric.memory.stamp import Stamp, keeps_change_times

MAX_SYNC_SESSIONS: Final = "max_sync_sessions"
MAX_SYNC_BYTES: Final = "max_sync_source_bytes"
# Below it starting a process takes longer than the work.
_MIN_WORKER_BYTES: Final = 3 * 1024 * 1024
_MIN_WORKER_TASKS: Final = 2
# A lone session beyond it is built in a process, so that ours keeps neither its memory nor its time.
_LONE_BYTES: Final = 16 * 1024 * 1024
# Stands for a lineage in a policy; nothing else in it looks like this.
_LINEAGE: Final = "\0"

Progress = Callable[[int, int], None]
"""Told of the sessions that are done and of those that were to be done."""


@dataclass(slots=True)
class Budget:
    """Work that one question may cause."""

    sessions: int
    source_bytes: int
    reasons: set[str] = field(default_factory=set[str])

    @classmethod
    def unbounded(cls) -> "Budget":
        """For work that a person asked for and can see and stop."""
        return cls(sys.maxsize, sys.maxsize)

    def takes(self, source_bytes: int, *, counts_session: bool = True) -> bool:
        """Charge a source to the budget; False when it no longer fits."""
        if counts_session and self.sessions <= 0:
            self.reasons.add(MAX_SYNC_SESSIONS)
            return False
        if source_bytes > self.source_bytes:
            self.reasons.add(MAX_SYNC_BYTES)
            return False
        self.sessions -= counts_session
        self.source_bytes -= source_bytes
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The sessions of a question, and how they are to be indexed."""

    found: Sequence[Found]
    """Newest first."""
    hot: frozenset[str]
    """Paths of all sessions that are hot."""
    live: Mapping[str, LiveBranch]
    """Branches that the host reports, by path."""
    trusts_stamps: bool
    """False to read every file, whatever its status says."""


@dataclass(slots=True)
class Refreshed:
    """What the index holds of the wanted sessions."""

    rows: dict[str, Row] = field(default_factory=dict[str, Row])
    """Usable rows by path, in the order wanted."""
    stale: dict[str, str] = field(default_factory=dict[str, str])
    """Paths without a usable row, each with the reason; empty when only a budget stands against it."""
    reasons: set[str] = field(default_factory=set[str])


@dataclass(slots=True)
class _Plan:
    """What is to be done for a question, and what has come of it."""

    rows: dict[str, Row] = field(default_factory=dict[str, Row])
    stale: dict[str, str] = field(default_factory=dict[str, str])
    tasks: list[tuple[Task, int]] = field(default_factory=list[tuple[Task, int]])
    left: set[str] = field(default_factory=set[str])
    """Groups that sessions have left for another."""
    reasons: set[str] = field(default_factory=set[str])
    done: int = 0


def options_of(config: MemoryConfig, branches: Branches) -> Options:
    """The settings that records depend on."""
    return Options(
        branches=branches,
        max_entry_chars=config.max_entry_chars,
        thinking=config.index_thinking,
        tool_output=config.index_tool_output,
        max_vocabulary_bytes=config.max_cold_vocabulary_bytes,
        max_cache_bytes=config.max_cold_cache_bytes,
    )


class Refresher:
    """Keeps one branch mode of one index; one refresh at a time."""

    def __init__(self, cache: Cache, catalogue: Catalogue, options: Options, records: RecordStamps) -> None:
        self._cache = cache
        self._catalogue = catalogue
        self._options = options
        self._records = records
        # A policy is looked at for every session; all but the lineage is the same for all of a tier.
        tiers: tuple[Tier, ...] = ("hot", "cold")
        self._policies = {tier: options.policy(tier, _LINEAGE).split(_LINEAGE) for tier in tiers}

    async def refresh(self, wanted: Wanted, budget: Budget, progress: Progress | None = None) -> Refreshed:
        """Bring the wanted sessions up to date as far as the budget goes.

        Raises:
            OSError: If the index cannot be written.
        """
        plan = await anyio.to_thread.run_sync(self._plan, wanted, budget)
        if plan.tasks:
            await self._build(plan, progress)
        return self._result(wanted, plan)

    def _plan(self, wanted: Wanted, budget: Budget) -> _Plan:
        self._cache.prepare()
        self._catalogue.load()
        self._records.load()
        plan = _Plan()
        checked: list[Row] = []
        places = {one.stamp.device: one.path for one in wanted.found if one.stamp is not None}
        trusts_stamps = wanted.trusts_stamps and keeps_change_times(places)
        for found in wanted.found:
            if found.stamp is None:
                plan.stale[found.path] = SOURCE_UNAVAILABLE
                continue
            tier: Tier = "hot" if found.path in wanted.hot else "cold"
            live = wanted.live.get(found.path) if self._options.branches == "active" else None
            row = self._catalogue.rows.get(found.path)
            if row is not None and self._is_current(row, tier, live, found.stamp):
                if trusts_stamps and row.stamp.was_settled(row.read_began_ns):
                    plan.rows[found.path] = row
                    continue
                began_ns = self._verify(row, found.stamp, budget)
                if began_ns is not None:
                    plan.rows[found.path] = row
                    # Written down only where it spares the next reading.
                    if row.stamp.was_settled(began_ns) and not row.stamp.was_settled(row.read_began_ns):
                        row.read_began_ns = began_ns
                        checked.append(row)
                    continue
            if budget.takes(found.stamp.size):
                plan.tasks.append((_task(found, tier, live), found.stamp.size))
            else:
                plan.stale[found.path] = ""
        if checked:
            self._catalogue.update(checked)
        plan.reasons |= budget.reasons
        return plan

    def _is_current(self, row: Row, tier: Tier, live: LiveBranch | None, stamp: Stamp) -> bool:
        lineage = row.file_lineage if live is None else fingerprint("active", live.leaf_id, live.ids)
        before, after = self._policies[tier]
        return (
            row.stamp == stamp
            and row.tier == tier
            and row.lineage == lineage
            and row.policy == f"{before}{lineage}{after}"
            and self._records.has(row)
        )

    def _verify(self, row: Row, stamp: Stamp, budget: Budget) -> int | None:
        """When a reading began that found the source's bytes as they were; None when it did not."""
        if not budget.takes(stamp.size, counts_session=False):
            return None
        try:
            source_hash, now, began_ns = hash_source(row.file)
        except (OSError, SourceChanged):
            return None
        return began_ns if source_hash == row.source_hash and now == stamp else None

    async def _build(self, plan: _Plan, progress: Progress | None) -> None:
        total = len(plan.tasks)
        source_bytes = sum(size for _, size in plan.tasks)
        groups = grouped(plan.tasks)

        async def take(built: list[Built]) -> None:
            await anyio.to_thread.run_sync(partial(self._take, plan, built))
            if progress is not None:
                progress(plan.done, total)

        if progress is not None:
            progress(0, total)
        if source_bytes >= _MIN_WORKER_BYTES and (total >= _MIN_WORKER_TASKS or source_bytes > _LONE_BYTES):
            await build_with_workers(self._cache, self._options, groups, take)
        else:
            builder = Builder(self._cache, self._options)
            for group in groups:
                await take(await anyio.to_thread.run_sync(builder.build, group))
        await anyio.to_thread.run_sync(self._tidy, plan)

    def _take(self, plan: _Plan, built: Iterable[Built]) -> None:
        rows: list[Row] = []
        for one in built:
            plan.done += 1
            if one.row is None:
                plan.stale[one.file] = one.problem
            else:
                rows.append(one.row)
                plan.rows[one.file] = one.row
        before = [old for row in rows if (old := self._catalogue.rows.get(row.file)) is not None]
        self._catalogue.update(rows)
        for old in before:
            self._records.forget(old.record)
        self._records.note(rows)
        plan.left |= {old.group for old in before}

    def _tidy(self, plan: _Plan) -> None:
        """Remove groups that sessions have left, and their words from those that others are still in."""
        used = plan.left.intersection(row.group for row in self._catalogue.rows.values())
        for group in plan.left - used:
            self._cache.retire_group(group)
        if used:
            # Words that nobody asks for stay where they cannot be taken out.
            with suppress(OSError, StoreError):
                rewrite_groups(self._cache, self._catalogue, used)
            rows = self._catalogue.rows
            plan.rows = {file: rows.get(file, row) for file, row in plan.rows.items()}

    def _result(self, wanted: Wanted, plan: _Plan) -> Refreshed:
        rows = {one.path: plan.rows[one.path] for one in wanted.found if one.path in plan.rows}
        reasons = plan.reasons | {reason for reason in plan.stale.values() if reason}
        return Refreshed(rows=rows, stale=plan.stale, reasons=reasons)


def _task(found: Found, tier: Tier, live: LiveBranch | None) -> Task:
    return Task(
        file=found.path,
        tier=tier,
        kind=found.kind,
        live_ids=None if live is None else live.ids,
        live_leaf_id=None if live is None else live.leaf_id,
    )
