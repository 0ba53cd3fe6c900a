"""Files of one JSON value a line, as several programs append to them.

Lines end at LF bytes and nowhere else: U+2028 and its like are text. What is not JSON is told with its
place and never ends the reading; memory is that of the longest line, not of the file.
"""

import io
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, Literal, NamedTuple, TypeAlias

from pi_fabric.base.jsonvalue import UNDEFINED, Json, decode, encode

# Twice the longest line that a real log was reported with: a tool's output of 30 MB.
MAX_LINE_BYTES: Final = 64 * 1024 * 1024

# Large enough that reading costs nothing beside decoding, small enough to keep in the processor's cache.
_CHUNK_BYTES: Final = 256 * 1024
_BOM: Final = b"\xef\xbb\xbf"

LineProblem: TypeAlias = Literal["torn", "foreign", "too-long"]
"""`torn`: the last line, not ended and no JSON. `foreign`: any other line that is no JSON, or is nested
deeper than can be decoded. `too-long`: skipped without having been held in memory."""


class Record(NamedTuple):
    """One line that is not blank."""

    line: int
    """1-based; blank lines count."""
    offset: int
    """Of its first byte in the file."""
    size: int
    """Bytes without the line feed."""
    is_ended: bool
    """False for a last line without its line feed: its writer may not be done."""
    value: Json
    """UNDEFINED when there is a problem."""
    problem: LineProblem | None


class _Line(NamedTuple):
    number: int
    offset: int
    size: int
    is_ended: bool
    data: bytes | None
    """None when the line is longer than the bound."""


def read_records(
    stream: BinaryIO, *, offset: int = 0, line: int = 1, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[Record]:
    """Decode a file line by line; lazy and blocking.

    Blank lines give nothing. CR before LF and a byte order mark at the start are dropped; bad UTF-8, lone
    surrogates and numbers beyond the largest are decoded leniently.

    Args:
        stream: Binary, at the start of a line; is read to its end and not closed.
        offset: Where `stream` stands in the file; only counted from.
        line: Number of the line it stands at.
        max_line_bytes: Longer lines are `too-long`.
    """
    for found in _read_lines(stream, offset, line, max_line_bytes):
        number, start, size, is_ended, data = found
        if data is None:
            yield Record(number, start, size, is_ended, UNDEFINED, "too-long")
            continue
        if start == 0:
            data = data.removeprefix(_BOM)
        data = data.strip()
        if not data:
            continue
        try:
            value = decode(data)
        except ValueError:
            yield Record(number, start, size, is_ended, UNDEFINED, "foreign" if is_ended else "torn")
        else:
            yield Record(number, start, size, is_ended, value, None)


def append_records(path: Path, values: Iterable[Json], *, is_durable: bool = False) -> None:
    """Append one line a value, in one piece. Blocking; one writer at a time, so callers lock.

    A file that does not end in a line feed gets one first: what a writer left half done becomes a line of
    its own and does not spoil the first new one.

    Args:
        path: Made when absent; its folder must exist.
        values: JSON; lone surrogates are written as U+FFFD.
        is_durable: True to return only when the lines are on the disk.

    Raises:
        OSError: If the file cannot be written; a part of the lines may then be in it.
    """
    data = b"".join(encode(value) + b"\n" for value in values)
    if not data:
        return
    with path.open("ab+", buffering=0) as stream:
        _write_all(stream, data if _ends_in_line_feed(stream) else b"\n" + data)
        if is_durable:
            os.fsync(stream.fileno())


def _read_lines(stream: BinaryIO, offset: int, number: int, max_line_bytes: int) -> Iterator[_Line]:
    pieces: list[bytes] = []
    size = 0
    while chunk := stream.read(_CHUNK_BYTES):
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            size += end - start
            pieces.append(chunk[start:end])
            yield _Line(number, offset, size, True, _joined(pieces, size, max_line_bytes))
            number += 1
            offset += size + 1
            pieces, size, start = [], 0, end + 1
        size += len(chunk) - start
        # What is too long already is only counted.
        pieces = [*pieces, chunk[start:]] if size <= max_line_bytes else []
    if size:
        yield _Line(number, offset, size, False, _joined(pieces, size, max_line_bytes))


def _joined(pieces: list[bytes], size: int, max_line_bytes: int) -> bytes | None:
    if size > max_line_bytes:
        return None
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _ends_in_line_feed(stream: io.FileIO) -> bool:
    """True also for an empty file."""
    if not stream.seek(0, os.SEEK_END):
        return True
    stream.seek(-1, os.SEEK_END)
    return stream.read(1) == b"\n"


def _write_all(stream: io.FileIO, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[stream.write(rest) :]
