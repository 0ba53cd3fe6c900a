"""What the readers of other agents' logs share: Pi's shapes of entries, and the header before them.

A translator takes a log's values one by one and gives Pi's entries of format 3 for each. Nothing here
raises for content, and nothing of a value is kept but the texts that are carried over.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol

from pi_fabric.base.jsonvalue import Json, JsonObject, is_array, is_object, text_or_empty
from pi_fabric.history.session.migration import CURRENT_VERSION

# A log names its folder within its first lines; one that never does must not be held back to its end.
MAX_ENTRIES_BEFORE_HEADER: Final = 256

# Names that agents give to a part of plain text.
_TEXT_TYPES: Final = ("text", "input_text", "output_text", "summary_text", "reasoning_text")


@dataclass(slots=True, kw_only=True)
class About:
    """What a log has said of itself so far; the first word counts."""

    id: str = ""
    """Empty when it has named none: the caller then takes the stem of the file's name."""
    cwd: str = ""
    """Of the first record that names a folder; the name of the log's own folder is never asked."""
    timestamp: str = ""
    """Of the first record that has one."""
    latest: str = ""
    """Of the last record that had one."""

    def learn(self, *, session_id: Json = None, cwd: Json = None, timestamp: Json = None) -> None:
        """Take in what a record says; what is no text, or is known already, changes nothing."""
        self.id = self.id or text_or_empty(session_id)
        self.cwd = self.cwd or text_or_empty(cwd)
        if isinstance(timestamp, str) and _is_time(timestamp):
            self.latest = timestamp
            self.timestamp = self.timestamp or timestamp

    def header(self) -> JsonObject:
        """Pi's header; without `id` when the log has named none."""
        named: JsonObject = {"id": self.id} if self.id else {}
        return {
            "type": "session",
            "version": CURRENT_VERSION,
            **named,
            "timestamp": self.timestamp,
            "cwd": self.cwd,
        }


class Translator(Protocol):
    """A log that is translated value by value."""

    about: About
    """What the values so far say of the log."""

    def entries(self, value: Json) -> list[JsonObject]:
        """The entries that the next value of the log gives; empty for state and for what is unknown."""
        ...

    def closing(self) -> list[JsonObject]:
        """What has to follow the values so far, should they be all; changes nothing."""
        ...


def translated(translator: Translator, values: Iterable[Json]) -> Iterator[JsonObject]:
    """The header, then the entries, in order of the log; lazy.

    The header waits for the log to name its session and its folder, at most for the first 256 entries.
    """
    values = iter(values)
    waiting: list[JsonObject] = []
    for value in values:
        waiting += translator.entries(value)
        is_known = translator.about.id and translator.about.cwd
        if is_known or len(waiting) >= MAX_ENTRIES_BEFORE_HEADER:
            break
    yield translator.about.header()
    yield from waiting
    for value in values:
        yield from translator.entries(value)
    yield from translator.closing()


def home_path(environ: Mapping[str, str], variable: str, folder: str) -> Path | None:
    """The folder that `variable` names, else `folder` in the user's home; None when both are unknown.

    An empty variable counts as none.
    """
    if named := environ.get(variable):
        return Path(named)
    home = environ.get("HOME") or environ.get("USERPROFILE")
    return Path(home) / folder if home else None


def plain_texts(content: Json) -> list[str]:
    """The texts of a content: a string, a part, or a list of parts; without the empty ones.

    Images, documents, encrypted and unknown parts have none.
    """
    if isinstance(content, str):
        return [content] if content else []
    if is_object(content):
        text = text_or_empty(content.get("text"))
        return [text] if text and content.get("type") in _TEXT_TYPES else []
    if not is_array(content):
        return []
    return [text for part in content if is_object(part) for text in plain_texts(part)]


def text_parts(texts: Iterable[str]) -> list[JsonObject]:
    """Pi's parts for texts."""
    return [{"type": "text", "text": text} for text in texts]


def user_body(texts: Iterable[str]) -> JsonObject:
    """The body of an entry for what the user said."""
    return {"type": "message", "message": {"role": "user", "content": text_parts(texts)}}


def assistant_body(parts: list[JsonObject], **facts: Json) -> JsonObject:
    """The body of an entry for what the model said and called.

    Args:
        parts: Of types text, thinking and toolCall.
        facts: Further fields of the message; None leaves one out.
    """
    known = {name: fact for name, fact in facts.items() if fact is not None}
    return {"type": "message", "message": {"role": "assistant", "content": parts, **known}}


def result_body(*, call_id: str, tool_name: str, texts: Iterable[str], is_error: bool) -> JsonObject:
    """The body of an entry for what a tool gave back.

    Args:
        call_id: Empty when the log does not name the call.
        tool_name: Empty when the call is not in the log.
        texts: One part each.
        is_error: Only from a field that says so.
    """
    message: JsonObject = {
        "role": "toolResult",
        "toolCallId": call_id,
        "toolName": tool_name,
        "content": text_parts(texts),
        "isError": is_error,
    }
    return {"type": "message", "message": message}


def custom_body(custom_type: str, texts: Iterable[str]) -> JsonObject:
    """The body of an entry for what a program said in the conversation, in nobody's name."""
    return {
        "type": "custom_message",
        "customType": custom_type,
        "content": text_parts(texts),
        "display": False,
    }


def compaction_body(summary: str, tokens_before: float, first_kept_id: str | None = None) -> JsonObject:
    """The body of an entry that stands for all before it.

    Args:
        summary: May be empty: a log may keep it encrypted.
        tokens_before: 0 when the log does not tell.
        first_kept_id: None when nothing was kept; the entry then names itself, which by Pi's rule keeps
            nothing.
    """
    return {
        "type": "compaction",
        "summary": summary,
        "firstKeptEntryId": first_kept_id,
        "tokensBefore": tokens_before,
    }


def entry_of(body: JsonObject, *, entry_id: str, parent_id: str | None, timestamp: str) -> JsonObject:
    """Make a body an entry; `body` must not be used again."""
    entry: JsonObject = {"type": body["type"], "id": entry_id, "parentId": parent_id, "timestamp": timestamp}
    if body["type"] == "compaction" and body["firstKeptEntryId"] is None:
        body["firstKeptEntryId"] = entry_id
    return {**entry, **body}


def _is_time(text: str) -> bool:
    with suppress(ValueError):
        datetime.fromisoformat(text)
        return True
    return False
