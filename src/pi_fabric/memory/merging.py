"""Bringing many small groups of cold sessions into one, so that a search opens few files."""

import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from pi_fabric.memory.cache import Cache
from pi_fabric.memory.catalogue import Catalogue, Row
from pi_fabric.memory.termfile import TermFile, encode_terms

# A group with fewer sessions than this is small, and so many small ones are too many.
_SMALL_GROUP: Final = 8
_MAX_SMALL_GROUPS: Final = 16
_MAX_MERGED: Final = 256


def merge_small_groups(cache: Cache, catalogue: Catalogue) -> None:
    """Merge the small groups when there are too many; blocking.

    Raises:
        OSError: If the words of a group cannot be read, or the new ones not be written.
        ValueError: If they are damaged.
        StoreError: If the catalogue cannot be written.
    """
    if not _small_groups(catalogue.rows.values()):
        return
    with catalogue.locked():
        catalogue.load()
        groups = _small_groups(catalogue.rows.values())
        if groups:
            catalogue.update(_merge(cache, groups))


def rewrite_groups(cache: Cache, catalogue: Catalogue, groups: Iterable[str]) -> None:
    """Write groups anew without the words of sessions that have left them; blocking.

    Raises:
        StoreError: If the catalogue cannot be written.
    """
    with catalogue.locked():
        catalogue.load()
        members: dict[str, list[Row]] = {group: [] for group in groups}
        for row in catalogue.rows.values():
            if row.tier == "cold" and row.group in members:
                members[row.group].append(row)
        for group, rows in members.items():
            # What cannot be written anew is built anew when it is asked for.
            with suppress(OSError, ValueError):
                catalogue.update(_merge(cache, {group: rows}) if rows else ())
            cache.remove_group(group)


def _small_groups(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The small groups with their sessions, when there are too many of them; else none."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row.tier == "cold":
            groups.setdefault(row.group, []).append(row)
    small = {group: members for group, members in groups.items() if len(members) < _SMALL_GROUP}
    return small if len(small) > _MAX_SMALL_GROUPS else {}


def _merge(cache: Cache, groups: dict[str, list[Row]]) -> list[Row]:
    merged = uuid.uuid4().hex
    moved = [row for members in groups.values() for row in members]
    if len(groups) > 1:
        del moved[_MAX_MERGED:]
    slots = {(row.group, row.slot): slot for slot, row in enumerate(moved)}
    for name in (cache.folded, cache.words):
        cache.write(name(merged), encode_terms(_gathered(name, groups, slots)))
    rows: list[Row] = []
    for slot, row in enumerate(moved):
        copy = msgspec.structs.replace(row, group=merged, slot=slot)
        rows.append(copy)
    return rows


def _gathered(
    name: Callable[[str], Path], groups: Iterable[str], slots: dict[tuple[str, int], int]
) -> dict[bytes, list[int]]:
    found: dict[bytes, list[int]] = {}
    for group in groups:
        for term, old in TermFile(name(group)).items():
            new = [slots[group, slot] for slot in old if (group, slot) in slots]
            if new:
                found.setdefault(term, []).extend(new)
    return found
