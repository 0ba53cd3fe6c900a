import math
from contextlib import suppress

import pytest
from hypothesis import given
from session_files import JSON_VALUES

from pi_fabric.base.errors import RequestError
from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.memory.expanding import read_request
from pi_fabric.memory.query import MAX_QUERY_BYTES, EntryRange, Expected, Filters, Query, Term, read_query

ONE = {"scope": "session:/s.jsonl"}


@pytest.mark.requirement("memory:query:defaults")
def test_nothing_asked_is_a_browse_of_the_current_session() -> None:
    query = read_query({})

    assert query == Query(text=None)
    assert (query.mode, query.scope, query.branches, query.match, query.detail) == (
        "literal",
        "session",
        "active",
        "any",
        "brief",
    )
    assert (query.page, query.page_size, query.fold, query.is_browse) == (1, 25, False, True)
    assert query.filters == Filters()
    assert not query.filters


def test_every_argument_has_its_place() -> None:
    query = read_query(
        {
            "query": "q", "queryMode": "literal", "scope": "session:/s.jsonl", "branches": "all",
            "match": "all", "fold": True, "role": "user", "tool": "read", "since": 0, "until": 2.5, "page": 2,
            "pageSize": 3, "entryRange": {"first": 1, "last": 2}, "expectedSourceHash": "h",
            "expectedLineageFingerprint": "f", "detail": "full",
        }
    )  # fmt: skip

    assert query == Query(
        text="q",
        scope="session:/s.jsonl",
        branches="all",
        match="all",
        fold=True,
        filters=Filters(role="user", tool="read", since=0, until=2.5),
        page=2,
        page_size=3,
        entry_range=EntryRange(first=1, last=2),
        expected=Expected(source_hash="h", lineage="f"),
        detail="full",
    )


@pytest.mark.requirement("memory:query:refused")
@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"queryMode": "glob"}, "queryMode is 'glob'; it is one of literal, regex"),
        ({"queryMode": ["regex"]}, "queryMode"),
        ({"branches": "both"}, "branches is 'both'; it is one of active, all"),
        ({"match": "some"}, "match is 'some'"),
        ({"detail": "none"}, "detail is 'none'"),
        ({"entryRange": {"first": 1, "last": 2}}, "entryRange .* scope to session:PATH"),
        ({**ONE, "entryRange": {"first": 1}}, "entryRange needs both"),
        ({**ONE, "entryRange": {"first": "1", "last": True}}, "entryRange needs both"),
        ({**ONE, "entryRange": [1, 2]}, "entryRange needs both"),
        ({"expectedSourceHash": "h"}, "session:PATH"),
        ({"expectedLineageFingerprint": "f", "scope": "global"}, "session:PATH"),
        ({"query": "a", "queryMode": "regex", "fold": True}, "fold"),
        ({"query": "a", "queryMode": "regex", "match": "phrase"}, "match"),
    ],
)
def test_what_does_not_go_together_is_refused_with_what_does(args: JsonObject, words: str) -> None:
    with pytest.raises(RequestError, match=words):
        read_query(args)


@pytest.mark.requirement("memory:query:lenient")
@pytest.mark.parametrize(
    ("value", "page"),
    [(None, 1), (0, 1), (-3, 1), (2.9, 2), (7, 7), ("2", 1), (True, 1), (math.inf, 1), (math.nan, 1)],
)
def test_a_page_is_rounded_down_and_at_least_the_first(value: Json, page: int) -> None:
    assert read_query({"page": value}).page == page


@pytest.mark.requirement("memory:query:lenient")
@pytest.mark.parametrize(
    ("value", "size"), [(None, 25), (0, 25), (-1, 25), (1, 1), (200, 200), (201, 200), (1e9, 200)]
)
def test_a_page_holds_1_to_200_items(value: Json, size: int) -> None:
    assert read_query({"pageSize": value}).page_size == size


@pytest.mark.requirement("memory:query:lenient")
def test_other_values_of_the_wrong_kind_count_as_absent() -> None:
    wrong: JsonObject = {
        "query": 5,
        "scope": [],
        "role": 1,
        "tool": {},
        "since": "x",
        "until": math.nan,
        "fold": "yes",
    }

    assert read_query(wrong) == Query(text=None)


@pytest.mark.requirement("memory:query:literal")
@pytest.mark.parametrize("text", ["src/foo.ts", "(a+)+$", "a|b", "/x/i"])
def test_a_literal_query_is_words_whatever_it_looks_like(text: str) -> None:
    query = read_query({"query": text})

    assert query.mode == "literal"
    assert all(unit.word.isalnum() for unit in query.units())


@pytest.mark.requirement("memory:query:literal")
def test_each_word_of_a_query_counts_once() -> None:
    units = Query(text="Foo foo, BAR foo").units()

    assert [unit.word for unit in units] == ["foo", "bar"]
    assert units[0].alternatives == ((Term(text=b"foo"),),)


def test_a_prefix_query_looks_for_beginnings() -> None:
    assert Query(text="ba", match="prefix").units()[0].alternatives == ((Term(text=b"ba", is_prefix=True),),)


@pytest.mark.requirement("memory:query:surrogates")
@pytest.mark.parametrize("fold", [False, True])
@pytest.mark.parametrize("text", ["foo-\ud800bar", "\udfff", "a\ud83d b", "\ud800.x"])
def test_half_a_pair_in_a_query_is_no_error(text: str, fold: bool) -> None:
    read_query({"query": text, "fold": fold, "scope": f"session:{text}"}).units()


@given(JSON_VALUES, JSON_VALUES)
def test_arguments_of_any_kind_are_read_or_refused(one: Json, other: Json) -> None:
    names = (
        "query", "queryMode", "scope", "branches", "match", "fold", "role", "tool", "since", "until", "page",
        "pageSize", "entryRange", "expectedSourceHash", "expectedLineageFingerprint", "detail",
    )  # fmt: skip
    for name in names:
        for args in ({name: one}, {**ONE, name: {"first": one, "last": other}}, {"query": "a", name: one}):
            with suppress(RequestError):
                read_query(args).units()


@pytest.mark.requirement("memory:expand:refused")
@pytest.mark.parametrize(
    "args",
    [
        {},
        {"session": " "},
        {"session": 5},
        {"session": "s", "indices": 5},
        {"session": "s", "indices": "12"},
        {"session": "s", "entryIds": "a"},
        {"session": "s", "operationAddresses": {"a": 1}},
        {"session": "s", "entryRange": {"last": 1}},
        {"session": "s", "branches": "both"},
    ],
)
def test_what_is_no_request_to_expand_is_refused(args: JsonObject) -> None:
    with pytest.raises(RequestError, match=r"memory\.expand"):
        read_request(args)


@pytest.mark.requirement("memory:query:long")
def test_a_query_of_more_text_than_a_question_has_is_refused() -> None:
    assert read_query({"query": "x" * MAX_QUERY_BYTES}).text
    with pytest.raises(RequestError, match="more than 65,536 bytes"):
        read_query({"query": "\u00e9" * (MAX_QUERY_BYTES // 2) + "x"})
