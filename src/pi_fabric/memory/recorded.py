"""Which records lie in the folder of the index, and whether they are the ones that were written."""

import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from typing import BinaryIO

import msgspec
from msgspec.structs import replace

from pi_fabric.memory.cache import Cache, is_record_name
from pi_fabric.memory.catalogue import Row
from pi_fabric.memory.model import CACHE_VERSION
from pi_fabric.memory.stamp import Stamp, stamp_of


class RecordLost(Exception):
    """A record is not there as it was written: somebody removed or replaced it since it was looked at."""

    def __init__(self, row: Row) -> None:
        super().__init__(row.record)
        self.row = row


class _Identity(msgspec.Struct, rename="camel"):
    cache_version: int
    source_hash: str
    policy: str


@contextmanager
def opened_shard(cache: Cache, row: Row) -> Generator[BinaryIO]:
    """Open the record of a hot session for reading, byte for byte the one that was built; blocking.

    Raises:
        RecordLost: If it is not there any more.
    """
    for path in (cache.entries(row.group), cache.record(row.record)):
        try:
            stream = path.open("rb")
        except OSError:
            continue
        with stream:
            now = stamp_of(os.fstat(stream.fileno()))
            # The change time tells also of names that a file was given or has lost.
            if replace(now, ctime_ns=row.record_stamp.ctime_ns) == row.record_stamp:
                yield stream
                return
    raise RecordLost(row)


def read_digest(cache: Cache, row: Row) -> bytes:
    """The record of a cold session: the one that was built, or one that another process built alike.

    Raises:
        RecordLost: If it is not there any more.
    """
    try:
        data = cache.record(row.record).read_bytes()
        told = msgspec.json.decode(data, type=_Identity)
    except (OSError, ValueError):
        raise RecordLost(row) from None
    if (told.cache_version, told.source_hash, told.policy) != (CACHE_VERSION, row.source_hash, row.policy):
        raise RecordLost(row)
    return data


class RecordStamps:
    """The status of every record, read when the folder has changed since; blocking."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._stamps: dict[str, Stamp] = {}
        self._folder_ns = -1
        self.version = 0
        """Changes whenever records do."""

    @property
    def names(self) -> Iterable[str]:
        """Every record that there is."""
        return self._stamps

    def load(self) -> None:
        """Look at the folder again, unless nothing was made or removed in it.

        Raises:
            OSError: If the folder cannot be read.
        """
        folder_ns = self._cache.folder.stat().st_mtime_ns
        if folder_ns != self._folder_ns:
            self._stamps = {}
            with os.scandir(self._cache.folder) as entries:
                for entry in entries:
                    # One that another process removes just now is none.
                    with suppress(FileNotFoundError):
                        if is_record_name(entry.name) and entry.is_file():
                            self._stamps[entry.name] = stamp_of(entry.stat())
            self._folder_ns = folder_ns
            self.version += 1

    def has(self, row: Row) -> bool:
        """True when a row's record is there as it was written."""
        return self._stamps.get(row.record) == row.record_stamp

    def note(self, rows: Iterable[Row]) -> None:
        """Take in records that were written just now."""
        self._stamps.update((row.record, row.record_stamp) for row in rows)

    def stamp(self, name: str) -> Stamp | None:
        """The status of a record; None when it is not there."""
        return self._stamps.get(name)

    def forget(self, name: str) -> None:
        """Take out a record that was removed."""
        self._stamps.pop(name, None)
