"""Branches of known size for tests: each builder makes an entry that Pi estimates at so many tokens."""

from pi_fabric.base.jsonvalue import Json, JsonObject

CHARS_PER_TOKEN = 4


def branch(*entries: JsonObject) -> list[JsonObject]:
    """The entries as a path with ids `e1`, `e2`, ... and a minute between them; an id that is set stays."""
    path: list[JsonObject] = []
    for number, entry in enumerate(entries, start=1):
        parent = path[-1]["id"] if path else None
        time = f"2025-01-01T00:{number:02}:00.000Z"
        path.append({"id": f"e{number}", "parentId": parent, "timestamp": time, **entry})
    return path


def user(tokens: int) -> JsonObject:
    return _message("user", content="u" * tokens * CHARS_PER_TOKEN)


def answer(tokens: int, *call_ids: str, used: Json = None) -> JsonObject:
    """An assistant's answer that calls tools; `used` is what the provider counted in total."""
    text = {"type": "text", "text": "a" * tokens * CHARS_PER_TOKEN}
    calls = [{"type": "toolCall", "id": call_id, "name": ""} for call_id in call_ids]
    usage = {} if used is None else {"usage": {"totalTokens": used}}
    return _message("assistant", content=[text, *calls], **usage)


def result(call_id: str, tokens: int) -> JsonObject:
    text = {"type": "text", "text": "r" * tokens * CHARS_PER_TOKEN}
    return _message("toolResult", toolCallId=call_id, toolName="read", content=[text])


def command(tokens: int) -> JsonObject:
    return _message("bashExecution", command="c" * tokens * CHARS_PER_TOKEN, output="")


def custom(tokens: int, **fields: Json) -> JsonObject:
    content = "x" * tokens * CHARS_PER_TOKEN
    return {"type": "custom_message", "customType": "t", "content": content, "display": True, **fields}


def summary_of_branch(tokens: int) -> JsonObject:
    return {"type": "branch_summary", "fromId": "x", "summary": "b" * tokens * CHARS_PER_TOKEN}


def marker(first_kept_entry_id: Json, tokens: int = 1) -> JsonObject:
    """A compaction."""
    summary = "s" * tokens * CHARS_PER_TOKEN
    return {"type": "compaction", "summary": summary, "firstKeptEntryId": first_kept_entry_id}


def _message(role: str, **fields: Json) -> JsonObject:
    return {"type": "message", "message": {"role": role, **fields}}
