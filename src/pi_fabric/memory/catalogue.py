"""The list of what is known of every session, so that what has not changed is not read again.

One line a session, appended under a lock; of several for one file the last counts, and a torn line is no
line. Readers take no lock and read only what is new since they last looked.
"""

import os
import uuid
from collections.abc import Iterable
from contextlib import suppress
from typing import Final, TypeAlias

import msgspec
from filelock import FileLock

from pi_fabric.base.errors import StoreError
from pi_fabric.memory.cache import FILE_MODE, Cache
from pi_fabric.memory.model import Branches, Number, SourceKind, Tier
from pi_fabric.memory.stamp import Stamp

# Another process holds it for as long as it takes to append some lines.
LOCK_TIMEOUT_S: Final = 30.0
# Dead lines are cleared away when they are more than the living ones and more than this.
_MIN_DEAD_LINES: Final = 1_000


class Shown(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Entries that a filter sees alike: role and tool, and when they were written."""

    role: str | None
    tool: str | None
    first_ts: Number | None
    last_ts: Number | None
    has_untimed: bool
    """True when one of them has no time."""


class Head(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """What the header says when it lies within the first bytes of a file; a listing reads no more."""

    session_id: str | None
    """None without such a header."""
    cwd: str


class Row(msgspec.Struct, array_like=True, gc=False):
    """What is known of one session in one branch mode."""

    file: str
    kind: SourceKind
    tier: Tier
    stamp: Stamp
    read_began_ns: int
    """When the reading that gave `source_hash` began."""
    source_hash: str
    lineage: str
    file_lineage: str
    """The fingerprint without what a live host said; equal to `lineage` unless it said something else."""
    policy: str
    record: str
    """Name of the record."""
    record_stamp: Stamp
    session_id: str
    cwd: str
    head: Head
    entry_count: int
    last_ts: Number | None
    reasons: list[str]
    skipped_lines: int
    is_fold_complete: bool
    group: str
    """What the files beside the record are called: of a hot session alone, of cold ones together. A build
    has its own, so that what is read beside a record is never of another build."""
    slot: int
    """Cold: its number within the group."""
    shown: list[Shown]
    """Cold: what filters see of its addresses."""


class _Line(msgspec.Struct, gc=False, omit_defaults=True):
    list_id: str = ""
    """Of the first line, drawn for each list: a file system may give a number of a removed file again."""
    row: Row | None = None
    gone: str = ""


_Identity: TypeAlias = tuple[int, int, bytes]
# Of the first line, with all of its id.
_ID_BYTES: Final = 48

_encoder: Final = msgspec.json.Encoder()
_decoder: Final = msgspec.json.Decoder(_Line)


class Catalogue:
    """The rows of one branch mode; blocking. One object serves one thread at a time."""

    def __init__(self, cache: Cache, branches: Branches) -> None:
        self.rows: dict[str, Row] = {}
        """By path of the session; read-only for callers."""
        self.version = 0
        """Changes whenever rows do."""
        self._cache = cache
        self._path = cache.catalogue(branches)
        self._file: _Identity | None = None
        self._offset = 0
        self._lines = 0

    @property
    def is_loaded(self) -> bool:
        """True once there was a list to be read."""
        return self._file is not None

    def load(self) -> None:
        """Bring the rows up to what is on the disk.

        Raises:
            StoreError: If the file is there and cannot be read.
        """
        try:
            with self._path.open("rb") as stream:
                status = os.fstat(stream.fileno())
                identity = (status.st_dev, status.st_ino, os.pread(stream.fileno(), _ID_BYTES, 0))
                if identity != self._file or status.st_size < self._offset:
                    self._forget(identity)
                if status.st_size > self._offset:
                    stream.seek(self._offset)
                    self._take(stream.read(status.st_size - self._offset))
        except FileNotFoundError:
            if self._file is not None:
                self._forget(None)
        except OSError as error:
            raise StoreError(self._path, f"cannot be read: {error.strerror or error}") from error

    def update(self, rows: Iterable[Row], gone: Iterable[str] = ()) -> None:
        """Put rows in the place of those of the same sessions, and take out others.

        Raises:
            StoreError: If the list cannot be written; the rows then count in this process alone.
        """
        lines = [_Line(row=row) for row in rows] + [_Line(gone=file) for file in gone]
        if not lines:
            return
        with self.locked():
            self.load()
            data = b"".join(_encoder.encode(line) + b"\n" for line in lines)
            try:
                self._append(data)
                self.load()
                if self._lines - len(self.rows) > max(len(self.rows), _MIN_DEAD_LINES):
                    self._rewrite()
            except OSError as error:
                for line in lines:
                    self._apply(line)
                raise StoreError(self._path, f"cannot be written: {error.strerror or error}") from error

    def forget_gone(self) -> None:
        """Write the list anew without lines that no longer count: they tell paths of deleted sessions.

        Raises:
            StoreError: If the list cannot be written.
        """
        with self.locked():
            self.load()
            try:
                self._rewrite()
            except OSError as error:
                raise StoreError(self._path, f"cannot be written: {error.strerror or error}") from error

    def locked(self) -> FileLock:
        """The lock of the index, not yet taken.

        Taking it raises `filelock.Timeout` when another process does not let go.
        """
        # One object for each thread, so that who holds it may take it again.
        return FileLock(self._cache.lock(), timeout=LOCK_TIMEOUT_S, mode=FILE_MODE, is_singleton=True)

    def _append(self, data: bytes) -> None:
        descriptor = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        with os.fdopen(descriptor, "ab", buffering=0) as stream:
            size = os.fstat(descriptor).st_size
            # What a writer left half done becomes a line of its own.
            if not size:
                data = _first_line() + data
            elif os.pread(descriptor, 1, size - 1) != b"\n":
                data = b"\n" + data
            # A disk that fills up takes a part, and says so with the next.
            while data:
                data = data[stream.write(data) :]

    def _rewrite(self) -> None:
        first = _first_line()
        data = first + b"".join(_encoder.encode(_Line(row=row)) + b"\n" for row in self.rows.values())
        status = self._cache.write(self._path, data)
        self._file = (status.st_dev, status.st_ino, first[:_ID_BYTES])
        self._offset, self._lines = len(data), len(self.rows) + 1

    def _forget(self, identity: _Identity | None) -> None:
        self.rows = {}
        self.version += 1
        self._file, self._offset, self._lines = identity, 0, 0

    def _take(self, data: bytes) -> None:
        # A last line that is not ended is read again when it is.
        end = data.rfind(b"\n") + 1
        self._offset += end
        for line in data[:end].split(b"\n"):
            if line:
                self._lines += 1
                with suppress(msgspec.DecodeError, UnicodeDecodeError):
                    self._apply(_decoder.decode(line))
        self.version += 1

    def _apply(self, line: _Line) -> None:
        if line.row is not None:
            self.rows[line.row.file] = line.row
        elif line.gone:
            self.rows.pop(line.gone, None)


def _first_line() -> bytes:
    return _encoder.encode(_Line(list_id=uuid.uuid4().hex)) + b"\n"
