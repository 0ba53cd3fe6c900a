"""What was asked before, turn by turn, and which tools answered."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from pi_fabric.base.jstext import first_line, truncate
from pi_fabric.compaction.projections.source import Source
from pi_fabric.compaction.sampling import sampled_lines
from pi_fabric.compaction.section import Line, Section, item
from pi_fabric.history.events.model import CustomMessage, Event, ToolCalled, UserText

# The format's number.
MAX_TURNS = 32
TEXT_UNITS = 80
NAME_UNITS = 40
# A turn may call any number of tools; its line has room for the first few.
MAX_TOOL_NAMES = 8


def earlier_turns(source: Source) -> Section:
    """Every turn but the last, which the status tells of."""
    turns = list(pairwise(source.turn_starts))
    lines, omitted = sampled_lines(turns, MAX_TURNS, lambda turn: _line(source.events[slice(*turn)]))
    return Section(name="earlierTurns", lines=tuple(lines), omitted=omitted)


def _line(turn: Sequence[Event]) -> Line:
    opening, *rest = turn
    tools = Counter(event.name for event in rest if isinstance(event, ToolCalled))
    said = opening.text if isinstance(opening, UserText | CustomMessage) else ""
    text = truncate(first_line(said), TEXT_UNITS) or "(no text)"
    if isinstance(opening, CustomMessage):
        text = f"{truncate(opening.custom_type, NAME_UNITS)}: {text}"
    return item(opening.entry_id, f"{text}{_tools(tools)}")


def _tools(tools: Counter[str]) -> str:
    if not tools:
        return ""
    named = [f"{truncate(name, NAME_UNITS)} {count}" for name, count in tools.items()]
    more = [f"{len(named) - MAX_TOOL_NAMES} other tools"] if len(named) > MAX_TOOL_NAMES else []
    return f" ({', '.join(named[:MAX_TOOL_NAMES] + more)})"
