"""Small branches for tests: entries that follow one another."""

from pi_fabric.base.jsonvalue import Json, JsonObject


def entry(number: int, kind: str, **fields: Json) -> JsonObject:
    """Entry `eN` after `eN-1`."""
    parent = f"e{number - 1}" if number > 1 else None
    return {"type": kind, "id": f"e{number}", "parentId": parent, **fields}


def said(number: int, role: str, text: str, **fields: Json) -> JsonObject:
    """A message entry whose message holds one text."""
    content = [{"type": "text", "text": text}]
    return entry(number, "message", message={"role": role, "content": content, **fields})


def compacted(number: int, first_kept: str, **fields: Json) -> JsonObject:
    """A compaction entry with the summary `sum`."""
    return entry(number, "compaction", summary="sum", firstKeptEntryId=first_kept, tokensBefore=9, **fields)
