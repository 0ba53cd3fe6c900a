"""The part of a long text that a person or a model looks at first: around the first word that was found."""

import re
from functools import lru_cache

from pi_fabric.base.jstext import collapse
from pi_fabric.memory.query import Query

_ELLIPSIS = "…"
# How much of a snippet lies before the word.
_BEFORE_SHARE = 3
# A text is tried word by word at each of its places.
_MAX_SHOWN_WORDS = 100


def snippet(text: str, query: Query, max_chars: int) -> str:
    """A text on one line of at most `max_chars` Unicode scalars, around the first hit."""
    at = first_hit(text, query)
    start = max(0, at - max_chars // _BEFORE_SHARE)
    # Collapsing only shortens; the whole text may be megabytes.
    piece = text[start : start + 4 * max_chars]
    line = collapse(piece)
    is_cut = len(line) > max_chars or start + len(piece) < len(text)
    head = _ELLIPSIS if start else ""
    room = max_chars - len(head)
    return head + (line[: room - 1] + _ELLIPSIS if is_cut and room > 0 else line[:room])


def first_hit(text: str, query: Query) -> int:
    """Where the first word of a query is in a text, without regard to case; 0 when none is."""
    pattern = hit_pattern(query)
    found = None if pattern is None else pattern.search(text)
    return found.start() if found is not None else 0


@lru_cache(maxsize=4)
def hit_pattern(query: Query) -> "re.Pattern[str] | None":
    """What finds the words of a literal query in a text, to show them; None for a browse or a pattern.

    Of very many words the first are shown.
    """
    if query.is_browse or query.mode == "regex":
        return None
    words: set[str] = set()
    for unit in query.units():
        words.add(unit.word)
        words.update(term.text.decode() for terms in unit.alternatives for term in terms)
        if len(words) >= _MAX_SHOWN_WORDS:
            break
    ordered = sorted((re.escape(word) for word in words if word), key=len, reverse=True)
    if not ordered:
        return None
    joined = "|".join(ordered)
    is_open = query.match == "prefix" or query.fold
    return re.compile(joined if is_open else rf"(?<!\w)(?:{joined})(?!\w)", re.IGNORECASE)
