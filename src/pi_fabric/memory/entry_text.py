"""The text of an entry, as it is searched and shown.

Everything that is not the source's own is the name of a field of the log, so that a search for a plain
word such as "error" or "tool" finds who said it and not every failed call.
"""

from collections.abc import Iterator
from typing import Final

from pi_fabric.base.jsonvalue import (
    UNDEFINED,
    Json,
    JsonObject,
    array_or_empty,
    format_number,
    is_number,
    is_object,
    stringify,
    text_or_empty,
)
from pi_fabric.base.jstext import is_blank
from pi_fabric.history.content import part_text, text_of
from pi_fabric.memory.model import Privacy

# Of a tool call's arguments as JSON: what was called with what, not the file that was written.
MAX_ARGUMENT_CHARS: Final = 400
ELLIPSIS: Final = "…"


def assistant_text(message: JsonObject, privacy: Privacy) -> str:
    """What the model said and called; thinking only where it may be indexed."""
    pieces = [piece for piece in _assistant_pieces(message.get("content"), privacy) if piece]
    error = message.get("errorMessage")
    if isinstance(error, str) and error:
        pieces.append(f"errorMessage: {error}")
    return "\n".join(pieces)


def result_text(message: JsonObject, privacy: Privacy) -> str:
    """What a tool returned, under its name."""
    name = text_or_empty(message.get("toolName"))
    label = f"toolResult({name})" if name else "toolResult"
    if message.get("isError") is True:
        label += " isError"
    text = text_of(message.get("content")) if privacy.tool_output else ""
    return label if is_blank(text) else f"{label}: {text}"


def command_text(message: JsonObject, privacy: Privacy) -> str:
    """A command of the user's with its exit code and output."""
    line = f"bash$ {text_or_empty(message.get('command'))}"
    exit_code = message.get("exitCode")
    if is_number(exit_code):
        line += f" exitCode {format_number(exit_code)}"
    output = text_or_empty(message.get("output")) if privacy.tool_output else ""
    return f"{line}\n{output}" if output else line


def custom_text(custom_type: Json, content: Json) -> str:
    """What an extension said, under its type when it names one."""
    text = text_of(content)
    return f"[{_plain(custom_type)}] {text}" if _is_named(custom_type) else text


def summary_text(summary: Json) -> str:
    """A compaction's summary; nothing when it has none."""
    text = text_or_empty(summary)
    return "" if is_blank(text) else f"compactionSummary: {text}"


def _assistant_pieces(content: Json, privacy: Privacy) -> Iterator[str]:
    for part in array_or_empty(content):
        if not is_object(part):
            continue
        kind = part.get("type")
        if kind == "text":
            yield part_text(part) or ""
        elif kind == "thinking" and privacy.thinking:
            yield text_or_empty(part.get("thinking"))
        elif kind == "toolCall":
            yield f"toolCall {_plain(part.get('name'))}({_arguments(part)})"


def _arguments(part: JsonObject) -> str:
    arguments = part.get("arguments", UNDEFINED)
    if arguments is UNDEFINED:
        return ""
    written = stringify(arguments)
    return written if len(written) <= MAX_ARGUMENT_CHARS else written[:MAX_ARGUMENT_CHARS] + ELLIPSIS


def _is_named(value: Json) -> bool:
    return bool(value) and not is_object(value)


def _plain(value: Json) -> str:
    """A name as JavaScript puts it into a text; names are texts, but a log may hold anything."""
    if isinstance(value, str):
        return value
    return "" if value is None else stringify(value)
