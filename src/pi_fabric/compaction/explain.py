"""Why a compaction came out as it did: where it could have been cut, and what its blocks left out.

Pure, like the compaction itself; it does the work once more and keeps what is otherwise thrown away.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pi_fabric.base.bounds import clip_bytes, utf8_bytes
from pi_fabric.compaction.compile import CompactionEvent, compile_summary
from pi_fabric.compaction.cut import CutExplanation, LiveCut, explain_cut
from pi_fabric.compaction.outcome import Compiled, Declined
from pi_fabric.compaction.projections import PROJECTIONS, Source
from pi_fabric.compaction.render import MAX_BLOCK_BYTES, MAX_LINE_BYTES, render_section
from pi_fabric.compaction.section import Section, SectionName
from pi_fabric.history.events.normalize import normalize


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockAccount:
    """What became of one section."""

    name: SectionName
    size_bytes: int
    """Of the block; 0 when it had nothing to tell."""
    limit_bytes: int
    told: int
    """Things that its lines stand for, shown or counted."""
    capped: int
    """Things that its number of lines left out."""
    cut: int
    """Things whose lines were dropped so that the block fits its bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A compaction with its reasons."""

    outcome: Compiled | Declined
    cut: CutExplanation
    source_end: int
    """The summary tells of the entries before this position."""
    blocks: tuple[BlockAccount, ...]
    """In the order in which they are shown."""


def explain_summary(event: CompactionEvent) -> Explanation:
    """Compile as `compile_summary` does, and say why it came out so; total likewise."""
    cut = explain_cut(event.entries, tokens_before=event.tokens_before, budget=event.budget())
    end = cut.cut.source_end if isinstance(cut.cut, LiveCut) else 0
    return Explanation(
        outcome=compile_summary(event), cut=cut, source_end=end, blocks=tuple(_accounts(event, end))
    )


def _accounts(event: CompactionEvent, end: int) -> Iterator[BlockAccount]:
    events = normalize(event.entries[:end])
    if not events:
        return
    source = Source.of(events)
    for project in PROJECTIONS:
        yield _account(project(source))


def _account(section: Section) -> BlockAccount:
    block = render_section(section) if section.lines else ""
    shown = set(block.split("\n"))
    # An omission that was merged into a larger one stands for what the caps left out already.
    dropped = sum(
        line.count
        for line in section.lines
        if not line.text.startswith("… ") and clip_bytes(line.text, MAX_LINE_BYTES) not in shown
    )
    return BlockAccount(
        name=section.name,
        size_bytes=utf8_bytes(block),
        limit_bytes=MAX_BLOCK_BYTES[section.name],
        told=sum(line.count for line in section.lines),
        capped=section.omitted,
        cut=dropped,
    )
