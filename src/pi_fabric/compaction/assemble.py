"""One summary from typed events: project, annotate, render."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pi_fabric.base.jsonvalue import JsonObject, text_or_empty
from pi_fabric.compaction.details import EntryRange
from pi_fabric.compaction.enrich import Enricher, enriched
from pi_fabric.compaction.footer import footer
from pi_fabric.compaction.projections import PROJECTIONS, Source
from pi_fabric.compaction.render import (
    HEADERS,
    MAX_REQUEST_BYTES,
    REQUEST_HEADER,
    RULE,
    join_blocks,
    render_block,
    render_section,
)
from pi_fabric.compaction.section import Line, Section, SectionName
from pi_fabric.history.events.model import Event

# The status samples nothing, so there is nothing to count.
_UNCOUNTED: Final[frozenset[SectionName]] = frozenset({"status"})
# What somebody asked to keep is shown right after the goal.
_REQUEST_POSITION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled:
    """A summary with what its record says about it."""

    text: str
    """At most 32 KiB of UTF-8."""
    sections: tuple[str, ...]
    """Headers of the blocks that have one, in order."""
    omitted: dict[str, int]
    """Per sampling projection: what its caps left out."""
    entry_count: int
    """Entries of the branch that told something."""


def assemble(
    events: Sequence[Event],
    *,
    request: Sequence[str] = (),
    timestamp: str = "",
    enrichers: Sequence[Enricher] = (),
) -> Assembled:
    """Compose the summary of `events`.

    Pure: the same arguments give the same bytes.

    Args:
        events: At least one, in order.
        request: What was asked of the summary, a line per value.
        timestamp: Of the newest entry that told something, as stored; empty when it has none.
        enrichers: Add notes to sections.
    """
    source = Source.of(events)
    projected = [project(source) for project in PROJECTIONS]
    sections = [enriched(section, events, enrichers) for section in projected]
    headed = list(_blocks(sections))
    if request:
        lines = [_request_line(number, text) for number, text in enumerate(request, 1)]
        headed.insert(
            min(_REQUEST_POSITION, len(headed)),
            (REQUEST_HEADER, render_block(REQUEST_HEADER, lines, MAX_REQUEST_BYTES)),
        )
    covered = covered_range(events)
    end = footer(covered.first, covered.last, timestamp)
    return Assembled(
        text=join_blocks([*(block for _, block in headed), end]),
        sections=tuple(header for header, _ in headed if header != RULE),
        omitted={section.name: section.omitted for section in sections if section.name not in _UNCOUNTED},
        entry_count=source.entry_count,
    )


def covered_range(events: Sequence[Event]) -> EntryRange:
    """From the first to the last entry of the branch that told something."""
    return EntryRange(first=events[0].source_entry_id, last=events[-1].source_entry_id)


def told_until(entries: Sequence[JsonObject], events: Sequence[Event]) -> str:
    """Timestamp of the entry that told the last event, as stored; empty when it has no string there."""
    last_id = events[-1].source_entry_id
    last = next(entry for entry in reversed(entries) if entry.get("id") == last_id)
    return text_or_empty(last.get("timestamp"))


def _request_line(number: int, text: str) -> Line:
    """A line with its place in the request, so that a cut can say which ones are missing."""
    place = f"line {number}"
    return Line(text=text, first=place, last=place, count=1)


def _blocks(sections: Sequence[Section]) -> Iterator[tuple[str, str]]:
    for section in sections:
        if block := render_section(section):
            yield HEADERS[section.name], block
