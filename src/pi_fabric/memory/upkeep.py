"""What the index holds, and removing it."""

import os
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from pi_fabric.memory.cache import ENTRIES_SUFFIX, Cache, is_record_name
from pi_fabric.memory.catalogue import Row
from pi_fabric.memory.discovery import Listing
from pi_fabric.memory.model import Branches


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeStatus:
    """What one branch mode has in the index."""

    indexed: int
    """Sessions with a record, whether or not they have changed since."""
    hot: int
    cold: int
    stale: int
    """Sessions on the disk without a record, or changed since theirs was written."""
    incomplete: int
    """Sessions of which something is not in the index."""
    reasons: Mapping[str, int]
    """Why, with the number of sessions."""
    skipped_lines: int
    """Lines of sessions that are no JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryStatus:
    """The index as it lies on the disk."""

    folder: Path
    sessions_on_disk: int
    by_mode: Mapping[Branches, ModeStatus]
    record_files: int
    record_bytes: int
    own_files: int
    """Beside the records: what is looked up without reading them."""
    own_bytes: int
    unreadable: tuple[str, ...]
    """Folders and files of sessions that could not be looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildResult:
    """What came of building everything anew."""

    indexed: int
    failed: Mapping[str, str]
    """Sessions that could not be built, each with the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearResult:
    """What was removed."""

    files: int
    file_bytes: int


def mode_status(rows: Mapping[str, Row], listing: Listing) -> ModeStatus:
    """Count what one catalogue holds of the sessions that there are."""
    known = [row for one in listing.found if (row := rows.get(one.path)) is not None]
    reasons = Counter(reason for row in known for reason in row.reasons)
    current = sum((row := rows.get(one.path)) is not None and row.stamp == one.stamp for one in listing.found)
    return ModeStatus(
        indexed=len(known),
        hot=sum(row.tier == "hot" for row in known),
        cold=sum(row.tier == "cold" for row in known),
        stale=len(listing.found) - current,
        incomplete=sum(bool(row.reasons) for row in known),
        reasons=dict(reasons),
        skipped_lines=sum(row.skipped_lines for row in known),
    )


def measure(folder: Path, *, only_records: bool = False) -> tuple[int, int]:
    """Files in a folder and their bytes; none for one that is not there."""
    files = size = 0
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            # What is a second name of a record counts once.
            if entry.name.endswith(ENTRIES_SUFFIX):
                continue
            # One that another process removes just now is none.
            with suppress(OSError):
                if entry.is_file() and (not only_records or is_record_name(entry.name)):
                    size += entry.stat().st_size
                    files += 1
    return files, size


def clear(cache: Cache, lock: Callable[[], AbstractContextManager[object]]) -> ClearResult:
    """Remove records and what lies beside them; other files in the folder stay. Blocking.

    Args:
        cache: What is cleared.
        lock: Gives the lock of the index. Its file stays, for another process may be waiting for it.

    Raises:
        OSError: If another process does not let go of the lock.
    """
    with lock() if cache.own.is_dir() else nullcontext():
        return _clear(cache)


def _clear(cache: Cache) -> ClearResult:
    records = measure(cache.folder, only_records=True)
    own = measure(cache.own)
    with suppress(OSError), os.scandir(cache.folder) as entries:
        names = [entry.name for entry in entries if is_record_name(entry.name)]
        cache.remove(*(cache.record(name) for name in names))
    with suppress(OSError), os.scandir(cache.own) as entries:
        lock = cache.lock().name
        cache.remove(*(Path(entry.path) for entry in entries if entry.is_file() and entry.name != lock))
    left = measure(cache.folder, only_records=True)
    still = measure(cache.own)
    return ClearResult(
        files=records[0] + own[0] - left[0] - still[0],
        file_bytes=records[1] + own[1] - left[1] - still[1],
    )
