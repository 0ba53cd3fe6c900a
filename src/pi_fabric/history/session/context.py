"""What of a branch the model sees, by Pi's rules.

Entries go in as Pi wrote them and messages come out as Pi gives them to the model, but for their time,
which no rule here reads. Nothing raises for content; an entry without a usable message gives none.
"""

from collections.abc import Sequence

from pi_fabric.base.jsonvalue import Json, JsonObject, is_object

# Roles whose missing content Pi takes for an empty one.
_CONTENT_ROLES = ("user", "assistant", "toolResult")
# Roles whose content a context edit may replace.
_EDITABLE_ROLES = (*_CONTENT_ROLES, "custom")
# Of these, the ones whose content is always a list of parts.
_PART_ROLES = ("assistant", "toolResult")


def messages_of_entry(entry: JsonObject) -> list[JsonObject]:
    """The messages that one entry puts into the context, in order; empty for none.

    Shapes: the stored message; `{role: "custom", customType, content, display, details?}`;
    `{role: "branchSummary", summary, fromId}`; `{role: "compactionSummary", summary, tokensBefore}`, which
    follows the system message that the compaction stored, if any.
    """
    kind = entry.get("type")
    if kind == "message":
        message = entry.get("message")
        return [_with_content(message)] if is_object(message) else []
    if kind == "custom_message":
        return [_custom_message(entry)]
    if kind == "branch_summary":
        return [_summary_message("branchSummary", entry, "fromId")] if entry.get("summary") else []
    if kind == "compaction":
        summary = _summary_message("compactionSummary", entry, "tokensBefore")
        system = entry.get("systemMessage")
        return [system, summary] if is_object(system) else [summary]
    return []


def context_entries(path: Sequence[JsonObject]) -> list[JsonObject]:
    """The entries of a branch that count, as Pi's `buildContextEntries` selects them.

    Without a compaction that is the whole branch. Else: the newest compaction, then the entries from its
    `firstKeptEntryId` up to it, system messages left out, then what follows it. A kept id that is not on
    the branch before the compaction keeps nothing. An older compaction within the kept range stays.

    Args:
        path: The branch, root first.
    """
    newest = next((entry for entry in reversed(path) if entry.get("type") == "compaction"), None)
    if newest is None:
        return list(path)
    # Looked up twice, and a long branch is slow to walk.
    ids = [entry.get("id") for entry in path]
    at = ids.index(newest.get("id"))
    kept_id = newest.get("firstKeptEntryId")
    start = ids.index(kept_id) if isinstance(kept_id, str) and kept_id in ids[:at] else at
    kept = (entry for entry in path[start:at] if not _is_system(entry))
    return [newest, *kept, *path[at + 1 :]]


def projected_context(
    path: Sequence[JsonObject], *, replays_older_summaries: bool = False
) -> list[tuple[JsonObject, list[JsonObject]]]:
    """Each entry of the context with the messages it gives after context edits.

    The newest edit of an entry replaces the content of its messages, or removes them.

    Args:
        path: The branch, root first.
        replays_older_summaries: True for Pi 0.80.6, which shows the summary of an older compaction that
            lies within the kept range; Pi 1.6 does not.
    """
    entries = context_entries(path)
    edits = {entry["targetId"]: entry["replacement"] for entry in entries if _is_edit(entry)}
    projected: list[tuple[JsonObject, list[JsonObject]]] = []
    for index, entry in enumerate(entries):
        messages = messages_of_entry(entry)
        if index and entry.get("type") == "compaction" and not replays_older_summaries:
            messages = []
        entry_id = entry.get("id")
        if isinstance(entry_id, str) and entry_id in edits:
            messages = _edited(messages, edits[entry_id])
        projected.append((entry, messages))
    return projected


def context_messages(
    path: Sequence[JsonObject], *, replays_older_summaries: bool = False
) -> list[JsonObject]:
    """The messages of a branch that the model sees, oldest first; arguments as `projected_context`."""
    projected = projected_context(path, replays_older_summaries=replays_older_summaries)
    return [message for _, messages in projected for message in messages]


def _with_content(message: JsonObject) -> JsonObject:
    if message.get("content") is not None:
        return message
    role = message.get("role")
    if role == "system":
        return {**message, "content": ""}
    return {**message, "content": []} if role in _CONTENT_ROLES else message


def _custom_message(entry: JsonObject) -> JsonObject:
    content = entry.get("content")
    message: JsonObject = {
        "role": "custom",
        "customType": entry.get("customType"),
        "content": [] if content is None else content,
        "display": entry.get("display"),
    }
    return {**message, "details": entry["details"]} if "details" in entry else message


def _summary_message(role: str, entry: JsonObject, extra: str) -> JsonObject:
    return {"role": role, "summary": entry.get("summary"), extra: entry.get(extra)}


def _is_system(entry: JsonObject) -> bool:
    message = entry.get("message")
    return entry.get("type") == "message" and is_object(message) and message.get("role") == "system"


def _is_edit(entry: JsonObject) -> bool:
    if entry.get("type") != "context_edit" or not isinstance(entry.get("targetId"), str):
        return False
    replacement = entry.get("replacement", False)
    return replacement is None or (is_object(replacement) and "content" in replacement)


def _edited(messages: Sequence[JsonObject], replacement: JsonObject | None) -> list[JsonObject]:
    if replacement is None:
        return []
    content = replacement["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [_replaced(message, content, parts) for message in messages]


def _replaced(message: JsonObject, content: Json, parts: Json) -> JsonObject:
    role = message.get("role")
    if role not in _EDITABLE_ROLES:
        return message
    return {**message, "content": parts if role in _PART_ROLES else content}
