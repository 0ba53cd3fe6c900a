"""Sorted terms with postings in one file that is looked into without being read.

A large file is mapped; finding a term touches a few pages, however many terms there are. It is written
once and never changed.

Layout, little-endian: magic, counts of terms and numbers, size of the texts; then where each term ends in
the texts (u32), where each term's numbers end (u32), the numbers (u32), and the texts (UTF-8, in the order
of their bytes).
"""

import mmap
import os
import struct
from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final
from weakref import WeakSet

_MAGIC: Final = b"PFT1"
_HEADER: Final = struct.Struct("<4sIII")
_NUMBER: Final = "I"
_TERMS_AT_ONCE: Final = 256
# No UTF-8 has this byte, so every text that begins with another comes before the two together.
_AFTER_ANY: Final = b"\xff"
_MIN_MAPPED_BYTES: Final = 64 * 1024
_MAX_MAPPED: Final = 160


def encode_terms(postings: Mapping[bytes, Sequence[int]]) -> bytes:
    """The bytes of a file over these terms; numbers are below 2 to the 32."""
    return b"".join(term_parts(postings))


def term_parts(postings: Mapping[bytes, Sequence[int]]) -> Iterator[bytes]:
    """The same part by part, so that the numbers of a huge session are not there a second time."""
    terms = sorted(postings)
    term_ends, posting_ends = array(_NUMBER), array(_NUMBER)
    size = count = 0
    for term in terms:
        size += len(term)
        term_ends.append(size)
        count += len(postings[term])
        posting_ends.append(count)
    yield _HEADER.pack(_MAGIC, len(terms), count, size)
    yield term_ends.tobytes()
    yield posting_ends.tobytes()
    for start in range(0, len(terms), _TERMS_AT_ONCE):
        numbers = array(_NUMBER)
        for term in terms[start : start + _TERMS_AT_ONCE]:
            numbers.extend(postings[term])
        yield numbers.tobytes()
    yield b"".join(terms)


_mapped: "WeakSet[TermFile]" = WeakSet()


class TermFile:
    """A file of terms, open for looking up.

    Raises:
        OSError: If it cannot be opened.
        ValueError: If it is no such file, or not a whole one.
    """

    def __init__(self, path: Path) -> None:
        self._data = self._read(path)
        if len(self._data) < _HEADER.size:
            raise ValueError(f"{path} is cut")
        magic, self.term_count, number_count, size = _HEADER.unpack_from(self._data)
        starts = [_HEADER.size]
        for count in (self.term_count, self.term_count, number_count):
            starts.append(starts[-1] + 4 * count)
        if magic != _MAGIC or len(self._data) != starts[3] + size:
            raise ValueError(f"{path} is no file of terms, or not a whole one")
        view = memoryview(self._data)
        self._term_ends = view[starts[0] : starts[1]].cast(_NUMBER)
        self._posting_ends = view[starts[1] : starts[2]].cast(_NUMBER)
        self._numbers = view[starts[2] : starts[3]].cast(_NUMBER)
        self._texts = starts[3]

    def _read(self, path: Path) -> bytes | mmap.mmap:
        with path.open("rb") as stream:
            # A map holds a descriptor, of which a process may have as few as 256.
            if os.fstat(stream.fileno()).st_size <= _MIN_MAPPED_BYTES or len(_mapped) >= _MAX_MAPPED:
                return stream.read()
            _mapped.add(self)
            return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)

    def find(self, term: bytes) -> list[int]:
        """The numbers of a term; none when it is not there."""
        at = self._first_from(term)
        return self._postings(at) if at < self.term_count and self._term(at) == term else []

    def find_prefix(self, start: bytes) -> list[int]:
        """The numbers of every term that begins so, one term's after the other's."""
        first, after = self._first_from(start), self._first_from(start + _AFTER_ANY)
        begin = self._posting_ends[first - 1] if first else 0
        end = self._posting_ends[after - 1] if after else 0
        return self._numbers[begin:end].tolist()

    def items(self) -> Iterator[tuple[bytes, list[int]]]:
        """Every term with its numbers, in order."""
        return ((self._term(at), self._postings(at)) for at in range(self.term_count))

    def _first_from(self, term: bytes) -> int:
        low, high = 0, self.term_count
        while low < high:
            middle = (low + high) // 2
            if self._term(middle) < term:
                low = middle + 1
            else:
                high = middle
        return low

    def _term(self, at: int) -> bytes:
        start = self._term_ends[at - 1] if at else 0
        return self._data[self._texts + start : self._texts + self._term_ends[at]]

    def _postings(self, at: int) -> list[int]:
        start = self._posting_ends[at - 1] if at else 0
        return self._numbers[start : self._posting_ends[at]].tolist()
