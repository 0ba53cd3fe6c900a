"""A window of whole lines out of a file of any size, taken from a stream of its bytes.

Lines end at LF bytes only; a CR is part of the text. Memory is bounded by the window, not by the file.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pi_fabric.host.standalone.limits import MAX_BYTES

# Behind the window lines are counted only this far: a total is nice to have, not worth a gigabyte.
MAX_COUNTED_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Lines that fitted."""

    data: bytes
    """With their line ends; a line that alone is too long is cut inside, never inside a character."""
    lines: int
    """Lines in `data`."""
    has_more: bool
    """True when bytes follow."""
    is_cut_line: bool
    """True when `data` is the start of a line that is too long."""
    total_lines: int | None
    """Lines of the whole file; None when its end was too far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastEnd:
    """The file has fewer lines than were to be skipped."""

    total_lines: int


def take_window(chunks: Iterable[bytes], *, skip: int, limit: int) -> Window | PastEnd:
    """Skip lines, then take whole lines within `limit` and `MAX_BYTES`.

    Args:
        chunks: The file from its start, in non-empty pieces.
        skip: Lines to leave out at the start; 0 also fits an empty file.
        limit: Most lines to take, at least 1.
    """
    stream = iter(chunks)
    start = _skip(stream, skip)
    if isinstance(start, PastEnd):
        return start
    buffer = _gather(stream, start)
    if not buffer and skip:
        return PastEnd(total_lines=skip)
    end, is_cut_line = _end_of_window(buffer, limit)
    data = bytes(buffer[:end])
    return Window(
        data=data,
        lines=_count_lines(data),
        has_more=end < len(buffer),
        is_cut_line=is_cut_line,
        total_lines=_total(stream, buffer, skip),
    )


def _skip(stream: Iterator[bytes], lines: int) -> bytes | PastEnd:
    left, last = lines, b"\n"
    if not left:
        return b""
    for chunk in stream:
        found = chunk.count(b"\n")
        if found >= left:
            return chunk[_after_line(chunk, left) :]
        left -= found
        last = chunk[-1:]
    return PastEnd(total_lines=lines - left + (last != b"\n"))


def _after_line(data: bytes | bytearray, lines: int) -> int:
    """Index behind the line end number `lines`; 0 when there are fewer."""
    at = -1
    for _ in range(lines):
        at = data.find(b"\n", at + 1)
        if at < 0:
            return 0
    return at + 1


def _gather(stream: Iterator[bytes], start: bytes) -> bytearray:
    # One byte more than fits shows that more follows.
    buffer = bytearray(start)
    while len(buffer) <= MAX_BYTES and (chunk := next(stream, b"")):
        buffer += chunk
    return buffer


def _end_of_window(buffer: bytearray, limit: int) -> tuple[int, bool]:
    fits = buffer[:MAX_BYTES]
    if end := _after_line(fits, limit):
        return end, False
    if len(buffer) <= MAX_BYTES:
        return len(buffer), False
    if end := fits.rfind(b"\n") + 1:
        return end, False
    return len(fits) - _split_character(fits), True


def _split_character(data: bytearray) -> int:
    """Bytes at the end that start a UTF-8 character without completing it."""
    for back in range(1, 4):
        byte = data[-back]
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return back if length > back else 0
        if byte < 0x80:
            return 0
    return 0


def _count_lines(data: bytes | bytearray) -> int:
    return data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))


def _total(stream: Iterator[bytes], buffer: bytearray, skipped: int) -> int | None:
    ends, last, read = buffer.count(b"\n"), buffer[-1:], len(buffer)
    for chunk in stream:
        read += len(chunk)
        if read > MAX_COUNTED_BYTES:
            return None
        ends += chunk.count(b"\n")
        last = chunk[-1:]
    return skipped + ends + (last not in (b"", b"\n"))
