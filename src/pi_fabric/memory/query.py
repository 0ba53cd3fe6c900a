"""What is asked of memory: validated arguments of a recall."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

from pi_fabric.base.bounds import utf8_bytes
from pi_fabric.base.errors import RequestError
from pi_fabric.base.jsonvalue import Json, JsonObject, is_finite_number, is_number, is_object, scrub
from pi_fabric.base.jstext import is_blank, trim
from pi_fabric.memory.discovery import SESSION_PREFIX
from pi_fabric.memory.folding import alternatives
from pi_fabric.memory.model import Branches, Number
from pi_fabric.memory.tokenizer import tokenize

QueryMode: TypeAlias = Literal["literal", "regex"]
Match: TypeAlias = Literal["any", "all", "phrase", "prefix"]
Detail: TypeAlias = Literal["brief", "full"]

DEFAULT_PAGE_SIZE: Final = 25
MAX_PAGE_SIZE: Final = 200
MAX_QUERY_BYTES: Final = 65_536
"""Of a query's text; more words than it holds are no question."""
_RECALL: Final = "memory.recall"


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One entry of a term list to look up."""

    text: bytes
    is_prefix: bool = False
    """True for every term that begins so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One word of a query: it is there when one of its alternatives is, with all its terms."""

    word: str
    alternatives: tuple[tuple[Term, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRange:
    """Entries of one session, both ends included."""

    first: Number
    last: Number

    def fits(self, count: int) -> bool:
        """True when both ends are entries of a session of `count` and in order."""
        ends = (self.first, self.last)
        return all(isinstance(end, int) for end in ends) and 0 <= self.first <= self.last < count

    def is_sound(self) -> bool:
        """True when there could be a session with such entries."""
        return all(isinstance(end, int) and end >= 0 for end in (self.first, self.last)) and (
            self.first <= self.last
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a pointer says of the session it was made from; None where it says nothing."""

    source_hash: str | None = None
    lineage: str | None = None

    @property
    def says_something(self) -> bool:
        """True when there is something to compare."""
        return self.source_hash is not None or self.lineage is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What an entry must be like besides its words."""

    role: str | None = None
    tool: str | None = None
    since: Number | None = None
    until: Number | None = None

    def __bool__(self) -> bool:
        """True when anything is filtered."""
        return any(value is not None for value in (self.role, self.tool, self.since, self.until))

    def passes_time(self, moment: Number | None) -> bool:
        """True within the bounds, and for an entry that has no time."""
        if moment is None:
            return True
        return (self.since is None or moment >= self.since) and (self.until is None or moment <= self.until)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A recall."""

    text: str | None
    mode: QueryMode = "literal"
    scope: str = "session"
    branches: Branches = "active"
    match: Match = "any"
    fold: bool = False
    filters: Filters = Filters()
    page: int = 1
    page_size: int = DEFAULT_PAGE_SIZE
    entry_range: EntryRange | None = None
    expected: Expected = Expected()
    detail: Detail = "brief"

    @property
    def is_browse(self) -> bool:
        """True when nothing is searched for: everything is listed, newest first."""
        return self.text is None or is_blank(self.text)

    @property
    def tells_words(self) -> bool:
        """True when an answer says which words matched: where the query asks for more than the literal."""
        return not self.is_browse and (self.fold or self.match != "any")

    @property
    def names_session(self) -> bool:
        """True when the scope is one session by path or id."""
        return trim(self.scope).startswith(SESSION_PREFIX)

    def units(self) -> list[Unit]:
        """The words to look for, each once, in their order."""
        return list(_units(self.text or "", self.match, fold=self.fold))


def read_query(args: JsonObject) -> Query:
    """Check the arguments of `memory.recall`.

    Raises:
        RequestError: If a word is none of those known, or two arguments do not go together.
    """
    query = Query(
        text=_text(args, "query"),
        mode=_one_of(args, "queryMode", get_args(QueryMode)),
        scope=_text(args, "scope") or "session",
        branches=read_branches(args, _RECALL),
        match=_one_of(args, "match", get_args(Match)),
        fold=args.get("fold") is True,
        filters=Filters(
            role=_text(args, "role"),
            tool=_text(args, "tool"),
            since=_number(args, "since"),
            until=_number(args, "until"),
        ),
        page=_count(args.get("page"), 1),
        page_size=min(_count(args.get("pageSize"), DEFAULT_PAGE_SIZE), MAX_PAGE_SIZE),
        entry_range=read_range(args, _RECALL),
        expected=read_expected(args),
        detail=_one_of(args, "detail", get_args(Detail)),
    )
    if utf8_bytes(query.text or "") > MAX_QUERY_BYTES:
        raise RequestError(_RECALL, f"query has more than {MAX_QUERY_BYTES:,} bytes; look for fewer words")
    if query.entry_range is not None and not query.names_session:
        raise RequestError(_RECALL, "entryRange counts the entries of one session; set scope to session:PATH")
    if query.expected.says_something and not query.names_session:
        reason = "an expected hash or fingerprint is of one session; set scope to session:PATH"
        raise RequestError(_RECALL, reason)
    if query.mode == "regex" and (query.fold or query.match != "any"):
        raise RequestError(_RECALL, "match and fold are for words; leave them out with queryMode regex")
    return query


def read_branches(args: JsonObject, ref: str) -> Branches:
    """The branch mode.

    Raises:
        RequestError: If it is neither of the two.
    """
    return _one_of(args, "branches", get_args(Branches), ref)


def read_range(args: JsonObject, ref: str) -> EntryRange | None:
    """`entryRange`, whatever its ends are worth.

    Raises:
        RequestError: If one end is missing.
    """
    value = args.get("entryRange")
    if value is None:
        return None
    first, last = (value.get("first"), value.get("last")) if is_object(value) else (None, None)
    if not is_number(first) or not is_number(last):
        raise RequestError(ref, "entryRange needs both first and last, the numbers of two entries")
    return EntryRange(first=_whole(first), last=_whole(last))


def read_expected(args: JsonObject) -> Expected:
    """What a pointer expects of its session."""
    return Expected(
        source_hash=_text(args, "expectedSourceHash"), lineage=_text(args, "expectedLineageFingerprint")
    )


def _units(text: str, match: Match, *, fold: bool) -> Iterable[Unit]:
    is_prefix = match == "prefix"
    if not fold:
        for token in dict.fromkeys(tokenize(text)):
            yield Unit(word=token, alternatives=((_term(token, is_prefix=is_prefix),),))
        return
    units: dict[str, Unit] = {}
    for word in text.split():
        if word not in units and (found := alternatives(word)):
            units[word] = _unit(word, found, is_prefix=is_prefix)
            # Where one word is enough, folding finds all that the plain words do.
            if match in ("any", "prefix") and len(found[0]) > 1:
                for token in found[0]:
                    units.setdefault(token, _unit(token, [(token,)], is_prefix=is_prefix))
    yield from units.values()


def _unit(word: str, alternatives: Iterable[tuple[str, ...]], *, is_prefix: bool) -> Unit:
    return Unit(
        word=word,
        alternatives=tuple(
            tuple(_term(term, is_prefix=is_prefix) for term in terms) for terms in alternatives
        ),
    )


def _term(text: str, *, is_prefix: bool) -> Term:
    is_open = text.endswith("*")
    return Term(text=text.removesuffix("*").encode(), is_prefix=is_prefix or is_open)


def _one_of(args: JsonObject, key: str, words: Sequence[str], ref: str = _RECALL) -> Any:
    """The word of an argument; the first of those known when it is absent."""
    value = args.get(key)
    if value is None:
        return words[0]
    if value not in words:
        raise RequestError(ref, f"{key} is {value!r}; it is one of {', '.join(words)}")
    return value


def _text(args: JsonObject, key: str) -> str | None:
    """A text as one in a log is read: half a surrogate pair is U+FFFD."""
    value = args.get(key)
    return scrub(value) if isinstance(value, str) else None


def _number(args: JsonObject, key: str) -> Number | None:
    value = args.get(key)
    return value if is_finite_number(value) else None


def _count(value: Json, default: int) -> int:
    """A page or a size: rounded down; the default for anything below 1."""
    if not is_finite_number(value):
        return default
    return whole if (whole := math.floor(value)) >= 1 else default


def _whole(value: Number) -> Number:
    """An integer where a number is one, so that 1.0 counts as 1."""
    is_whole = isinstance(value, float) and math.isfinite(value) and value.is_integer()
    return int(value) if is_whole else value
