"""The newest events as they came, one line each."""

from pi_fabric.base.jsonvalue import UNDEFINED, JsonObject, stringify
from pi_fabric.base.jstext import collapse, first_line, truncate, truncate_start
from pi_fabric.compaction.operations import operations_of
from pi_fabric.compaction.projections.source import Source
from pi_fabric.compaction.section import Line, Section, omission
from pi_fabric.history.events.model import (
    AssistantText,
    BashRan,
    CustomMessage,
    Event,
    FabricOperation,
    FabricPhase,
    Thinking,
    ToolCalled,
    ToolResulted,
    UserText,
)

# The format's number.
MAX_EVENTS = 40
TEXT_UNITS = 80
NAME_UNITS = 40
# Arguments come after a name.
ARGUMENT_UNITS = 60


def transcript(source: Source) -> Section:
    """The last events; an empty thought is counted but has no line."""
    shown = source.events[-MAX_EVENTS:]
    omitted = source.events[: len(source.events) - len(shown)]
    lines: list[Line] = []
    if omitted:
        lines.append(omission(len(omitted), address_of(omitted[0]), address_of(omitted[-1])))
    lines += [_line(event) for event in shown if not (isinstance(event, Thinking) and event.is_empty)]
    return Section(name="transcript", lines=tuple(lines), omitted=len(omitted))


def address_of(event: Event) -> str:
    """Where the event can be opened."""
    return event.address if isinstance(event, FabricPhase | FabricOperation) else event.entry_id


def _line(event: Event) -> Line:
    address = address_of(event)
    text = f"#{event.index} [{collapse(address)}] {_told(event)}"
    return Line(text=text, first=address, last=address, count=1)


def _told(event: Event) -> str:
    match event:
        case UserText():
            return f"user: {_quoted(event.text)}"
        case AssistantText():
            return f"assistant: {_quoted(event.text)}"
        case Thinking():
            return "(thinking)"
        case CustomMessage():
            return _custom(event)
        case ToolCalled():
            return f"call {_name(event.name)}{_arguments(event.args)}"
        case ToolResulted():
            how = "failed" if event.is_error else "returned"
            return f"{_name(event.tool_name)} {how}: {_quoted(event.text)}"
        case BashRan():
            return _command(event)
        case FabricPhase():
            return f"phase {_name(event.phase)}"
        case FabricOperation():
            [done] = operations_of([event])
            words = [_name(done.ref), done.target(ARGUMENT_UNITS), done.ending]
            return " ".join(word for word in words if word)


def _custom(event: CustomMessage) -> str:
    details = "" if event.details is UNDEFINED else f" {truncate(stringify(event.details), ARGUMENT_UNITS)}"
    return f"{_name(event.custom_type)}: {_quoted(event.text)}{details}"


def _command(event: BashRan) -> str:
    command = f"`{truncate(event.command, ARGUMENT_UNITS)}`"
    if not event.is_error:
        return f"ran {command}"
    words = first_line(event.error or "")
    return f"failed {command}" + (f": {_quoted(words)}" if words else "")


def _arguments(args: JsonObject) -> str:
    if not args:
        return ""
    path, command = args.get("path"), args.get("command")
    if isinstance(command, str):
        return f" {truncate(command, ARGUMENT_UNITS)}"
    if isinstance(path, str):
        return f" {truncate_start(path, ARGUMENT_UNITS)}"
    return f" {truncate(stringify(args), ARGUMENT_UNITS)}"


def _name(text: str) -> str:
    return truncate(text, NAME_UNITS)


def _quoted(text: str) -> str:
    return f'"{truncate(first_line(text), TEXT_UNITS)}"'
