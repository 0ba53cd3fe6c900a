"""Finding cold sessions: which of them have a word, from the lists of words of their groups.

A cold session that matches is told as a pointer to the whole of it; where in it the words are is known
once it is read.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.memory.cache import Cache
from pi_fabric.memory.catalogue import Row, Shown
from pi_fabric.memory.digest import Address
from pi_fabric.memory.model import Branches, named_source
from pi_fabric.memory.query import Filters, Query, Term, Unit
from pi_fabric.memory.ranking import idf
from pi_fabric.memory.recorded import RecordLost, read_digest
from pi_fabric.memory.termfile import TermFile

MAX_DIGEST_CANDIDATES: Final = 10_000
DIGEST_BUDGET: Final = "candidate_digest_budget"
FILTER_NEEDS_HYDRATION: Final = "cold_structural_filter_requires_hydration"
PHRASE_NEEDS_HYDRATION: Final = "cold_phrase_requires_hydration"


class _Addresses(msgspec.Struct):
    addresses: list[Address]


class Vocabulary(msgspec.Struct):
    """The words of a digest."""

    vocabulary: list[str]


@dataclass(slots=True, kw_only=True)
class DigestHit:
    """A cold session that matches."""

    row: Row
    score: float = 0.0
    matched_terms: int = 0
    words: list[str] = field(default_factory=list[str])

    def to_json(self, branches: Branches) -> JsonObject:
        """The pointer as it is answered."""
        row = self.row
        return {
            "sessionId": row.session_id,
            "sessionFile": row.file,
            "sourceHash": row.source_hash,
            "branches": branches,
            "lineageFingerprint": row.lineage,
            "cwd": row.cwd,
            "lastTs": row.last_ts,
            "sessionMtime": row.stamp.mtime_ms,
            "score": self.score,
            "tier": "cold",
            "matchedTerms": self.matched_terms,
        } | named_source(row.kind)


class ColdIndex:
    """The cold sessions of one index; blocking."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._files: dict[Path, TermFile] = {}

    def keep_only(self, groups: Iterable[str]) -> None:
        """Close the files of groups that are no more."""
        kept = {path for group in groups for path in (self._cache.words(group), self._cache.folded(group))}
        self._files = {path: file for path, file in self._files.items() if path in kept}

    def missing(self, groups: Iterable[str]) -> frozenset[str]:
        """The groups whose words are not there, or damaged; opens the others."""
        lost: set[str] = set()
        for group in groups:
            try:
                for name in (self._cache.words, self._cache.folded):
                    self._open(name(group))
            except (OSError, ValueError):
                lost.add(group)
        return frozenset(lost)

    def search(self, rows: Sequence[Row], query: Query) -> tuple[list[DigestHit], set[str]]:
        """The sessions that match, in the order of `rows`, with what stands against their being all.

        Raises:
            RecordLost: If the words of a session are no longer there.
        """
        candidates, reasons = self.filtered(rows, query.filters)
        if query.is_browse:
            hits = [DigestHit(row=row) for row in candidates]
        else:
            hits = self._matching(candidates, query)
            if hits and query.match == "phrase":
                reasons.add(PHRASE_NEEDS_HYDRATION)
        if len(hits) > MAX_DIGEST_CANDIDATES:
            reasons.add(DIGEST_BUDGET)
            hits = hits[:MAX_DIGEST_CANDIDATES]
        return hits, reasons

    def filtered(self, rows: Sequence[Row], filters: Filters) -> tuple[Sequence[Row], set[str]]:
        """Sessions that have an entry which passes the filters; which one is known once they are read."""
        if not filters:
            return rows, set()
        passing = [row for row in rows if self._passes(row, filters)]
        return passing, {FILTER_NEEDS_HYDRATION} if passing else set()

    def vocabulary(self, row: Row) -> list[str]:
        """Every word of a session.

        Raises:
            RecordLost: If its record is no longer there.
        """
        return msgspec.json.decode(read_digest(self._cache, row), type=Vocabulary).vocabulary

    def _matching(self, rows: Sequence[Row], query: Query) -> list[DigestHit]:
        units = query.units()
        by_group: dict[str, dict[int, Row]] = {}
        for row in rows:
            by_group.setdefault(row.group, {})[row.slot] = row
        having: dict[str, list[int]] = {}
        for group, slots in by_group.items():
            try:
                found = [self._slots(group, unit, fold=query.fold) for unit in units]
            except (OSError, ValueError):
                # Closed for another question, and replaced since.
                raise RecordLost(next(iter(slots.values()))) from None
            for number, having_unit in enumerate(found):
                for slot in having_unit:
                    if slot in slots:
                        having.setdefault(slots[slot].file, []).append(number)
        if query.match in ("all", "phrase"):
            having = {file: numbers for file, numbers in having.items() if len(numbers) == len(units)}
        counts = [0] * len(units)
        for numbers in having.values():
            for number in numbers:
                counts[number] += 1
        weights = [idf(len(having), count) for count in counts]
        return [
            DigestHit(
                row=row,
                score=sum(weights[number] for number in numbers),
                matched_terms=len(numbers),
                words=[units[number].word for number in numbers],
            )
            for row in rows
            if (numbers := having.get(row.file)) is not None
        ]

    def _slots(self, group: str, unit: Unit, *, fold: bool) -> set[int]:
        found: set[int] = set()
        for terms in unit.alternatives:
            first, *rest = (self._having(group, term, fold=fold) for term in terms)
            found |= first.intersection(*rest)
        return found

    def _having(self, group: str, term: Term, *, fold: bool) -> set[int]:
        found: set[int] = set()
        names = (self._cache.words, self._cache.folded) if fold else (self._cache.words,)
        for name in names:
            file = self._open(name(group))
            found.update(file.find_prefix(term.text) if term.is_prefix else file.find(term.text))
        return found

    def _open(self, path: Path) -> TermFile:
        file = self._files.get(path)
        if file is None:
            file = self._files[path] = TermFile(path)
        return file

    def _passes(self, row: Row, filters: Filters) -> bool:
        verdicts = [_shown_passes(shown, filters) for shown in row.shown]
        if True in verdicts:
            return True
        if None not in verdicts:
            return False
        # Some lie before the window and some after it; only the addresses tell whether one lies within.
        addresses = msgspec.json.decode(read_digest(self._cache, row), type=_Addresses).addresses
        return any(
            (filters.role is None or role == filters.role)
            and (filters.tool is None or tool == filters.tool)
            and filters.passes_time(moment)
            for _, _, _, role, tool, moment in addresses
        )


def _shown_passes(shown: Shown, filters: Filters) -> bool | None:
    """True or False when the ends of the times tell; None when they lie on both sides of the window."""
    if filters.role is not None and shown.role != filters.role:
        return False
    if filters.tool is not None and shown.tool != filters.tool:
        return False
    if shown.has_untimed or (filters.since is None and filters.until is None):
        return True
    first, last = shown.first_ts, shown.last_ts
    assert first is not None
    assert last is not None
    if filters.passes_time(first) or filters.passes_time(last):
        return True
    is_before = filters.since is not None and last < filters.since
    is_after = filters.until is not None and first > filters.until
    return False if is_before or is_after else None
