"""Removing what nothing needs any more: records of deleted sessions, foreign records, left-over files.

Each branch mode owns its records: what one catalogue does not know may be the other's.
"""

import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import msgspec

from pi_fabric.memory.cache import Cache, record_name
from pi_fabric.memory.catalogue import Catalogue, Row
from pi_fabric.memory.discovery import Listing
from pi_fabric.memory.merging import rewrite_groups
from pi_fabric.memory.model import CACHE_VERSION, Branches
from pi_fabric.memory.recorded import RecordStamps
from pi_fabric.memory.stamp import Stamp

CLEANUP_BUDGET: Final = "cache_cleanup_budget"
# Another process may have written a file and not yet the row that names it.
_YOUNG_S: Final = 600.0


class _Record(msgspec.Struct, rename="camel"):
    """What tells whose a record is."""

    cache_version: int
    kind: str
    file: str
    branches: Branches


@dataclass(slots=True)
class CleanupBudget:
    """Records that one clean-up may look into."""

    files: int
    file_bytes: int


class Cleaner:
    """Cleans one cache; blocking, one call at a time."""

    def __init__(self, cache: Cache, records: RecordStamps, catalogues: Mapping[Branches, Catalogue]) -> None:
        self._cache = cache
        self._records = records
        self._catalogues = catalogues
        self._kept: dict[str, Stamp] = {}
        self._state: object = None

    def clean(self, listing: Listing, budget: CleanupBudget) -> set[str]:
        """Remove what belongs to no session that there is.

        Args:
            listing: Every session; what lies in a folder that could not be listed counts as there.
            budget: How much may be looked into.

        Returns:
            What stands against everything having been looked at.
        """
        for catalogue in self._catalogues.values():
            catalogue.load()
        paths = frozenset(one.path for one in listing.found)
        for catalogue in self._catalogues.values():
            if rows := self._gone(catalogue.rows.values(), paths, listing):
                catalogue.update((), [row.file for row in rows])
                catalogue.forget_gone()
                self._remove(rows)
                rewrite_groups(self._cache, catalogue, {row.group for row in rows if row.tier == "cold"})
        state = (self._records.version, *(one.version for one in self._catalogues.values()))
        if state == self._state:
            return set()
        reasons = self._clean_records(paths, listing, budget)
        self._clean_own()
        if not reasons:
            self._state = (self._records.version, *(one.version for one in self._catalogues.values()))
        return reasons

    def _gone(self, rows: Iterable[Row], paths: frozenset[str], listing: Listing) -> list[Row]:
        return [row for row in rows if row.file not in paths and not _is_there(row.file, listing)]

    def _remove(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self._remove_record(row.record)
            if row.tier == "hot":
                self._cache.remove_group(row.group)

    def _remove_record(self, name: str) -> None:
        self._cache.remove(self._cache.record(name))
        self._records.forget(name)

    def _clean_records(self, paths: frozenset[str], listing: Listing, budget: CleanupBudget) -> set[str]:
        known = {row.record for one in self._catalogues.values() for row in one.rows.values()}
        unknown = [name for name in self._records.names if name not in known]
        for name in unknown:
            stamp = self._records.stamp(name)
            if stamp is None or self._kept.get(name) == stamp:
                continue
            if budget.files <= 0 or stamp.size > budget.file_bytes:
                return {CLEANUP_BUDGET}
            budget.files -= 1
            budget.file_bytes -= stamp.size
            if self._is_someones(name, paths, listing):
                self._kept[name] = stamp
            else:
                self._remove_record(name)
        return set()

    def _is_someones(self, name: str, paths: frozenset[str], listing: Listing) -> bool:
        """True for a record of this format, under its right name, of a session that there is."""
        try:
            record = msgspec.json.decode(self._cache.record(name).read_bytes(), type=_Record)
        except (OSError, ValueError):
            return False
        if record.cache_version != CACHE_VERSION:
            return False
        row = self._catalogues[record.branches].rows.get(record.file)
        if row is not None and row.record != name:
            # Of the tier that the session was in before.
            return False
        right = record_name(record.file, record.branches, "cold" if record.kind == "digest" else "hot")
        return right == name and (record.file in paths or _is_there(record.file, listing))

    def _clean_own(self) -> None:
        """Remove files beside the records that no row names."""
        rows = [row for one in self._catalogues.values() for row in one.rows.values()]
        named = {row.group for row in rows} | {row.record for row in rows}
        named |= {"lock", *(self._cache.catalogue(mode).stem for mode in self._catalogues)}
        limit = time.time() - _YOUNG_S
        with suppress(OSError), os.scandir(self._cache.own) as entries:
            for entry in entries:
                stem = entry.name.rpartition(".")[0] or entry.name
                # One that another process removes just now needs no removing.
                with suppress(OSError):
                    if stem not in named and entry.stat().st_mtime < limit:
                        self._cache.remove(self._cache.own / entry.name)


def _is_there(file: str, listing: Listing) -> bool:
    """True for a file that a listing could not or need not find."""
    if any(file == place or file.startswith(f"{place}{os.sep}") for place in listing.unreadable):
        return True
    return os.path.exists(file)  # noqa: PTH110 - a text costs less than a Path
