"""Where things stand at the end of what is summarized."""

from pi_fabric.base.jstext import collapse, is_blank, truncate
from pi_fabric.compaction.projections.source import Source
from pi_fabric.compaction.section import Line, Section
from pi_fabric.history.events.model import AssistantText, CustomMessage, UserText

# The newest request may have several parts and must not lose one: as much as a line takes. The others
# leave it the room: all three fit the block, whatever the script.
REQUEST_UNITS = 1_000
ANSWER_UNITS = 160
PATH_UNITS = 120
NAME_UNITS = 40


def status(source: Source) -> Section:
    """The newest message that says something, the newest change to a file, the newest words of the model."""
    lines = [_request(source), _change(source), _answer(source)]
    return Section(name="status", lines=tuple(line for line in lines if line is not None))


def _request(source: Source) -> Line | None:
    for event in reversed(source.events):
        if isinstance(event, UserText | CustomMessage) and not is_blank(event.text):
            is_user = isinstance(event, UserText)
            what = "request" if is_user else f"from {truncate(event.custom_type, NAME_UNITS)}"
            return _line(f"Latest {what}", event.entry_id, truncate(event.text, REQUEST_UNITS))
    return None


def _change(source: Source) -> Line | None:
    for done in reversed(source.operations):
        if done.file_tool in {"edit", "write"} and done.path is not None:
            how = "" if done.succeeded else f" ({done.ending})"
            text = f"{done.file_tool} {done.target(PATH_UNITS)}{how}"
            return _line("Latest change", done.address, text)
    return None


def _answer(source: Source) -> Line | None:
    """Nothing when the model's newest text is blank: an older one is not where things stand."""
    for event in reversed(source.events):
        if isinstance(event, AssistantText):
            text = truncate(event.text, ANSWER_UNITS)
            return _line("Latest answer", event.entry_id, text) if text else None
    return None


def _line(what: str, address: str, text: str) -> Line:
    shown = f"{what} ({collapse(address)}): {text}"
    return Line(text=shown, first=address, last=address, count=1)
