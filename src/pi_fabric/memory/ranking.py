"""Which entries of hot sessions match, and how well: BM25 over the entries that pass the filters."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Final

from pi_fabric.memory.folding import smallest_parts
from pi_fabric.memory.query import Query, Unit
from pi_fabric.memory.searchable import Searchable
from pi_fabric.memory.tokenizer import tokenize

K1: Final = 1.2
B: Final = 0.75

MAX_ENTRY_CANDIDATES: Final = 50_000
ENTRY_BUDGET: Final = "candidate_entry_budget"


@dataclass(slots=True)
class SessionHits:
    """What matches in one session."""

    session: Searchable
    scores: dict[int, float]
    """By the entry's place, ascending."""
    words: dict[int, list[str]] = field(default_factory=dict[int, list[str]])
    """Words of the query that an entry matched; only told where the query asks for more than the literal."""


def idf(total: int, having: int) -> float:
    """How much a word tells: `having` of `total` have it."""
    return math.log((total - having + 0.5) / (having + 0.5) + 1)


def rank_entries(sessions: Sequence[Searchable], query: Query) -> tuple[list[SessionHits], bool]:
    """Entries that match, session by session in the given order.

    Returns:
        The hits, and True when there were more candidates than one question may have.
    """
    units = query.units()
    found = [_matching(session, units, query) for session in sessions]
    if query.is_browse:
        return _within_budget([SessionHits(one.session, dict.fromkeys(one.passing, 0.0)) for one in found])
    total = sum(len(one.passing) for one in found)
    length = sum(one.length for one in found)
    average = length / total if total else 0.0
    weights = [idf(total, sum(len(one.counts[unit]) for one in found)) for unit in range(len(units))]
    return _within_budget([_scored(one, units, weights, average, query) for one in found])


@dataclass(slots=True)
class _Matching:
    session: Searchable
    passing: Sequence[int]
    length: int
    counts: list[dict[int, int]]
    """For each unit, the passing entries that have it, and how often."""


def _matching(session: Searchable, units: list[Unit], query: Query) -> _Matching:
    passing = session.passing(query.filters)
    is_all = len(passing) == len(session.lengths)
    length = session.total_length if is_all else sum(session.lengths[at] for at in passing)
    counts = [_count(session, unit, fold=query.fold) for unit in units]
    if not is_all:
        allowed = frozenset(passing)
        counts = [{at: n for at, n in one.items() if at in allowed} for one in counts]
    return _Matching(session, passing, length, counts)


def _count(session: Searchable, unit: Unit, *, fold: bool) -> dict[int, int]:
    """Entries that have a unit; of its alternatives the one that is there most often counts."""
    best: dict[int, int] = {}
    for terms in unit.alternatives:
        found = [session.postings(term, fold=fold) for term in terms]
        common = found[0] if len(found) == 1 else reduce(_both, found)
        if not best:
            best = common
        else:
            for at, count in common.items():
                best[at] = max(count, best.get(at, 0))
    return best


def _both(one: dict[int, int], other: dict[int, int]) -> dict[int, int]:
    return {at: min(count, other[at]) for at, count in one.items() if at in other}


def _scored(
    one: _Matching, units: list[Unit], weights: list[float], average: float, query: Query
) -> SessionHits:
    scores: dict[int, float] = {}
    lengths = one.session.lengths
    for weight, counts in zip(weights, one.counts, strict=True):
        for at, count in counts.items():
            part = count * (K1 + 1) / (count + K1 * (1 - B + B * lengths[at] / average))
            scores[at] = scores.get(at, 0.0) + weight * part
    if query.match in ("all", "phrase"):
        scores = {at: score for at, score in scores.items() if all(at in counts for counts in one.counts)}
    if query.match == "phrase":
        scores = {at: score for at, score in scores.items() if _has_phrase(one.session, at, query)}
    hits = SessionHits(one.session, dict(sorted(scores.items())))
    for unit, counts in zip(units, one.counts, strict=True):
        for at in counts:
            if at in scores:
                hits.words.setdefault(at, []).append(unit.word)
    return hits


def _has_phrase(session: Searchable, at: int, query: Query) -> bool:
    """True when an entry has the words in a row, or, folded, their parts."""
    said, asked = session.entries(at, at)[0].text, query.text or ""
    return _has_run(tokenize(said), tokenize(asked)) or (
        query.fold and _has_run(list(smallest_parts(said)), list(smallest_parts(asked)))
    )


def _has_run(words: list[str], run: list[str]) -> bool:
    return bool(run) and any(
        word == run[0] and words[place : place + len(run)] == run for place, word in enumerate(words)
    )


def _within_budget(found: list[SessionHits]) -> tuple[list[SessionHits], bool]:
    """The first candidates, in order of the sessions and their entries."""
    left = MAX_ENTRY_CANDIDATES
    is_over = False
    for hits in found:
        if len(hits.scores) > left:
            is_over = True
            hits.scores = dict(list(hits.scores.items())[:left])
        left -= len(hits.scores)
    return found, is_over
