"""What was found as one stream of items, ranked and paged: segments of hot sessions, and pointers."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, TypeAlias

import msgspec

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.memory.cold import DigestHit
from pi_fabric.memory.model import Branches, Entry, named_source
from pi_fabric.memory.query import Query
from pi_fabric.memory.ranking import SessionHits
from pi_fabric.memory.searchable import Searchable

MAX_ITEMS: Final = 10_000
ITEM_BUDGET: Final = "candidate_item_budget"
SHOWN_MATCHES: Final = 3
"""Of one segment in a brief answer; the others are counted."""


@dataclass(slots=True)
class SegmentHit:
    """Entries from one turn's start to the next's, of which some match."""

    session: Searchable
    first: int
    last: int
    """By their place in the session, both included."""
    matched: list[int]
    score: float
    words: dict[int, list[str]] = field(default_factory=dict[int, list[str]])
    """Words of the query that an entry matched."""
    _shown: list[Entry] | None = None

    def entries(self) -> list[Entry]:
        """All entries of the segment; reads them."""
        return self.session.entries(self.first, self.last)

    def shown(self) -> list[Entry]:
        """The first entries that match, or of a browse the first of all; read once."""
        if self._shown is None:
            places = self.matched[:SHOWN_MATCHES] or [self.first]
            read = self.session.entries(places[0], places[-1])
            self._shown = [read[at - places[0]] for at in places]
        return self._shown

    def to_json(self, branches: Branches, *, is_browse: bool) -> JsonObject:
        """The segment as it is answered in full; a browse marks every entry."""
        base = self.session.first_index
        first, last = self.first + base, self.last + base
        entries = self.entries()
        matched = frozenset(self.matched)
        return {
            "sessionId": self.session.session_id,
            "sessionFile": self.session.file,
            "sourceHash": self.session.source_hash,
            "branches": branches,
            "lineageFingerprint": self.session.lineage,
            "sessionMtime": self.session.mtime,
            "range": f"#{first}" if first == last else f"#{first}-#{last}",
            "entryRange": {"first": first, "last": last},
            "entries": [
                {
                    "entry": msgspec.to_builtins(entry),
                    "matched": at in matched,
                    "marker": ">" if at in matched or is_browse else " ",
                }
                for at, entry in enumerate(entries, start=self.first)
            ],
            "exactMatches": [exact_match(entries[at - self.first]) for at in self.matched],
            "matchedCount": len(self.matched),
            "score": self.score,
            "tier": self.session.tier,
        } | named_source(self.session.kind)


Item: TypeAlias = SegmentHit | DigestHit


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of the stream, and the size of the whole."""

    items: Sequence[Item]
    total_items: int
    total_matches: int
    """Entries in segments, and one for each pointer."""
    segment_count: int
    is_cut: bool
    """True when there were more items than one question may have."""
    number: int
    size: int

    @property
    def has_next(self) -> bool:
        """True when there is another page."""
        return self.number * self.size < self.total_items


def exact_match(entry: Entry) -> JsonObject:
    """Where a match is, in the terms of `expand`."""
    return {"index": entry.index, "entryId": entry.entry_id, "operationAddress": entry.address}


def paged(hits: Iterable[SessionHits], digests: Iterable[DigestHit], query: Query) -> Page:
    """Group, rank, cut and page what was found."""
    group = _all_segments if query.is_browse else _segments
    items: list[Item] = [segment for one in hits for segment in group(one)]
    items.extend(digests)
    items.sort(key=_order)
    kept = items[:MAX_ITEMS]
    start = (query.page - 1) * query.page_size
    return Page(
        items=kept[start : start + query.page_size],
        total_items=len(kept),
        total_matches=sum(len(item.matched) if isinstance(item, SegmentHit) else 1 for item in kept),
        segment_count=sum(isinstance(item, SegmentHit) for item in kept),
        is_cut=len(kept) < len(items),
        number=query.page,
        size=query.page_size,
    )


def _all_segments(hits: SessionHits) -> Iterable[SegmentHit]:
    """A browse shows every segment of a session of which an entry passes the filters."""
    if not hits.scores:
        return
    session = hits.session
    firsts = [at for at in session.starts if at]
    places = list(hits.scores)
    for first, after in pairwise([0, *firsts, len(session.lengths)]):
        matched = places[bisect_left(places, first) : bisect_left(places, after)]
        yield SegmentHit(session, first, after - 1, matched, 0.0)


def _segments(hits: SessionHits) -> Iterable[SegmentHit]:
    """Segments in which an entry matches; the best of them is the segment's score."""
    session = hits.session
    starts = session.starts
    open_one: SegmentHit | None = None
    for at, score in hits.scores.items():
        if open_one is None or at > open_one.last:
            if open_one is not None:
                yield open_one
            after = bisect_right(starts, at)
            first = starts[after - 1] if after else 0
            last = (starts[after] if after < len(starts) else len(session.lengths)) - 1
            open_one = SegmentHit(session, first, last, [], score, hits.words)
        open_one.matched.append(at)
        open_one.score = max(open_one.score, score)
    if open_one is not None:
        yield open_one


def _order(item: Item) -> tuple[float, float, int, int, str]:
    """Best first; then the newest session, segments before pointers, and as they are in the file."""
    if isinstance(item, SegmentHit):
        return (-item.score, -item.session.mtime, 0, item.first, item.session.file)
    return (-item.score, -item.row.stamp.mtime_ms, 1, 0, item.row.file)
