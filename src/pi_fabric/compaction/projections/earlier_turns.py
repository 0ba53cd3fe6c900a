"""What was asked before, turn by turn, and which tools answered."""

from collections import Counter
from dataclasses import dataclass, field

from pi_fabric.base.jstext import first_line, truncate
from pi_fabric.compaction.projections.source import Source
from pi_fabric.compaction.sampling import sampled_lines
from pi_fabric.compaction.section import Line, Section, item
from pi_fabric.history.events.model import CustomMessage, ToolCalled, UserText

# The format's number.
MAX_TURNS = 32
TEXT_UNITS = 80
NAME_UNITS = 40
# A turn may call any number of tools; its line has room for the first few.
MAX_TOOL_NAMES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """From one message of the user's or an extension's to the next."""

    opening: UserText | CustomMessage
    tools: Counter[str] = field(default_factory=Counter[str])


def earlier_turns(source: Source) -> Section:
    """Every turn but the last, which the status tells of."""
    turns: list[Turn] = []
    for event in source.events:
        if isinstance(event, UserText | CustomMessage):
            turns.append(Turn(opening=event))
        elif isinstance(event, ToolCalled) and turns:
            turns[-1].tools[event.name] += 1
    lines, omitted = sampled_lines(turns[:-1], MAX_TURNS, _line)
    return Section(name="earlierTurns", lines=tuple(lines), omitted=omitted)


def _line(turn: Turn) -> Line:
    opening = turn.opening
    text = truncate(first_line(opening.text), TEXT_UNITS) or "(no text)"
    if isinstance(opening, CustomMessage):
        text = f"{truncate(opening.custom_type, NAME_UNITS)}: {text}"
    return item(opening.entry_id, f"{text}{_tools(turn.tools)}")


def _tools(tools: Counter[str]) -> str:
    if not tools:
        return ""
    named = [f"{truncate(name, NAME_UNITS)} {count}" for name, count in tools.items()]
    more = [f"{len(named) - MAX_TOOL_NAMES} other tools"] if len(named) > MAX_TOOL_NAMES else []
    return f" ({', '.join(named[:MAX_TOOL_NAMES] + more)})"
