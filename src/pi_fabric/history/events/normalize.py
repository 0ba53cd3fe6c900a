"""Raw session entries as typed events: the one normalizer.

Structure decides, never words: entry types, roles, part types, call ids. Rendered summaries are no source;
of a branch summary only the typed facts count. Nothing here raises, whatever the JSON.
"""

import itertools
from collections.abc import Iterable

from pi_fabric.base.collector import collection_paused
from pi_fabric.base.jsonvalue import Json, JsonObject, is_array, is_number, is_object, text_or_empty
from pi_fabric.base.jstext import is_blank
from pi_fabric.history.content import text_of
from pi_fabric.history.events.branch_events import branch_events
from pi_fabric.history.events.custom import read_custom_message
from pi_fabric.history.events.model import (
    BASH_TOOL,
    FABRIC_TOOL,
    AssistantText,
    BashRan,
    CustomMessage,
    Event,
    Thinking,
    ToolCalled,
    ToolResulted,
    UserText,
)
from pi_fabric.history.events.nested import nested_events


def normalize(entries: Iterable[Json]) -> list[Event]:
    """Turn the entries of one branch into events, root first.

    Args:
        entries: Raw entries of one branch in its order; what is no entry gives no events.

    Returns:
        The events in order, indexed from 1 without gaps. The values in them are the entries' own, not copies.
    """
    normalizer = Normalizer()
    with collection_paused():
        return [event for entry in entries for event in normalizer.add(entry)]


class Normalizer:
    """Normalizes a branch entry by entry, as it grows.

    What `add` returned, joined, is what `normalize` gives for the same entries. Nothing looks ahead: a result
    that comes before its call is a result without a call, also when the call follows.
    """

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        # The newest call of each id: ids repeat when a provider counts them anew in each turn.
        self._calls: dict[str, ToolCalled] = {}

    def add(self, entry: Json) -> list[Event]:
        """The events of the branch's next entry; none for one that has no id or tells nothing."""
        if not is_object(entry) or not isinstance(entry_id := entry.get("id"), str):
            return []
        kind = entry.get("type")
        if kind == "message":
            return self._message(entry_id, entry.get("message"))
        if kind == "custom_message":
            return self._custom_message(entry_id, entry)
        if kind == "branch_summary":
            return list(branch_events(entry.get("details"), entry_id, self._numbers))
        return []

    def _message(self, entry_id: str, message: Json) -> list[Event]:
        if not is_object(message):
            return []
        role = message.get("role")
        if role == "assistant":
            return self._assistant(entry_id, message.get("content"))
        if role == "toolResult":
            return self._tool_result(entry_id, message)
        if role == "user":
            text = text_of(message.get("content"))
            return [
                UserText(entry_id=entry_id, source_entry_id=entry_id, index=next(self._numbers), text=text)
            ]
        if role == "bashExecution":
            return self._bash_execution(entry_id, message)
        return []

    def _assistant(self, entry_id: str, content: Json) -> list[Event]:
        if not is_array(content):
            return []
        events = (self._part(entry_id, part) for part in content)
        return [event for event in events if event is not None]

    def _part(self, entry_id: str, part: Json) -> Event | None:
        if not is_object(part):
            return None
        kind = part.get("type")
        if kind == "text":
            return self._text(entry_id, part.get("text"))
        if kind == "toolCall":
            return self._tool_call(entry_id, part)
        if kind == "thinking":
            thought = part.get("thinking")
            return Thinking(
                entry_id=entry_id,
                source_entry_id=entry_id,
                index=next(self._numbers),
                is_empty=not isinstance(thought, str) or is_blank(thought),
            )
        return None

    def _text(self, entry_id: str, text: Json) -> AssistantText | None:
        if not isinstance(text, str):
            return None
        return AssistantText(
            entry_id=entry_id, source_entry_id=entry_id, index=next(self._numbers), text=text
        )

    def _tool_call(self, entry_id: str, part: JsonObject) -> ToolCalled | None:
        call_id, name, args = part.get("id"), part.get("name"), part.get("arguments")
        if not isinstance(call_id, str) or not isinstance(name, str):
            return None
        call = ToolCalled(
            entry_id=entry_id,
            source_entry_id=entry_id,
            index=next(self._numbers),
            tool_call_id=call_id,
            name=name,
            args=args if is_object(args) else {},
        )
        self._calls[call_id] = call
        return call

    def _tool_result(self, entry_id: str, message: JsonObject) -> list[Event]:
        tool_name = text_or_empty(message.get("toolName"))
        if tool_name == BASH_TOOL:
            return [self._bash_result(entry_id, message)]
        result = ToolResulted(
            entry_id=entry_id,
            source_entry_id=entry_id,
            index=next(self._numbers),
            tool_call_id=text_or_empty(message.get("toolCallId")),
            tool_name=tool_name,
            is_error=message.get("isError") is True,
            text=text_of(message.get("content")),
        )
        if tool_name != FABRIC_TOOL:
            return [result]
        return [result, *nested_events(message.get("details"), entry_id, self._numbers)]

    def _bash_result(self, entry_id: str, message: JsonObject) -> BashRan:
        call_id = text_or_empty(message.get("toolCallId"))
        call = self._calls.get(call_id)
        is_error = message.get("isError") is True
        return BashRan(
            entry_id=entry_id,
            source_entry_id=entry_id,
            index=next(self._numbers),
            tool_call_id=call_id,
            command="" if call is None else text_or_empty(call.args.get("command")),
            is_error=is_error,
            exit_code=None,
            error=(text_of(message.get("content")) or None) if is_error else None,
        )

    def _bash_execution(self, entry_id: str, message: JsonObject) -> list[Event]:
        # The person kept this one from the model; a summary would hand it over.
        if message.get("excludeFromContext") is True:
            return []
        exit_code = message.get("exitCode")
        if not is_number(exit_code):
            exit_code = None
        is_error = exit_code is not None and exit_code != 0
        return [
            BashRan(
                entry_id=entry_id,
                source_entry_id=entry_id,
                index=next(self._numbers),
                tool_call_id="",
                command=text_or_empty(message.get("command")),
                is_error=is_error,
                exit_code=exit_code,
                error=(text_or_empty(message.get("output")) or None) if is_error else None,
            )
        ]

    def _custom_message(self, entry_id: str, entry: JsonObject) -> list[Event]:
        content = read_custom_message(entry)
        if content is None:
            return []
        return [
            CustomMessage(
                entry_id=entry_id,
                source_entry_id=entry_id,
                index=next(self._numbers),
                custom_type=content.custom_type,
                text=content.text,
                display=content.display,
                details=content.details,
            )
        ]
