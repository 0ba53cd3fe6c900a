"""A session whose entries can be looked up: one of the index, or one that was read for a question."""

from collections.abc import Sequence
from typing import Protocol

from pi_fabric.memory.cache import Cache
from pi_fabric.memory.catalogue import Row
from pi_fabric.memory.hot_index import SEGMENT_ROLES, HotIndexBuilder, HotRows
from pi_fabric.memory.model import Entry, Number, SourceKind, Tier
from pi_fabric.memory.query import Filters, Term
from pi_fabric.memory.recorded import opened_shard
from pi_fabric.memory.shard import decode_entries
from pi_fabric.memory.termfile import TermFile


class Terms(Protocol):
    """A list of terms with pairs of an entry's number and how often it has the term."""

    def find(self, term: bytes) -> Sequence[int]:
        """The pairs of a term."""
        ...

    def find_prefix(self, start: bytes) -> Sequence[int]:
        """The pairs of every term that begins so, one term's after the other's."""
        ...


class Searchable(Protocol):
    """What is asked of a session while entries are found, ranked and shown."""

    @property
    def file(self) -> str:
        """Path of the session."""
        ...

    @property
    def session_id(self) -> str:
        """Its id, or the name of its file."""
        ...

    @property
    def kind(self) -> SourceKind:
        """Whose log it is."""
        ...

    @property
    def source_hash(self) -> str:
        """SHA-256 of the source that was indexed."""
        ...

    @property
    def lineage(self) -> str:
        """Fingerprint of the branch."""
        ...

    @property
    def mtime(self) -> Number:
        """When the source was last written, in milliseconds."""
        ...

    @property
    def tier(self) -> Tier:
        """Which tier an answer names."""
        ...

    @property
    def lengths(self) -> Sequence[int]:
        """Words of each entry."""
        ...

    @property
    def total_length(self) -> int:
        """Words of all entries."""
        ...

    @property
    def starts(self) -> Sequence[int]:
        """Entries that begin a segment, ascending."""
        ...

    @property
    def first_index(self) -> int:
        """Number of the first entry within its session; others follow without gaps."""
        ...

    def postings(self, term: Term, *, fold: bool) -> dict[int, int]:
        """Which entries have a term, and how often."""
        ...

    def passing(self, filters: Filters) -> Sequence[int]:
        """Entries that pass the filters, ascending."""
        ...

    def entries(self, first: int, last: int) -> list[Entry]:
        """Entries by their place here, both ends included."""
        ...


class _Lookup:
    """What both kinds share: columns of the entries, and lists of terms."""

    lengths: Sequence[int]
    starts: Sequence[int]
    _times: Sequence[float]
    _roles: Sequence[int]
    _tools: Sequence[int]

    def postings(self, term: Term, *, fold: bool) -> dict[int, int]:
        """Which entries have a term, and how often."""
        found: dict[int, int] = {}
        for terms in (self._words(), self._folded()) if fold else (self._words(),):
            if term.is_prefix:
                _add(found, terms.find_prefix(term.text))
            elif found:
                _add(found, terms.find(term.text))
            else:
                pairs = terms.find(term.text)
                found.update(zip(pairs[::2], pairs[1::2], strict=True))
        return found

    def passing(self, filters: Filters) -> Sequence[int]:
        """Entries that pass the filters, ascending."""
        count = len(self.lengths)
        if not filters:
            return range(count)
        role, tool = self._number(filters.role), self._number(filters.tool)
        return [
            at
            for at in range(count)
            if (filters.role is None or self._roles[at] == role)
            and (filters.tool is None or self._tools[at] == tool)
            and (self._times[at] != self._times[at] or filters.passes_time(self._times[at]))
        ]

    def _number(self, name: str | None) -> int:
        raise NotImplementedError

    def _words(self) -> Terms:
        raise NotImplementedError

    def _folded(self) -> Terms:
        raise NotImplementedError


class IndexedSession(_Lookup):
    """A hot session of the index.

    Raises:
        OSError: If a file of it is not there.
        ValueError: If one is damaged.
    """

    tier: Tier = "hot"
    first_index = 0

    def __init__(self, cache: Cache, row: Row) -> None:
        self.file = row.file
        self.session_id = row.session_id
        self.kind: SourceKind = row.kind
        self.source_hash = row.source_hash
        self.lineage = row.lineage
        self.mtime = row.stamp.mtime_ms
        self._cache = cache
        self._row = row
        self._rows = HotRows(cache.rows(row.group))
        if self._rows.count != row.entry_count:
            raise ValueError(f"{row.record} and what lies beside it are not of one build")
        self.lengths = self._rows.lengths
        self.starts = self._rows.starts
        self.total_length = self._rows.total_length
        self._times, self._roles, self._tools = self._rows.times, self._rows.roles, self._rows.tools
        # Open at once: another process may remove them when it builds the session anew.
        self._word_file = TermFile(cache.words(row.group))
        self._folded_file = TermFile(cache.folded(row.group))

    def entries(self, first: int, last: int) -> list[Entry]:
        """Entries by their place, both ends included; reads no more of the record than they take.

        Raises:
            RecordLost: If the record is no longer there.
        """
        start, end = self._rows.byte_range(first, last)
        with opened_shard(self._cache, self._row) as stream:
            stream.seek(start)
            return decode_entries(stream.read(end - start))

    def _number(self, name: str | None) -> int:
        return self._rows.name_number(name)

    def _words(self) -> Terms:
        return self._word_file

    def _folded(self) -> Terms:
        return self._folded_file


class ReadSession(_Lookup):
    """A session that was read from its source for one question."""

    tier: Tier = "cold"

    def __init__(
        self,
        entries: list[Entry],
        *,
        file: str,
        session_id: str,
        kind: SourceKind,
        source_hash: str,
        lineage: str,
        mtime: Number,
    ) -> None:
        self.file = file
        self.session_id = session_id
        self.kind: SourceKind = kind
        self.source_hash = source_hash
        self.lineage = lineage
        self.mtime = mtime
        self.first_index = entries[0].index if entries else 0
        self._entries = entries
        index = HotIndexBuilder(max_fold_bytes=2**31)
        for entry in entries:
            index.add(entry)
        self._index = index
        self.lengths = index.lengths
        self.starts = [at for at, entry in enumerate(entries) if entry.role in SEGMENT_ROLES]
        self.total_length = sum(index.lengths)
        self._times, self._roles, self._tools = index.times, index.roles, index.tools

    def entries(self, first: int, last: int) -> list[Entry]:
        """Entries by their place, both ends included."""
        return self._entries[first : last + 1]

    def _number(self, name: str | None) -> int:
        return self._index.name_number(name)

    def _words(self) -> Terms:
        return self._index.words

    def _folded(self) -> Terms:
        return self._index.folded


def _add(found: dict[int, int], pairs: Sequence[int]) -> None:
    for entry, count in zip(pairs[::2], pairs[1::2], strict=True):
        found[entry] = found.get(entry, 0) + count
