"""Following a session file while Pi appends to it.

Each call reads only what is new, so that the entries are decoded before somebody asks for them. Memory is
that of the decoded entries, about three times the file, plus the longest line; a file beyond the bound is
refused.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from pi_fabric.base.collector import collection_paused
from pi_fabric.base.errors import StoreError
from pi_fabric.base.jsonl import read_records
from pi_fabric.history.session.log import Session
from pi_fabric.history.session.reader import MAX_SESSION_BYTES, open_session

# What was read last is compared before more is read: a file rewritten in place keeps its inode and may
# have grown, but its ids are other ones.
_TAIL_BYTES: Final = 512

# Identity that no file has.
_NO_FILE: Final = (-1, -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """What a look at the file brought."""

    first_new: int
    """Index in `session.entries` of the first entry that was not there before; its length for none."""
    is_anew: bool
    """True when the file was replaced, cut or removed: `session` is then another one, read from the start."""


@dataclass(frozen=True, slots=True)
class _Place:
    """How far a file has been read."""

    identity: tuple[int, int]
    """Device and inode."""
    offset: int = 0
    line: int = 1
    tail: bytes = b""
    """The last bytes before `offset`."""


class SessionFollower:
    """Keeps a `Session` level with its file; holds no file open between calls.

    Blocking, and for one caller at a time: from async code through a thread and a lock.
    """

    def __init__(self, path: Path, *, max_bytes: int = MAX_SESSION_BYTES) -> None:
        self.session = Session(path)
        """Grows in place; another object once the file has been replaced."""
        self._path = path
        self._max_bytes = max_bytes
        self._place: _Place | None = None

    def catch_up(self) -> Growth:
        """Read what the file has more than at the last call.

        A file that does not exist yet counts as empty. A last line without its line feed waits for the
        rest of it.

        Raises:
            StoreError: If the file exists and cannot be read.
            LimitReached: If it has grown beyond the bound.
        """
        try:
            with open_session(self._path, self._max_bytes) as stream:
                return self._catch_up(stream)
        except FileNotFoundError:
            was_there = self._place is not None
            if was_there:
                self.session, self._place = Session(self._path), None
            return Growth(first_new=0, is_anew=was_there)
        except OSError as error:
            reason = f"the session cannot be followed: {error.strerror or error}"
            raise StoreError(self._path, reason) from error

    def _catch_up(self, stream: BinaryIO) -> Growth:
        status = os.fstat(stream.fileno())
        identity = (status.st_dev, status.st_ino)
        known = self._place
        is_anew = known is not None and not _is_continued(stream, known, identity, status.st_size)
        if is_anew:
            self.session = Session(self._path)
        first_new = len(self.session.entries)
        # Whatever ends the reading half-way, the next call then starts anew.
        self._place = _Place(_NO_FILE)
        with collection_paused():
            self._place = self._read_on(stream, _Place(identity) if known is None or is_anew else known)
        return Growth(first_new=first_new, is_anew=is_anew)

    def _read_on(self, stream: BinaryIO, place: _Place) -> _Place:
        offset, line = place.offset, place.line
        stream.seek(offset)
        for record in read_records(stream, offset=offset, line=line):
            if not record.is_ended:
                break
            self.session.add(record)
            offset, line = record.offset + record.size + 1, record.line + 1
        return _Place(place.identity, offset, line, _tail(stream, offset))


def _is_continued(stream: BinaryIO, place: _Place, identity: tuple[int, int], size_bytes: int) -> bool:
    is_same = place.identity == identity and size_bytes >= place.offset
    return is_same and _tail(stream, place.offset) == place.tail


def _tail(stream: BinaryIO, end: int) -> bytes:
    start = max(0, end - _TAIL_BYTES)
    stream.seek(start)
    return stream.read(end - start)
