"""Reading a session file for the index: its bytes are hashed and its lines understood in one pass.

A file that is too large to hold is read twice instead, line by line.
"""

import hashlib
import io
import os
import stat
import time
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO, Final

from pi_fabric.base.collector import collection_paused
from pi_fabric.base.jsonl import read_records
from pi_fabric.base.jsonvalue import Json, JsonObject, decode, is_object, text_or_empty
from pi_fabric.history.session.migration import migrated
from pi_fabric.memory.catalogue import Head
from pi_fabric.memory.lineage import Lineage, Lines
from pi_fabric.memory.model import SourceKind
from pi_fabric.memory.stamp import Stamp, stamp_of

# Decoded, a file takes about three times its size.
MAX_HELD_BYTES: Final = 32 * 1024 * 1024
_CHUNK_BYTES: Final = 1 << 20
HEAD_BYTES: Final = 8_192
"""How much of a file of Pi's a listing looks at."""
_OTHER_HEAD_BYTES: Final = 256 * 1024
LINE_TOO_LONG: Final = "line_too_long"


class SourceChanged(Exception):
    """The file was written while it was read."""


class Source:
    """One session file as it was at one moment.

    Raises:
        OSError: If it cannot be read, or is no regular file.
        SourceChanged: If it was written meanwhile.
    """

    def __init__(self, path: str, kind: SourceKind = "pi") -> None:
        self.path = path
        self.kind: SourceKind = kind
        self.read_began_ns = time.time_ns()
        self.lines = Lines()
        self.session_id = Path(path).stem
        """The header's, else the name of the file."""
        self.cwd = ""
        self.skipped_lines = 0
        """Lines that are no JSON: what they said is lost. One that is JSON and no object says nothing."""
        self.reasons: set[str] = set()
        self.has_header = False
        """True when a line names the session."""
        self.parent_session: str | None = None
        """File that this one was forked from, as its header says."""
        self.head = Head(None, "")
        """What a listing knows of the file."""
        self._headers: list[tuple[int, str]] = []
        self._held: list[JsonObject | None] | None = None
        with opened(path) as stream:
            self.stamp: Stamp = stamp_of(os.fstat(stream.fileno()))
            self.head = read_head(stream, kind)
            if self.stamp.size <= MAX_HELD_BYTES:
                self.source_hash = self._read_at_once(stream)
            else:
                self.source_hash = self._read_through(stream)
            self._check_unchanged(stream)

    @property
    def is_held(self) -> bool:
        """True when all lines are in memory; a larger file is read again for each look at them."""
        return self._held is not None

    def entries(self, lineage: Lineage) -> Iterator[tuple[str, JsonObject]]:
        """The lines of a lineage that are objects, in its order, each with the id of the header before it.

        The id is empty before the first header.

        Raises:
            SourceChanged: If a file too large to hold is another one by now.
        """
        if self._held is None:
            yield from self._entries_again(lineage)
            return
        ordinals = range(self.lines.count) if lineage.ordinals is None else lineage.ordinals
        for ordinal in ordinals:
            if (value := self._held[ordinal]) is not None:
                yield self._session_id_at(ordinal), value

    def _session_id_at(self, ordinal: int) -> str:
        if len(self._headers) == 1 and not self._headers[0][0]:
            return self._headers[0][1]
        at = bisect_right(self._headers, ordinal, key=itemgetter(0))
        return self._headers[at - 1][1] if at else ""

    def _read_at_once(self, stream: BinaryIO) -> str:
        data = stream.read()
        held: list[JsonObject | None] = []
        with collection_paused():
            held.extend(
                value if is_object(value) else None
                for value in self._values(io.BytesIO(data))
                if self._take(value) is not None
            )
        self._held = held
        return hashlib.sha256(data).hexdigest()

    def _read_through(self, stream: BinaryIO) -> str:
        digest = hashlib.sha256()
        for value in self._values(_Hashing(stream, digest.update)):
            self._take(value)
        return digest.hexdigest()

    def _values(self, stream: BinaryIO) -> Iterator[Json]:
        values = self._decoded(stream)
        return migrated(values) if self.kind == "pi" else _translated(self.kind, values)

    def _decoded(self, stream: BinaryIO) -> Iterator[Json]:
        self.skipped_lines = 0
        for record in read_records(stream):
            if record.problem == "too-long":
                self.reasons.add(LINE_TOO_LONG)
            if record.problem is not None:
                self.skipped_lines += 1
                continue
            yield record.value

    def _take(self, value: Json) -> int | None:
        ordinal = self.lines.add(value)
        if ordinal is None:
            self._take_header(value)
        return ordinal

    def _take_header(self, header: JsonObject) -> None:
        session_id = header.get("id")
        # Of several headers the last counts, as where Pi reads its file.
        if isinstance(session_id, str) and session_id:
            self.has_header = True
            self._headers.append((self.lines.count, session_id))
            self.session_id = session_id
            self.cwd = text_or_empty(header.get("cwd"))
            self.parent_session = text_or_empty(header.get("parentSession")) or None

    def _entries_again(self, lineage: Lineage) -> Iterator[tuple[str, JsonObject]]:
        chosen = None if lineage.ordinals is None else frozenset(lineage.ordinals)
        is_ascending = lineage.ordinals is None or list(lineage.ordinals) == sorted(lineage.ordinals)
        late: dict[int, JsonObject] = {}
        try:
            with opened(self.path) as stream:
                for ordinal, value in self._numbered(self._values(stream)):
                    if not is_object(value) or (chosen is not None and ordinal not in chosen):
                        continue
                    if is_ascending:
                        yield self._session_id_at(ordinal), value
                    else:
                        late[ordinal] = value
                self._check_unchanged(stream)
        except OSError:
            # What the first reading found is gone.
            raise SourceChanged(self.path) from None
        for ordinal in lineage.ordinals or ():
            if ordinal in late:
                yield self._session_id_at(ordinal), late[ordinal]

    @staticmethod
    def _numbered(values: Iterable[Json]) -> Iterator[tuple[int, Json]]:
        lines = Lines()
        for value in values:
            if (ordinal := lines.add(value)) is not None:
                yield ordinal, value

    def _check_unchanged(self, stream: BinaryIO) -> None:
        try:
            by_name = stamp_of(Path(self.path).stat())
        except FileNotFoundError:
            raise SourceChanged(self.path) from None
        if stamp_of(os.fstat(stream.fileno())) != self.stamp or by_name != self.stamp:
            raise SourceChanged(self.path)


def read_head(stream: BinaryIO, kind: SourceKind = "pi") -> Head:
    """What the beginning of an open file says of its session; the place in the stream stays.

    Pi's header is its first line, within 8,192 bytes. Other agents put instructions and pastes before and
    into what names the session.
    """
    start = os.pread(stream.fileno(), HEAD_BYTES, 0)
    if kind == "pi":
        return _pi_head(start)
    head = _translated_head(start, kind)
    if len(start) < HEAD_BYTES or (head.session_id and head.cwd):
        return head
    return _translated_head(os.pread(stream.fileno(), _OTHER_HEAD_BYTES, 0), kind)


def _pi_head(start: bytes) -> Head:
    line, is_whole, _ = start.partition(b"\n")
    try:
        header = decode(line.removeprefix(b"\xef\xbb\xbf")) if is_whole else None
    except ValueError:
        header = None
    if not is_object(header) or header.get("type") != "session" or not isinstance(header.get("id"), str):
        return Head(None, "")
    return Head(header["id"], text_or_empty(header.get("cwd")))


def _translated_head(start: bytes, kind: SourceKind) -> Head:
    lines = start[: start.rfind(b"\n") + 1]
    values = (record.value for record in read_records(io.BytesIO(lines)) if record.problem is None)
    header = next(iter(_translated(kind, values)), None)
    if not is_object(header) or header.get("type") != "session":
        return Head(None, "")
    return Head(text_or_empty(header.get("id")) or None, text_or_empty(header.get("cwd")))


def hash_source(path: str) -> tuple[str, Stamp, int]:
    """Hash of a file's bytes, the stamp they had, and when the reading began.

    Raises:
        OSError: If it cannot be read.
        SourceChanged: If it was written meanwhile.
    """
    began_ns = time.time_ns()
    with opened(path) as stream:
        stamp = stamp_of(os.fstat(stream.fileno()))
        digest = hashlib.sha256()
        while data := stream.read(_CHUNK_BYTES):
            digest.update(data)
        if stamp_of(os.fstat(stream.fileno())) != stamp:
            raise SourceChanged(path)
    return digest.hexdigest(), stamp, began_ns


@contextmanager
def opened(path: str) -> Generator[BinaryIO]:
    """A session file, to be read.

    Raises:
        OSError: If it cannot be opened, or is no regular file.
    """
    # Not blocking: a pipe in the place of a session would wait for its writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb", buffering=0) as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{path} is not a regular file")
        yield stream


def _translated(kind: SourceKind, values: Iterator[Json]) -> Iterator[Json]:
    if kind == "claude":
        from pi_fabric.history.session.claude import translate_claude  # noqa: PLC0415 - only who asks pays

        return iter(translate_claude(values))
    from pi_fabric.history.session.codex import translate_codex  # noqa: PLC0415 - only who asks pays

    return iter(translate_codex(values))


class _Hashing(io.BytesIO):
    """Passes on what is read through it."""

    def __init__(self, stream: BinaryIO, see: Callable[[bytes], object]) -> None:
        super().__init__()
        self._stream = stream
        self._see = see

    def read(self, size: int | None = -1, /) -> bytes:
        data = self._stream.read(-1 if size is None else size)
        self._see(data)
        return data
