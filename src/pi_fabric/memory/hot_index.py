"""What is looked up of a hot session without reading its record: words, lengths, and what filters ask.

Beside the record lie a file with one row for each entry, a file of its words, and a file of its folded
words, under a name that each build has of its own.
"""

import json
import math
import struct
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pi_fabric.memory.digest import pieces
from pi_fabric.memory.folding import chunks, folded_terms
from pi_fabric.memory.model import Entry, Number
from pi_fabric.memory.termfile import term_parts
from pi_fabric.memory.tokenizer import byte_tokens

# Roles that begin a segment.
SEGMENT_ROLES: Final = frozenset({"user", "bashExecution", "compaction"})
_MAGIC: Final = b"PFH1"
# Magic, entries, bytes of the names, nothing, and where the first entry begins.
_HEADER: Final = struct.Struct("<4sIIIQ")
_NO_TIME: Final = float("nan")


@dataclass(slots=True)
class HotIndexBuilder:
    """Gathers the index of one session, entry by entry, with the texts as the record has them."""

    max_fold_bytes: int
    max_open_pairs: int = 1_000_000
    """Pairs of a word and an entry that are kept where adding to them is fast; about 30 bytes each."""
    lengths: "array[int]" = field(default_factory=lambda: array("I"))
    roles: "array[int]" = field(default_factory=lambda: array("I"))
    tools: "array[int]" = field(default_factory=lambda: array("I"))
    times: "array[float]" = field(default_factory=lambda: array("d"))
    is_fold_complete: bool = True
    _names: dict[str | None, int] = field(default_factory=lambda: {None: 0})
    _words: dict[bytes, list[int]] = field(default_factory=dict[bytes, list[int]])
    _folded: dict[bytes, list[int]] = field(default_factory=dict[bytes, list[int]])
    _fold_bytes: int = 0
    _open_pairs: int = 0
    _closed_words: "dict[bytes, array[int]]" = field(default_factory=dict[bytes, "array[int]"])
    _closed_folded: "dict[bytes, array[int]]" = field(default_factory=dict[bytes, "array[int]"])

    def add(self, entry: Entry) -> None:
        """Take in the next entry."""
        index = len(self.lengths)
        counts: Counter[bytes] = Counter()
        folded: Counter[bytes] = Counter()
        for piece in pieces(entry.text):
            counts.update(byte_tokens(piece))
            for chunk, count in Counter(chunks(piece)).items():
                for term in folded_terms(chunk):
                    folded[term] += count
        words = self._words
        for word, count in counts.items():
            known = words.get(word)
            if known is None:
                words[word] = [index, count]
            else:
                known += (index, count)
        self._add_folded(index, folded)
        self._open_pairs += len(counts) + len(folded)
        if self._open_pairs > self.max_open_pairs:
            self._close_pairs()
        # An entry without a word counts as one word long.
        self.lengths.append(max(1, counts.total()))
        self.roles.append(self._number(entry.role))
        self.tools.append(self._number(entry.tool_name))
        self.times.append(_NO_TIME if entry.timestamp is None else entry.timestamp)

    def words_file(self) -> Iterator[bytes]:
        """The file of words in parts; numbers are pairs of an entry's index and how often it has the word."""
        return term_parts(self._words_so_far)

    def folded_file(self) -> Iterator[bytes]:
        """The same of folded words."""
        return term_parts(self._folded_so_far)

    @property
    def words(self) -> "HeldTerms":
        """The words, to be looked up at once."""
        return HeldTerms(self._words_so_far)

    @property
    def folded(self) -> "HeldTerms":
        """The folded words, to be looked up at once."""
        return HeldTerms(self._folded_so_far)

    def name_number(self, name: str | None) -> int:
        """What stands for a role or tool in its column; -1 for one that no entry has."""
        return self._names.get(name, -1)

    def rows_file(self, first_start: int, ends: "array[int]") -> bytes:
        """The file of rows.

        Args:
            first_start: Where the record's first entry begins.
            ends: Where each of its entries ends.
        """
        names = json.dumps(list(self._names)).encode()
        names += b" " * (-len(names) % 8)
        header = _HEADER.pack(_MAGIC, len(self.lengths), len(names), 0, first_start)
        columns = (self.times, ends, self.lengths, self.roles, self.tools)
        return b"".join((header, names, *(column.tobytes() for column in columns)))

    @property
    def _words_so_far(self) -> Mapping[bytes, Sequence[int]]:
        if self._closed_words:
            self._close_pairs()
        return self._closed_words or self._words

    @property
    def _folded_so_far(self) -> Mapping[bytes, Sequence[int]]:
        if self._closed_words:
            self._close_pairs()
        return self._closed_folded if self._closed_words else self._folded

    def _close_pairs(self) -> None:
        """Put what was gathered where it takes a third of the memory."""
        for word, pairs in self._words.items():
            self._closed_words.setdefault(word, array("I")).extend(pairs)
        for term, pairs in self._folded.items():
            self._closed_folded.setdefault(term, array("I")).extend(pairs)
        self._words.clear()
        self._folded.clear()
        self._open_pairs = 0

    def _number(self, name: str | None) -> int:
        return self._names.setdefault(name, len(self._names))

    def _add_folded(self, index: int, counts: Counter[bytes]) -> None:
        for term, count in counts.items():
            known = self._folded.get(term)
            if known is None:
                if term not in self._closed_folded:
                    self._fold_bytes += len(term)
                if self._fold_bytes > self.max_fold_bytes:
                    self.is_fold_complete = False
                    return
                known = self._folded[term] = []
            known.extend((index, count))


class HeldTerms:
    """Terms in memory, looked up as those of a file are."""

    def __init__(self, postings: Mapping[bytes, Sequence[int]]) -> None:
        self._postings = postings

    def find(self, term: bytes) -> list[int]:
        """The numbers of a term; none when it is not there."""
        return list(self._postings.get(term, ()))

    def find_prefix(self, start: bytes) -> list[int]:
        """The numbers of every term that begins so, one term's after the other's."""
        names = sorted(term for term in self._postings if term.startswith(start))
        return [number for term in names for number in self._postings[term]]


class HotRows:
    """One row for each entry of a hot session.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If it is no such file, or not a whole one.
    """

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        at = _HEADER.size
        if len(data) < at or data[:4] != _MAGIC:
            raise ValueError(f"{path} is no index of a session")
        _, self.count, name_bytes, _, self._first_start = _HEADER.unpack_from(data)
        self._names: list[str | None] = json.loads(data[at : at + name_bytes])
        at += name_bytes
        self.times = array("d")
        self._ends = array("Q")
        self.lengths = array("I")
        self.roles = array("I")
        self.tools = array("I")
        for column in (self.times, self._ends, self.lengths, self.roles, self.tools):
            size = self.count * column.itemsize
            column.frombytes(data[at : at + size])
            at += size
        if at != len(data):
            raise ValueError(f"{path} is cut")
        starters = {self.name_number(role) for role in SEGMENT_ROLES}
        self.starts = [at for at, role in enumerate(self.roles) if role in starters]
        """Entries that begin a segment."""
        self.total_length = sum(self.lengths)

    def name_number(self, name: str | None) -> int:
        """What stands for a role or tool in its column; -1 for one that no entry has."""
        return self._names.index(name) if name in self._names else -1

    def time(self, index: int) -> Number | None:
        """When an entry was written."""
        moment = self.times[index]
        return None if math.isnan(moment) else moment

    def byte_range(self, first: int, last: int) -> tuple[int, int]:
        """Where the entries from `first` to `last` lie in the record."""
        start = self._ends[first - 1] + 1 if first else self._first_start
        return start, self._ends[last]
