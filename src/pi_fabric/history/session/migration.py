"""Formats 1 and 2 read as format 3, by Pi's own rules, without touching the file.

Format 1 has no ids: an entry follows the one before it, and a compaction names what it kept by position.
Pi draws ids at random and writes them into the file; ours are the positions, so that reading twice gives
the same ids.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from pi_fabric.base.jsonvalue import Json, JsonObject, is_number, is_object, is_truthy

CURRENT_VERSION: Final = 3


class Migration:
    """Brings one file's entries to the current format, one after the other."""

    def __init__(self, version: int) -> None:
        self._version = version
        self._previous_id: str | None = None
        self._positions: set[int] = set()

    def apply(self, entry: JsonObject, position: int) -> None:
        """Change `entry` in place.

        Args:
            entry: As decoded from the file; not a header.
            position: Its place among what Pi reads of the file, the header being 0.
        """
        if self._version < 2:
            self._link(entry, position)
        if self._version < 3 and entry.get("type") == "message":
            message = entry.get("message")
            if is_object(message) and message.get("role") == "hookMessage":
                message["role"] = "custom"

    def _link(self, entry: JsonObject, position: int) -> None:
        entry["id"] = _id_at(position)
        entry["parentId"] = self._previous_id
        self._previous_id = entry["id"]
        self._positions.add(position)
        index = entry.get("firstKeptEntryIndex")
        if entry.get("type") == "compaction" and is_number(index):
            del entry["firstKeptEntryIndex"]
            # A header or nothing at that place names no entry.
            if index in self._positions:
                entry["firstKeptEntryId"] = _id_at(int(index))


def migrated(values: Iterable[Json]) -> Iterator[Json]:
    """The values of a file's lines, those of formats 1 and 2 changed in place; lazy.

    A file without a header is taken as it is.
    """
    migration: Migration | None = None
    position = 0
    for value in values:
        if is_object(value):
            if value.get("type") != "session":
                if migration is not None:
                    migration.apply(value, position)
            elif migration is None and isinstance(value.get("id"), str):
                migration = Migration(version_of(value))
        position += counted(value)
        yield value


def counted(value: Json) -> int:
    """1 for what Pi counts of a file's lines; it drops what is null, false, 0 or an empty text."""
    return int(is_truthy(value))


def version_of(header: JsonObject) -> int:
    """The format that a header tells: 1 when it tells none, the current one when it cannot be read."""
    version = header.get("version")
    if version is None:
        return 1
    return int(version) if is_number(version) and abs(version) < 2**31 else CURRENT_VERSION


def version_without_header(first_entry: JsonObject) -> int:
    """The format of a file whose header is lost: 1 when its entries have no ids."""
    return CURRENT_VERSION if isinstance(first_entry.get("id"), str) else 1


def _id_at(position: int) -> str:
    # Eight hexadecimal digits, as Pi's ids have.
    return f"{position:08x}"
