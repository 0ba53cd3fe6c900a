"""An answer as text for a reader: what was found where, how to open it, and what is not known."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from pi_fabric.base.jstext import collapse
from pi_fabric.memory.discovery import SCOPES
from pi_fabric.memory.items import Item, Page, SegmentHit
from pi_fabric.memory.model import UNREADABLE_LINES, Coverage, Entry, Number
from pi_fabric.memory.query import Query
from pi_fabric.memory.snippets import snippet

MAX_BRIEF_CHARS: Final = 8_000
"""Of the text of a brief answer: about 2,000 tokens, which a host hands on without cutting."""
_SNIPPET_CHARS: Final = 240
# Room for the last lines: coverage, what was left out, and how to go on.
_TAIL_CHARS: Final = 900

REASONS: Final = {
    "max_entry_chars": "long entries are indexed only up to memory.maxEntryChars",
    "max_sync_sessions": "not every session is indexed; ask again, or raise memory.maxSyncSessions",
    "max_sync_source_bytes": "not every session is indexed; ask again, or raise memory.maxSyncSourceBytes",
    "max_cold_vocabulary_bytes": "a session has more words than memory.maxColdVocabularyBytes holds",
    "max_cold_cache_bytes": "a session's record is cut at memory.maxColdCacheBytes",
    "max_fold_bytes": "a session has more parts of names than its list of them holds",
    "source_unavailable": "a session file cannot be read, or is not written yet",
    "source_changed_during_index": "a session was written while it was read; ask again",
    "index_error": "a session could not be indexed",
    "line_too_long": "a line of a session is longer than 64 MiB and was left out",
    "invalid_parent_graph": "a session's entries form a cycle",
    "duplicate_entry_id": "a session uses an entry id twice",
    "duplicate_operation_address": "a session uses an operation's address twice",
    "duplicate_branch_fact_address": "a branch summary tells a fact twice and was left out",
    "cold_structural_filter_requires_hydration": "in older sessions word and filter may be met apart",
    "cold_phrase_requires_hydration": "of older sessions the index does not know the order of words",
    "candidate_entry_budget": "more entries match than one question may look at",
    "candidate_digest_budget": "more older sessions match than one question may look at",
    "candidate_item_budget": "more was found than one question may list",
    "cache_cleanup_budget": "the index has more files than one clean-up may look at",
    "regex_timeout": "the pattern took longer than memory.regexTimeoutMs",
    "regex_max_haystack_terms": "the pattern was not tried on everything: raise memory.regexMaxHaystackTerms",
    "regex_max_haystack_bytes": "the pattern was not tried on everything: raise memory.regexMaxHaystackBytes",
    "cold_regex_requires_hydration": "of older sessions the pattern was tried on single words",
    UNREADABLE_LINES: "lines could not be read",
    "regex_pattern_too_large": "the pattern is longer than memory.regexMaxPatternBytes",
    "invalid_regex": "the pattern is no JavaScript regular expression",
    "regex_worker_error": "the sandbox could not run the pattern",
}
"""Each reason against completeness as a sentence."""


def full_text(query: Query, page: Page, coverage: Coverage) -> str:
    """Every entry of the page with its whole text."""
    lines = [headline(query, page, coverage)]
    for item in page.items:
        lines.append(item_title(item))
        if isinstance(item, SegmentHit):
            matched = frozenset(item.matched)
            for at, entry in enumerate(item.entries(), start=item.first):
                mark = ">" if at in matched else " "
                lines.append(f"{mark} #{entry.index} {_about(entry)}\n{entry.text}")
    return "\n".join([*lines, *_tail(query, page, coverage)])


def brief_text(query: Query, page: Page, coverage: Coverage) -> str:
    """Snippets with their addresses, within 8,000 characters; what does not fit is counted."""
    lines = [headline(query, page, coverage)]
    size = len(lines[0])
    shown = 0
    for item in page.items:
        block = "\n".join((item_title(item), *_snippets(item, query)))
        if size + len(block) + 1 > MAX_BRIEF_CHARS - _TAIL_CHARS:
            break
        lines.append(block)
        size += len(block) + 1
        shown += 1
    if shown < len(page.items):
        lines.append(
            f"{len(page.items) - shown} more of this page are not shown; ask for a smaller pageSize."
        )
    return "\n".join([*lines, *_tail(query, page, coverage)])[:MAX_BRIEF_CHARS]


def headline(query: Query, page: Page, coverage: Coverage) -> str:
    """How much was found; says no matches only when that is certain."""
    where = f"in {_place(query)} ({query.branches} branches)"
    if not page.total_items:
        if query.is_browse:
            return f"No sessions {where}." if coverage.is_complete else f"Nothing is indexed {where}."
        return f"{'No matches' if coverage.is_complete else 'No indexed matches'} {where}."
    noun = ("entry", "entries") if query.is_browse else ("match", "matches")
    matches = count(page.total_matches, *noun)
    pages = -(-page.total_items // page.size)
    if page.number > pages:
        return f"There is no page {page.number}, the last is {pages}: {matches} {where}."
    which = f", page {page.number} of {pages}" if pages > 1 else ""
    return f"{matches} in {count(page.total_items, 'place', 'places')} {where}{which}."


def _place(query: Query) -> str:
    """Where was searched; a word that is no scope means the current session, and is told."""
    scope = collapse(query.scope)
    if scope in SCOPES or query.names_session:
        return scope
    return f"this session, for {scope!r} is no scope"


def item_title(item: Item) -> str:
    """One line about a segment or a pointer, with what opens it."""
    if isinstance(item, SegmentHit):
        base = item.session.first_index
        return (
            f"- {item.session.file} {day(item.session.mtime)} entries {item.first + base}-{item.last + base}"
        )
    row = item.row
    words = f", has {', '.join(item.words)}" if item.words else ""
    last = day(row.last_ts or row.stamp.mtime_ms)
    return f"- {row.file} {last} (older: recall in session:PATH to see where{words})"


def coverage_line(coverage: Coverage) -> str:
    """Whether an answer is complete, and why not."""
    if coverage.is_complete and not coverage.eligible_sessions:
        return "There was no session to search."
    if coverage.is_complete:
        return f"Complete: {count(coverage.eligible_sessions, 'session', 'sessions')} searched."
    known = f"{coverage.indexed_sessions:,} of {count(coverage.eligible_sessions, 'session', 'sessions')}"
    reasons = "; ".join(_reason(reason, coverage) for reason in sorted(coverage.all_reasons))
    return f"Not complete, {known} searched: {reasons}."


def _reason(reason: str, coverage: Coverage) -> str:
    if reason == UNREADABLE_LINES and coverage.skipped_lines:
        return f"{count(coverage.skipped_lines, 'line', 'lines')} could not be read"
    return REASONS.get(reason, reason)


def day(moment: Number | None) -> str:
    """A time as a date, in UTC; a dash for none."""
    if moment is None:
        return "-"
    try:
        return datetime.fromtimestamp(moment / 1000, UTC).strftime("%Y-%m-%d")
    except (OverflowError, OSError, ValueError):
        return "-"


def count(number: int, one: str, many: str) -> str:
    """A number with its noun."""
    return f"{number:,} {one if number == 1 else many}"


def _snippets(item: Item, query: Query) -> Iterator[str]:
    if not isinstance(item, SegmentHit):
        return
    shown = item.shown()
    for entry in shown:
        told = snippet(entry.text, query, _SNIPPET_CHARS)
        yield f"  #{entry.index} {day(entry.timestamp)} {_about(entry)}: {told}"
    if len(item.matched) > len(shown):
        yield f"  and {len(item.matched) - len(shown)} more matches here"


def _about(entry: Entry) -> str:
    address = f" {entry.entry_id}" if entry.entry_id is not None else ""
    name = f"({entry.tool_name})" if entry.tool_name is not None else ""
    return f"{entry.role}{name}{address}"


def _tail(query: Query, page: Page, coverage: Coverage) -> Iterable[str]:
    yield coverage_line(coverage)
    if page.has_next:
        yield f"More on page {page.number + 1}."
    if page.total_items:
        yield "Open with memory.expand({ session: PATH, indices: [N] })."
    elif not query.is_browse and not query.fold and not (query.text or "").isascii():
        yield "Runs of CJK are one word each; fold: true looks inside them."
