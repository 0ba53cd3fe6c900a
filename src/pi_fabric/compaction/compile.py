"""A compaction, from what the host tells to what it may store.

Pure: no clock, no files, no model. Text of earlier summaries is never read; everything told comes from raw
entries, every time anew, so no error is handed on.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pi_fabric.base.collector import collection_paused
from pi_fabric.base.jsonvalue import Json, JsonObject, utf16_length
from pi_fabric.compaction.assemble import Assembled, assemble, covered_range, told_until
from pi_fabric.compaction.budget import Budget, BudgetFigures, read_budget
from pi_fabric.compaction.cut import Empty, LiveCut, find_live_cut
from pi_fabric.compaction.details import Counts, Details, EntryRange, recorded_version
from pi_fabric.compaction.enrich import Enricher
from pi_fabric.compaction.instructions import Decoded, InstructionError, decode_instructions
from pi_fabric.compaction.outcome import Compiled, Declined
from pi_fabric.config.model import CompactionFill
from pi_fabric.history.events.model import Event
from pi_fabric.history.events.normalize import normalize

Reason: TypeAlias = Literal["manual", "threshold", "overflow"]


EventsBefore: TypeAlias = Callable[[int], Sequence[Event]]
"""What `normalize` gives for so many of the branch's first entries, from somebody who has it ready."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionEvent:
    """What the host tells before it compacts. The previous summary is deliberately not among it."""

    entries: Sequence[JsonObject]
    """The active path, root first."""
    tokens_before: int | float
    """Real size of the context."""
    settings: Json = None
    """Pi's compaction settings; what is missing has Pi's default."""
    context_window: Json = None
    """The model's window in tokens; None when the model is not known."""
    target_ratio: Json = None
    """Part of the window that may be in use afterwards."""
    fill: CompactionFill = "ratio"
    custom_instructions: str | None = None
    reason: Reason | None = None
    """Why the host compacts; None from a host that does not say."""

    def budget(self) -> Budget | None:
        """What may stay; None without metadata of the model."""
        return read_budget(
            context_window=self.context_window,
            target_ratio=self.target_ratio,
            settings=self.settings,
            fill=self.fill,
            # Only an overflow proves that the window is smaller than it says.
            failed_tokens=self.tokens_before if self.reason == "overflow" else None,
        )


@collection_paused()
def compile_summary(
    event: CompactionEvent,
    *,
    enrichers: Sequence[Enricher] = (),
    events_before: EventsBefore | None = None,
) -> Compiled | Declined:
    """Compile the compaction of a branch.

    Total for any JSON objects as entries; the same event gives the same bytes.

    Args:
        event: What the host tells.
        enrichers: Add notes to sections; none ship.
        events_before: Gives what `normalize` makes of the first N entries, for a caller that followed the
            branch and has it; None normalizes here.

    Returns:
        The compaction, or why there is none: the request breaks the protocol, nothing is live, nothing was
        told, or even the summary alone would miss the target.
    """
    decoded = decode_instructions(event.custom_instructions)
    if isinstance(decoded, InstructionError):
        return Declined(cause=f"instruction:{decoded.code}", notice=decoded.message)
    cut = find_live_cut(event.entries, tokens_before=event.tokens_before, budget=event.budget())
    if isinstance(cut, Empty):
        return Declined(cause="empty-live-window")
    given = events_before(cut.source_end) if events_before else None
    events = normalize(event.entries[: cut.source_end]) if given is None else given
    if not events:
        return Declined(cause="no-source-events")
    assembled = assemble(
        events, request=decoded.lines, timestamp=told_until(event.entries, events), enrichers=enrichers
    )
    units = utf16_length(assembled.text)
    if cut.figures is not None and cut.figures.is_over_target(units):
        return Declined(cause="over-target")
    return Compiled(
        summary=assembled.text,
        first_kept_entry_id=cut.first_kept_entry_id,
        tokens_before=event.tokens_before,
        details=_details(event.entries, cut, events, decoded, assembled).to_json(),
    )


def _details(
    entries: Sequence[JsonObject],
    cut: LiveCut,
    events: Sequence[Event],
    decoded: Decoded,
    assembled: Assembled,
) -> Details:
    ids = cut.summarized_ids
    return Details(
        sections=assembled.sections,
        source_range=covered_range(events),
        live_cut_range=EntryRange(first=ids[0], last=ids[-1]) if ids else EntryRange(first="", last=""),
        counts=_counts(entries, cut, len(events), assembled.entry_count),
        omitted=assembled.omitted,
        policy=decoded.policy,
        first_kept_entry_id=cut.first_kept_entry_id,
        timestamp=told_until(entries, events),
        budget=None if cut.figures is None else _budget(cut.figures, utf16_length(assembled.text)),
    )


def _counts(entries: Sequence[JsonObject], cut: LiveCut, event_count: int, entry_count: int) -> Counts:
    versions = list(_prior_versions(entries))
    return Counts(
        branch_entries=len(entries),
        source_entries=entry_count,
        source_events=event_count,
        live_cut_entries=len(cut.summarized),
        prior_v1=versions.count(1),
        prior_v2=versions.count(2),
    )


def _prior_versions(entries: Iterable[JsonObject]) -> Iterable[int | None]:
    for entry in entries:
        if entry.get("type") == "compaction":
            yield recorded_version(entry.get("details"))


def _budget(figures: BudgetFigures, summary_units: int) -> JsonObject:
    return {**figures.to_json(), "projectedTokensAfter": figures.projected_tokens(summary_units)}
