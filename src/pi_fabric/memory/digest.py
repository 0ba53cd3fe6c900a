"""The record of a cold session, cache format 5: its vocabulary and addresses within hard bounds."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeAlias, TypeVar

from pi_fabric.base.jsonvalue import JsonObject, encode
from pi_fabric.base.jstext import unit_order
from pi_fabric.memory.model import CACHE_VERSION, Entry, Number
from pi_fabric.memory.tokenizer import byte_tokens

T = TypeVar("T")

MAX_VOCABULARY: Final = "max_cold_vocabulary_bytes"
MAX_CACHE: Final = "max_cold_cache_bytes"

Address: TypeAlias = tuple[int, str | None, str | None, str | None, str | None, Number | None]
"""Index, entry id, operation address, role, tool, time."""

# Long texts are taken in pieces: their words as objects are many times their size.
_PIECE_CHARS: Final = 1 << 20
_BETWEEN_WORDS = re.compile(r"[\x00-\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7f]")
# "[]", and what each term adds besides itself: two quotes and, but for the first, a comma.
_EMPTY_BYTES: Final = 2
_TERM_BYTES: Final = 3
# The record's size is written within it; one that never settles is padded instead.
_MAX_ROUNDS: Final = 16


@dataclass(slots=True)
class DigestBuilder:
    """Gathers what a digest holds, entry by entry."""

    max_vocabulary_bytes: int
    max_cache_bytes: int
    entry_count: int = 0
    error_count: int = 0
    first_ts: Number | None = None
    last_ts: Number | None = None
    addresses: list[Address] = field(default_factory=list[Address])
    reasons: set[str] = field(default_factory=set[str])
    _words: set[bytes] = field(default_factory=set[bytes])
    _word_bytes: int = 0
    _files: dict[str, None] = field(default_factory=dict[str, None])
    _tools: Counter[str] = field(default_factory=Counter[str])

    def add(self, entry: Entry) -> None:
        """Take in the next entry, with its whole text."""
        self.entry_count += 1
        self.error_count += entry.is_error
        if entry.tool_name is not None:
            self._tools[entry.tool_name] += 1
        self._files.update(dict.fromkeys(entry.files))
        if entry.timestamp is not None:
            self.first_ts = _pick(min, self.first_ts, entry.timestamp)
            self.last_ts = _pick(max, self.last_ts, entry.timestamp)
        # An address takes more than twenty bytes; beyond the bound on the record none can be kept.
        if len(self.addresses) * 20 <= self.max_cache_bytes:
            self.addresses.append(
                (entry.index, entry.entry_id, entry.address, entry.role, entry.tool_name, entry.timestamp)
            )
        for piece in pieces(entry.text):
            self._add_words(byte_tokens(piece))

    def vocabulary(self) -> list[str]:
        """Every word once, in the order of its UTF-16 units."""
        words = [word.decode() for word in self._words]
        return sorted(words) if all(map(str.isascii, words)) else sorted(words, key=unit_order)

    def record(self, identity: JsonObject, source_bytes: int) -> tuple[JsonObject, bytes] | None:
        """The record and its bytes on the disk; None when not even the bare record fits the bound.

        Args:
            identity: What the record says of its source.
            source_bytes: Size of the source.
        """
        vocabulary, addresses = self.vocabulary(), self.addresses
        written = self._written(identity, source_bytes, vocabulary, addresses)
        if len(written[1]) <= self.max_cache_bytes:
            return written
        self.reasons.add(MAX_CACHE)
        write = partial(self._written, identity, source_bytes)
        return self._longest(addresses, lambda kept: write(vocabulary, kept)) or self._longest(
            vocabulary, lambda kept: write(kept, [])
        )

    def _add_words(self, words: Sequence[bytes]) -> None:
        fresh = set(words) - self._words
        size = self._word_bytes + sum(map(len, fresh)) + _TERM_BYTES * len(fresh)
        if _EMPTY_BYTES + size - 1 <= self.max_vocabulary_bytes or not fresh:
            self._words |= fresh
            self._word_bytes = size
            return
        # What does not fit is passed over: one endless word must not keep the later ones out.
        self.reasons.add(MAX_VOCABULARY)
        for word in dict.fromkeys(words):
            size = self._word_bytes + len(word) + _TERM_BYTES
            if word not in self._words and _EMPTY_BYTES + size - 1 <= self.max_vocabulary_bytes:
                self._words.add(word)
                self._word_bytes = size

    def _longest(
        self, items: Sequence[T], write: Callable[[Sequence[T]], tuple[JsonObject, bytes]]
    ) -> tuple[JsonObject, bytes] | None:
        """The record with the longest start of `items` that fits the bound; None when it fits with none."""
        count = _fitting(items, self.max_cache_bytes - len(write([])[1]))
        # The numbers within the record grow with it, by some digits.
        for kept in range(count, -1, -1):
            written = write(items[:kept])
            if len(written[1]) <= self.max_cache_bytes:
                return written
        return None

    def _written(
        self,
        identity: JsonObject,
        source_bytes: int,
        vocabulary: Sequence[str],
        addresses: Sequence[Address],
    ) -> tuple[JsonObject, bytes]:
        reasons = sorted(self.reasons)
        record: JsonObject = {
            "cacheVersion": CACHE_VERSION,
            "kind": "digest",
            **identity,
            "firstTs": self.first_ts,
            "lastTs": self.last_ts,
            "entryCount": self.entry_count,
            "filesTouched": list(self._files),
            "toolHistogram": dict(sorted(self._tools.items())),
            "errorCount": self.error_count,
            "vocabulary": vocabulary,
            "addresses": addresses,
            "indexCoverage": {
                "complete": not reasons,
                "vocabularyBytes": len(encode(vocabulary)),
                "reasons": reasons,
            },
        }
        return settle_size(record, source_bytes)


def settle_size(record: JsonObject, source_bytes: int) -> tuple[JsonObject, bytes]:
    """Write into a record how large it is; what it says is the size of the bytes that are returned."""
    size, data = 0, b""
    for _ in range(_MAX_ROUNDS):
        size = max(size, len(data))
        record["cacheBytes"] = size
        record["cacheSourceRatio"] = round(size / source_bytes, 4) if source_bytes else 0
        data = encode(record)
        if len(data) == size:
            break
    # Blanks after a JSON text belong to it.
    return record, data.ljust(size)


def pieces(text: str) -> Iterator[str]:
    """A text in pieces of about a million characters, never cut within a word.

    A piece begins with ASCII that is no word: normalization joins nothing to what is before it.
    """
    start = 0
    while len(text) - start > _PIECE_CHARS:
        found = _BETWEEN_WORDS.search(text, start + _PIECE_CHARS)
        end = len(text) if found is None else found.start()
        yield text[start:end]
        start = end
    yield text[start:]


def _pick(choose: Callable[[Number, Number], Number], known: Number | None, new: Number) -> Number:
    return new if known is None else choose(known, new)


def _fitting(items: Iterable[object], room: int) -> int:
    """How many of the first items fit into `room` bytes of a JSON array's inside."""
    ends: list[int] = []
    size = 0
    for item in items:
        size += len(encode(item)) + bool(ends)
        ends.append(size)
    return bisect_right(ends, room)
