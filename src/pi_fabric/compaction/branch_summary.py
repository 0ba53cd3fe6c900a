"""Summaries of a branch that is left: prose for the model, typed facts for later summaries."""

from collections.abc import Sequence
from dataclasses import dataclass

from pi_fabric.base.collector import collection_paused
from pi_fabric.base.jsonvalue import JsonObject, text_or_empty
from pi_fabric.compaction.assemble import assemble, told_until
from pi_fabric.compaction.enrich import Enricher
from pi_fabric.compaction.instructions import InstructionError, decode_instructions
from pi_fabric.compaction.outcome import Declined
from pi_fabric.history.events.branch_facts import BranchDetails, BranchRequest, BranchSource
from pi_fabric.history.events.branch_fit import fit_details
from pi_fabric.history.events.branch_writer import facts_of
from pi_fabric.history.events.normalize import normalize


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchEvent:
    """What the host tells before it leaves a branch."""

    entries: Sequence[JsonObject]
    """The entries to summarize, root first."""
    old_leaf_id: str | None = None
    """Leaf of the branch that is left."""
    custom_instructions: str | None = None
    replaces_instructions: bool = False
    """True when the instructions are a prompt for a summarizer, which no projection can follow."""
    wants_summary: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchSummary:
    """What the host stores."""

    summary: str
    details: JsonObject


@collection_paused()
def compile_branch_summary(
    event: BranchEvent, *, enrichers: Sequence[Enricher] = ()
) -> BranchSummary | Declined | None:
    """Summarize the branch that is left.

    Returns:
        The summary with its facts; None when this is not ours: nobody wants a summary, the instructions
        are a whole prompt, or nothing was told. Declined only for a request that breaks the protocol.
    """
    if not event.wants_summary or event.replaces_instructions:
        return None
    decoded = decode_instructions(event.custom_instructions)
    if isinstance(decoded, InstructionError):
        return Declined(cause=f"instruction:{decoded.code}", notice=decoded.message)
    events = normalize(event.entries)
    if not events:
        return None
    assembled = assemble(
        events, request=decoded.lines, timestamp=told_until(event.entries, events), enrichers=enrichers
    )
    facts = facts_of(events)
    details = BranchDetails(
        source=BranchSource(
            first_entry_id=text_or_empty(event.entries[0].get("id")),
            last_entry_id=text_or_empty(event.entries[-1].get("id")),
            entry_count=len(event.entries),
            old_leaf_id=event.old_leaf_id,
        ),
        facts=facts.facts,
        omitted_facts=facts.omitted,
        sections=assembled.sections,
        request=BranchRequest(
            text="\n".join(decoded.lines),
            source_bytes=decoded.policy.source_bytes,
            truncated=decoded.policy.truncated,
        ),
    )
    return BranchSummary(summary=assembled.text, details=fit_details(details).to_json())
