"""Notes that others may add to a section. None ship: this is the seam.

An enricher is pure and deterministic: the same events and section give the same notes, in the same order.
What it says is made one line and cut to the section's bounds like everything else; it cannot change or
remove a line.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from pi_fabric.base.jstext import truncate
from pi_fabric.compaction.section import Section, label
from pi_fabric.history.events.model import Event

Enricher: TypeAlias = Callable[[Sequence[Event], Section], Sequence[str]]
"""Gives the notes to add at the end of a section; an empty sequence adds none."""

# Of one enricher in one section: notes must not push out what they are about.
MAX_NOTES = 4
NOTE_UNITS = 160


def enriched(section: Section, events: Sequence[Event], enrichers: Sequence[Enricher]) -> Section:
    """`section` with the notes of every enricher, in the order of the enrichers."""
    notes = [
        label(f"Note: {truncate(note, NOTE_UNITS)}")
        for enricher in enrichers
        for note in list(enricher(events, section))[:MAX_NOTES]
    ]
    return replace(section, lines=(*section.lines, *notes)) if notes else section
