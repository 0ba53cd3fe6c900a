"""How large Pi takes a whole context for.

What a provider reported for an assistant's answer beats every guess about what came before it, until the
context is made another size. Nothing here raises for content.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pi_fabric.base.jsonvalue import Json, JsonObject, array_or_empty, is_object, object_or_empty
from pi_fabric.history.content import text_of
from pi_fabric.history.session.context import projected_context
from pi_fabric.history.session.tokens import estimate_tokens, usage_tokens

# An answer that ended so says nothing about the size of the context.
_NO_USAGE_REASONS = ("aborted", "error")
# After these, what a provider reported earlier is no longer the size of the context.
_RESIZING_TYPES = ("compaction", "context_edit")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSize:
    """How large a context is, and how that is known."""

    tokens: float
    is_reported: bool
    """True when it rests on a usage that a provider reported; False when all is estimated."""


def context_tokens(path: Sequence[JsonObject]) -> float:
    """The tokens of `context_size`."""
    return context_size(path).tokens


def context_size(path: Sequence[JsonObject]) -> ContextSize:
    """Size of the context at the end of a branch, as Pi 1.6 reckons it before it compacts.

    The newest usage that a provider reported plus the estimates of what follows. A usage from before the
    newest compaction or context edit does not count; then everything is estimated, with the system
    messages folded into the one that is in force.

    Args:
        path: The branch, root first.
    """
    projected = projected_context(path)
    messages = [message for _, of_entry in projected for message in of_entry]
    reported = _last_reported(messages)
    if reported >= 0 and _is_current(projected, reported, path):
        after = sum(estimate_tokens(message) for message in messages[reported + 1 :])
        return ContextSize(tokens=usage_tokens(messages[reported]) + after, is_reported=True)
    system = [message for message in messages if message.get("role") == "system"]
    others = sum(estimate_tokens(message) for message in messages if message.get("role") != "system")
    folded = estimate_tokens(fold_system_messages(system)) if system else 0
    return ContextSize(tokens=others + folded, is_reported=False)


def fold_system_messages(messages: Sequence[JsonObject]) -> JsonObject:
    """The one system message that a row of them amounts to.

    Args:
        messages: System messages, oldest first: later contents are added, sections replaced by name and
            dropped by null, tools added and removed by name.
    """
    contents: list[str] = []
    sections: JsonObject = {}
    tools: dict[str, Json] = {}
    for message in messages:
        if text := text_of(message.get("content")):
            contents.append(text)
        sections.update(object_or_empty(message.get("sections")))
        for tool in array_or_empty(message.get("toolsRemoved")):
            tools.pop(_name_of(tool), None)
        for tool in array_or_empty(message.get("toolsAdded")):
            tools[_name_of(tool)] = tool
    in_force = {name: section for name, section in sections.items() if section is not None}
    folded: JsonObject = {"role": "system", "content": "\n\n".join(contents), "sections": in_force}
    return {**folded, "toolsAdded": list(tools.values())} if tools else folded


def _last_reported(messages: Sequence[JsonObject]) -> int:
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.get("stopReason") not in _NO_USAGE_REASONS and usage_tokens(message) > 0:
            return index
    return -1


def _is_current(
    projected: Sequence[tuple[JsonObject, list[JsonObject]]], message_index: int, path: Sequence[JsonObject]
) -> bool:
    """True when the entry that gave a message comes after everything that resized the context."""
    reporting = None
    for entry, messages in projected:
        message_index -= len(messages)
        if message_index < 0:
            reporting = entry
            break
    for entry in reversed(path):
        if entry is reporting:
            return True
        if entry.get("type") in _RESIZING_TYPES:
            return False
    return False


def _name_of(tool: Json) -> str:
    name = tool.get("name") if is_object(tool) else tool
    return name if isinstance(name, str) else ""
