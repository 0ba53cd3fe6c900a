"""What the user wanted first, and how that changed."""

from pi_fabric.base.bounds import ELLIPSIS, clip_bytes
from pi_fabric.base.jstext import collapse, is_blank, truncate
from pi_fabric.compaction.projections.source import Source
from pi_fabric.compaction.sampling import sampled_lines
from pi_fabric.compaction.section import Line, Section, item
from pi_fabric.history.events.model import UserText

# All numbers are the format's. Later wishes are one-liners, so that 24 of them fit beside the first.
MAX_FIRST_LINES = 3
MAX_FIRST_LINE_BYTES = 1_000
MAX_LATER = 24
LATER_UNITS = 120


def goal(source: Source) -> Section:
    """Up to three lines of the first message, then a sample of the later ones that say something.

    A first message without text has one line without text: it keeps its place and shows nothing.
    """
    said = source.users
    if not said:
        return Section(name="goal")
    first = _first(said[0])
    later, omitted = sampled_lines(
        [event for event in said[1:] if not is_blank(event.text)], MAX_LATER, _later
    )
    pinned = min(len(first), MAX_FIRST_LINES)
    return Section(name="goal", lines=(*first, *later), omitted=omitted, pinned=pinned)


def _first(event: UserText) -> list[Line]:
    lines = [line for line in map(collapse, event.text.split("\n")) if line]
    shown = [_quoted(event, line) for line in lines[:MAX_FIRST_LINES] or [""]]
    if len(lines) > MAX_FIRST_LINES:
        rest = len(lines) - MAX_FIRST_LINES
        text = f"… {rest} more line{'s' if rest > 1 else ''}, in {collapse(event.entry_id)}"
        shown.append(Line(text=text, first=event.entry_id, last=event.entry_id, count=1))
    return shown


def _quoted(event: UserText, line: str) -> Line:
    text = f"> {clip_bytes(line, MAX_FIRST_LINE_BYTES)}" if line else ""
    return Line(text=text, first=event.entry_id, last=event.entry_id, count=1)


def _later(event: UserText) -> Line:
    text = truncate(event.text, LATER_UNITS)
    count = sum(not is_blank(line) for line in event.text.split("\n")) if text.endswith(ELLIPSIS) else 1
    return item(event.entry_id, f"{text} ({count} lines)" if count > 1 else text)
