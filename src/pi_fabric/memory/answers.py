"""Answers of a recall as they go over the wire: in full, or brief; and the answers of a question that fails.

The full answer is the specification's. A brief one has the same pointers and addresses, but of each segment
only what matched, cut to a snippet, and nothing twice.
"""

from collections.abc import Sequence
from typing import Final

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.memory.cold import DigestHit
from pi_fabric.memory.expanding import Problem
from pi_fabric.memory.items import SHOWN_MATCHES, Page, SegmentHit
from pi_fabric.memory.model import Coverage, named_source
from pi_fabric.memory.query import Query
from pi_fabric.memory.snippets import snippet
from pi_fabric.memory.wording import brief_text, full_text

# Of a matched entry in a brief answer.
SNIPPET_CHARS: Final = 160
# Of all snippets of a brief answer together; matches beyond it are told by their addresses alone.
ALL_SNIPPETS_CHARS: Final = 12_000
NOTHING_FOUND: Final[JsonObject] = {"segments": [], "digestHits": [], "items": []}


def full_answer(query: Query, page: Page, coverage: Coverage) -> JsonObject:
    """Everything, as specified."""
    shown: list[JsonObject] = []
    for item in page.items:
        if isinstance(item, SegmentHit):
            shown.append(
                {
                    "kind": "entry",
                    "segment": _with_words(
                        item.to_json(query.branches, is_browse=query.is_browse), item, query
                    ),
                }
            )
        else:
            shown.append({"kind": "digest", "digest": _pointer(item, query)})
    segments = [item["segment"] for item in shown if item["kind"] == "entry"]
    digests = [item["digest"] for item in shown if item["kind"] == "digest"]
    return _answer(query, page, segments, digests, shown) | {
        "coverage": coverage.specified_json(),
        "text": full_text(query, page, coverage),
    }


def brief_answer(query: Query, page: Page, coverage: Coverage) -> JsonObject:
    """The same pointers with snippets instead of texts."""
    segments: list[JsonObject] = []
    digests: list[JsonObject] = []
    items: list[JsonObject] = []
    room = ALL_SNIPPETS_CHARS
    for item in page.items:
        if isinstance(item, SegmentHit):
            segment = _brief_segment(item, query, min(SNIPPET_CHARS, room // SHOWN_MATCHES))
            room -= sum(len(match["snippet"]) for match in segment["matches"])
            items.append({"kind": "entry", "segment": len(segments)})
            segments.append(_with_words(segment, item, query))
        else:
            items.append({"kind": "digest", "digest": len(digests)})
            digests.append(_pointer(item, query))
    return _answer(query, page, segments, digests, items) | {
        "coverage": coverage.to_json(),
        "text": brief_text(query, page, coverage),
    }


def refused(query: Query, problem: Problem) -> JsonObject:
    """The answer when a range or a source is not there."""
    answer: JsonObject = {"scope": query.scope, "query": query.text, "error": problem.to_json()}
    return in_words(query, answer | NOTHING_FOUND)


def refused_stale(query: Query, error: JsonObject) -> JsonObject:
    """The answer when a pointer is not to what is there now."""
    answer: JsonObject = {
        "scope": query.scope,
        "query": query.text,
        "branches": query.branches,
        "error": error,
    }
    return in_words(query, answer | NOTHING_FOUND)


def in_words(query: Query, answer: JsonObject) -> JsonObject:
    """An answer that is an error, as its detail wants it.

    A brief one says it in words as well, and has empty lists: a program that looks for hits then finds none.
    """
    if query.detail == "full":
        return answer
    message = answer["error"]["message"]
    return NOTHING_FOUND | answer | {"text": f"Nothing was searched: {message}."}


def ambiguous(session: str, candidates: Sequence[str]) -> JsonObject:
    """The answer when an id means several files."""
    error: JsonObject = {
        "code": "ambiguous_session",
        "message": f"{len(candidates)} sessions have this name; name one by its path",
        "session": session,
        "candidates": list(candidates),
    }
    return {"error": error}


def _answer(
    query: Query,
    page: Page,
    segments: list[JsonObject],
    digests: list[JsonObject],
    items: list[JsonObject],
) -> JsonObject:
    return {
        "scope": query.scope,
        "branches": query.branches,
        "query": query.text,
        "queryMode": query.mode,
        "matchedCount": page.total_matches,
        "totalMatches": page.total_matches,
        "totalItems": page.total_items,
        "segmentCount": page.segment_count,
        "segments": segments,
        "digestHits": digests,
        "items": items,
        "page": page.number,
        "pageSize": page.size,
        "hasNext": page.has_next,
    }


def _pointer(hit: DigestHit, query: Query) -> JsonObject:
    pointer = hit.to_json(query.branches)
    return pointer | {"matchedWords": hit.words} if query.tells_words else pointer


def _with_words(segment: JsonObject, item: SegmentHit, query: Query) -> JsonObject:
    if not query.tells_words:
        return segment
    words = dict.fromkeys(word for at in item.matched for word in item.words.get(at, ()))
    return segment | {"matchedWords": list(words)}


def _brief_segment(item: SegmentHit, query: Query, snippet_chars: int) -> JsonObject:
    """What matched in a segment; without room for snippets only where it is."""
    shown = item.shown()
    base = item.session.first_index
    return {
        "sessionId": item.session.session_id,
        "sessionFile": item.session.file,
        "sourceHash": item.session.source_hash,
        "branches": query.branches,
        "lineageFingerprint": item.session.lineage,
        "sessionMtime": item.session.mtime,
        "entryRange": {"first": item.first + base, "last": item.last + base},
        "matches": [
            {
                "index": entry.index,
                "entryId": entry.entry_id,
                "operationAddress": entry.address,
                "role": entry.role,
                "toolName": entry.tool_name,
                "timestamp": entry.timestamp,
                "snippet": snippet(entry.text, query, snippet_chars) if snippet_chars > 0 else "",
            }
            for entry in shown
        ],
        "matchedCount": len(item.matched),
        "omittedMatches": max(0, len(item.matched) - len(shown)),
        "score": item.score,
        "tier": item.session.tier,
    } | named_source(item.session.kind)
