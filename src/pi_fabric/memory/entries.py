"""Raw lines of a session as normalized entries: structure decides, and nothing here raises for content."""

from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from pi_fabric.base.jsonvalue import Json, JsonObject, array_or_empty, is_object, is_truthy, text_or_empty
from pi_fabric.history.content import text_of
from pi_fabric.history.events.model import BASH_TOOL, FABRIC_TOOL
from pi_fabric.memory.branch_facts import DUPLICATE_OPERATION, Carrier, FactReader
from pi_fabric.memory.entry_text import (
    assistant_text,
    command_text,
    custom_text,
    result_text,
    summary_text,
)
from pi_fabric.memory.files_touched import named_paths
from pi_fabric.memory.model import Entry, Privacy
from pi_fabric.memory.operations import Place, traced_operations
from pi_fabric.memory.timestamps import timestamp_of

DUPLICATE_ENTRY: Final = "duplicate_entry_id"
MAX_ENTRY_CHARS: Final = "max_entry_chars"

# The kinds of lines that say something; a summary's role goes by its own name.
_ROLES: Final = {
    "message": None,
    "compaction": "compaction",
    "branch_summary": "branchSummary",
    "custom_message": "custom",
}


class EntryReader:
    """Normalizes the chosen lines of one session, in their order.

    Args:
        session_file: Its path.
        privacy: Which bodies become text.
        wants_text: Told an entry's index, says whether its text and record are wanted; without them an entry
            costs a fraction. What it counts, where it is and whether it is told at all stay the same.
    """

    def __init__(
        self, *, session_file: str, privacy: Privacy, wants_text: Callable[[int], bool] | None = None
    ) -> None:
        self.count = 0
        """Entries so far, and the index of the next one."""
        self._session_file = session_file
        self._session_id = ""
        self._privacy = privacy
        self._wants_text = wants_text or _always
        self._facts = FactReader(privacy)
        self._reasons: set[str] = set()
        self._entry_ids: set[str] = set()
        self._addresses: set[str] = set()

    @property
    def reasons(self) -> frozenset[str]:
        """What makes the entries so far less than the source tells, or ambiguous."""
        return frozenset(self._reasons | self._facts.reasons)

    def read(self, session_id: str, raw: JsonObject) -> list[Entry]:
        """The entries of one line: itself, then what it tells of operations or facts; none when it is empty.

        Args:
            session_id: Of the session that the line is part of.
            raw: The line.
        """
        self._session_id = session_id
        entry = self._own_entry(raw)
        if entry is None:
            return []
        entries = [entry, *self._told_entries(raw, entry)]
        for one in entries:
            one.index = self.count
            self.count += 1
            self._note(one)
        return entries

    def _note(self, entry: Entry) -> None:
        if entry.entry_id is not None:
            if entry.entry_id in self._entry_ids:
                self._reasons.add(DUPLICATE_ENTRY)
            self._entry_ids.add(entry.entry_id)
        if (address := entry.address) is not None:
            if address in self._addresses:
                self._reasons.add(DUPLICATE_OPERATION)
            self._addresses.add(address)

    def _own_entry(self, raw: JsonObject) -> Entry | None:
        kind = raw.get("type")
        if not isinstance(kind, str) or kind not in _ROLES:
            return None
        message = raw.get("message")
        said = message if kind == "message" and is_object(message) else {}
        role = _ROLES[kind] or said.get("role")
        if not isinstance(role, str):
            # What nobody is known to have said has no text either.
            return None
        is_wanted = self._wants_text(self.count)
        text = self._text(raw, said, role) if is_wanted else ""
        calls = _tool_calls(said) if role == "assistant" else []
        told = calls if is_wanted else ()
        paths = [path for call in told for path in named_paths(call.get("arguments"))]
        return Entry(
            session_file=self._session_file,
            session_id=self._session_id,
            entry_id=_text_or_none(raw.get("id")),
            parent_id=_text_or_none(raw.get("parentId")),
            type=kind,
            role=role,
            tool_name=_tool_name(said, role, calls),
            text=text,
            timestamp=timestamp_of(raw),
            is_error=is_truthy(said.get("isError")),
            truncated=False,
            index=0,
            files_touched=list(dict.fromkeys(paths)) or msgspec.UNSET,
        )

    def _text(self, raw: JsonObject, said: JsonObject, role: str) -> str:
        match role:
            case "user":
                return text_of(said.get("content"))
            case "assistant":
                return assistant_text(said, self._privacy)
            case "toolResult":
                return result_text(said, self._privacy)
            case "bashExecution":
                return command_text(said, self._privacy)
            case "custom":
                source = raw if raw.get("type") == "custom_message" else said
                return custom_text(source.get("customType"), source.get("content"))
            case "compaction":
                return summary_text(raw.get("summary"))
            case "compactionSummary":
                return summary_text(said.get("summary"))
            case _:
                # Prose of a branch summary is nobody's word, and what an unknown role says is not known.
                return ""

    def _told_entries(self, raw: JsonObject, entry: Entry) -> Iterator[Entry]:
        if entry.entry_id is None:
            return
        place = Place(
            session_file=self._session_file,
            session_id=self._session_id,
            entry_id=entry.entry_id,
            parent_id=entry.parent_id,
            timestamp=entry.timestamp,
        )
        teller = raw["message"] if entry.type == "message" and is_object(raw.get("message")) else raw
        if entry.role == "toolResult" and entry.tool_name == FABRIC_TOOL:
            yield from traced_operations(teller.get("details"), place, self._privacy, self._wants_next)
        elif entry.role == "branchSummary":
            carrier = Carrier(place=place, from_id=_text_or_none(teller.get("fromId")))
            yield from self._facts.entries(teller.get("details"), carrier, self._wants_next)

    def _wants_next(self, place: int) -> bool:
        """Whether the text of the entry `place` places after the line's own is wanted."""
        return self._wants_text(self.count + 1 + place)


def _always(_index: int) -> bool:
    return True


def cut_text(entry: Entry, max_chars: int) -> None:
    """Shorten an entry's text to `max_chars` Unicode scalars and say so in it."""
    if len(entry.text) > max_chars:
        entry.text = entry.text[:max_chars]
        entry.truncated = True


def _tool_calls(message: JsonObject) -> list[JsonObject]:
    parts = array_or_empty(message.get("content"))
    return [part for part in parts if is_object(part) and part.get("type") == "toolCall"]


def _tool_name(message: JsonObject, role: str, calls: list[JsonObject]) -> str | None:
    if role == "assistant":
        return _text_or_none(calls[0].get("name")) if calls else None
    if role == "bashExecution":
        return BASH_TOOL
    return (text_or_empty(message.get("toolName")) or None) if role == "toolResult" else None


def _text_or_none(value: Json) -> str | None:
    return value if isinstance(value, str) else None
