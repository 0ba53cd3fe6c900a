import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from session_files import path, read_all, user

from pi_fabric.memory.folding import MAX_WORD_CHARS, alternatives, chunks, folded_terms
from pi_fabric.memory.hot_index import HotIndexBuilder
from pi_fabric.memory.query import Match, Query
from pi_fabric.memory.ranking import rank_entries
from pi_fabric.memory.searchable import ReadSession
from pi_fabric.memory.tokenizer import tokenize


def terms_of(text: str) -> set[str]:
    return {term.decode() for chunk in chunks(text) for term in folded_terms(chunk)}


def finds(text: str, query: str, *, fold: bool = True, match: Match = "any") -> bool:
    """Whether a query finds an entry that says just this."""
    session = ReadSession(
        read_all(*path(user(text))), file="/s", session_id="s", kind="pi", source_hash="", lineage="", mtime=0
    )
    [hits], _ = rank_entries([session], Query(text=query, fold=fold, match=match))
    return bool(hits.scores)


@pytest.mark.requirement("memory:fold:parts")
@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("auth_token", {"auth", "token", "authtoken"}),
        ("useAuthToken", {"use", "auth", "token"}),
        ("HTTPServer", {"http", "server"}),
        ("parseHTTPResponse2", {"parse", "http", "response2"}),
        ("__init__", {"init"}),
        ("foo-bar.baz", {"foo-bar.baz"}),
        ("bd-q3fy", {"bd-q3fy"}),
        ("C++", {"c++"}),
        ("C#", {"c#"}),
        ("F#, C++.", {"f#"}),
        ("src/auth_token.py", {"auth_token.py", "auth", "token", "authtoken"}),
        ("plain words 42", set[str]()),
        ("- -- ...", set[str]()),
        ("a" * (MAX_WORD_CHARS + 1) + "B", set[str]()),
    ],
)
def test_what_the_second_list_holds(text: str, terms: set[str]) -> None:
    assert terms_of(text) == terms


@pytest.mark.requirement("memory:fold:cjk")
@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("评审会议", {"评审", "审会", "会议", "议"}),
        ("プロジェクト", {"プロ", "ロジ", "ジェ", "ェク", "クト", "ト"}),
        ("회의록", {"회의", "의록", "록"}),
        ("v2评审", {"评审", "审"}),
        ("\U00020000\U00020001", {"\U00020000\U00020001", "\U00020001"}),
    ],
)
def test_runs_without_spaces_are_held_by_pairs(text: str, terms: set[str]) -> None:
    assert terms_of(text) == terms


@pytest.mark.requirement("memory:fold:parts", "memory:fold:cjk")
@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("set auth_token now", "token"),
        ("set auth_token now", "authToken"),
        ("set auth_token now", "authtoken"),
        ("self._parseCache = 1", "parsecache"),
        ("call useAuthToken()", "auth"),
        ("call useAuthToken()", "use_auth_token"),
        ("an HTTPServer", "server"),
        ("an HTTPServer", "http"),
        ("an HTTPServer", "httpserver"),
        ("in C++ or", "C++"),
        ("in C# or", "c#"),
        ("see foo-bar.baz.", "foo-bar.baz"),
        ("see foo-bar.baz.", "bar"),
        ("task bd-q3fy is done", "bd-q3fy"),
        ("task bd-q3fy is done", "q3fy"),
        ("明天下午三点开项目评审会议", "评审"),
        ("明天下午三点开项目评审会议", "评"),
        ("明天下午三点开项目评审会议", "议"),
        ("明天下午三点开项目评审会议", "项目评审"),
        ("新しいプロジェクトです", "プロジェクト"),
        ("주간회의록을", "회의록"),
        ("v2评审", "v2评审"),
        ("plain", "plain"),
    ],
)
def test_folding_finds(text: str, query: str) -> None:
    assert finds(text, query)


@pytest.mark.requirement("memory:fold:parts", "memory:fold:cjk")
@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("c or d", "C++"),
        ("C#", "C++"),
        ("auth only", "authToken"),
        ("明天下午三点开项目评审会议", "评议"),
        ("审评", "评审"),
        ("tokens", "token"),
        ("anything", "..."),
    ],
)
def test_folding_does_not_find(text: str, query: str) -> None:
    assert not finds(text, query)


@pytest.mark.requirement("memory:fold:literal-untouched")
@pytest.mark.parametrize(
    ("text", "query"),
    [("auth_token", "token"), ("useAuthToken", "auth"), ("开项目评审会议", "评审"), ("foo_bar", "foo")],
)
def test_without_folding_a_word_is_itself_alone(text: str, query: str) -> None:
    assert not finds(text, query, fold=False)
    assert finds(text, text, fold=False)


PARTS = st.lists(st.text("abcdxyz", min_size=1, max_size=6), min_size=2, max_size=4)


@pytest.mark.requirement("memory:fold:parts")
@given(PARTS, st.sampled_from(["snake", "camel", "pascal", "kebab", "dots"]))
def test_every_part_of_a_name_is_found_and_the_name_is(parts: list[str], style: str) -> None:
    name = {
        "snake": "_".join(parts),
        "camel": parts[0] + "".join(map(str.capitalize, parts[1:])),
        "pascal": "".join(map(str.capitalize, parts)),
        "kebab": "-".join(parts),
        "dots": ".".join(parts),
    }[style]
    text = f"see {name}, please"

    for query in (name, *parts):
        # A single letter between capitals is no part that can be told.
        if len(query) > 1 or style not in ("camel", "pascal"):
            assert finds(text, query)


@pytest.mark.requirement("memory:fold:cjk")
@given(st.text(st.sampled_from("评审会议项目明天"), min_size=1, max_size=12), st.data())
def test_every_piece_of_a_run_is_found(run: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(run) - 1))
    end = data.draw(st.integers(start + 1, len(run)))

    assert finds(f"前{run}后", run[start:end])


@pytest.mark.requirement("memory:fold:literal-untouched")
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_folded_terms_are_never_among_the_words(text: str) -> None:
    index = HotIndexBuilder(max_fold_bytes=1 << 20)
    [entry] = read_all(user(text))
    index.add(entry)

    for word in tokenize(text):
        assert index.words.find(word.encode()) == [0, tokenize(text).count(word)]
    assert index.lengths[0] == max(1, len(tokenize(text)))


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_folding_finds_all_that_the_literal_search_finds(text: str) -> None:
    for word in text.split():
        first = alternatives(word)
        is_symbol = unicodedata.normalize("NFKC", word).rstrip(".-").endswith(("++", "#"))
        if tokenize(word) and not is_symbol:
            assert first[0] == tuple(dict.fromkeys(tokenize(word)))
            assert finds(word, word)


@pytest.mark.requirement("memory:fold:superset")
@given(
    st.lists(st.sampled_from(["bd", "q3fy", "foo", "C", "fooBar", "a.b", "评审", "x_y"]), max_size=4),
    st.lists(st.sampled_from(["bd-q3fy", "foo.bar", "C", "fooBar", "a.b.c", "评审", "foo bd"]), max_size=3),
    st.sampled_from(["any", "prefix", "all", "phrase"]),
)
def test_folding_finds_all_that_plain_words_do(said: list[str], asked: list[str], match: Match) -> None:
    text, query = " ".join(said), " ".join(asked)
    if query:
        assert finds(text, query, match=match) or not finds(text, query, fold=False, match=match)


@pytest.mark.requirement("memory:fold:phrase")
@pytest.mark.parametrize(
    ("text", "query", "is_there"),
    [
        ("内存索引", "内存", True),
        ("内存索引", "存内", False),
        ("in parseCache now", "parse cache", True),
        ("in parse cache now", "parseCache", True),
        ("in parseCache now", "cache parse", False),
        ("the parse_cache key", "cache key", True),
        ("see foo-bar.baz", "bar baz", True),
        ("uses C++ code", "C++ code", True),
        ("uses C code", "C++ code", False),
        ("self._parseCache", "parsecache", False),
        ("parsecache it", "parsecache it", True),
        ("see “.” here", "“.”", False),
        ("the end", "...", False),
    ],
)
def test_a_folded_phrase_is_parts_in_a_row(text: str, query: str, *, is_there: bool) -> None:
    assert finds(text, query, match="phrase") is is_there
