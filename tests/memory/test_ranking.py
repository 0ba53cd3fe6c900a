from math import isclose, log
from pathlib import Path

import pytest
from session_files import Home, found_files, found_ids, path, read_all, returns, says, user

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.memory import building, cold, items, ranking
from pi_fabric.memory.query import Filters, Query
from pi_fabric.memory.ranking import SessionHits, idf, rank_entries
from pi_fabric.memory.searchable import ReadSession

pytestmark = pytest.mark.anyio


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def session_of(*texts: str) -> ReadSession:
    entries = read_all(*path(*map(user, texts)))
    return ReadSession(entries, file="/s", session_id="s", kind="pi", source_hash="", lineage="", mtime=0)


def ranked(query: Query, *sessions: ReadSession) -> list[SessionHits]:
    return rank_entries(sessions, query)[0]


@pytest.mark.requirement("memory:rank:idf")
@pytest.mark.parametrize(("total", "having"), [(1, 1), (10, 3), (5, 0)])
def test_a_word_tells_the_more_the_fewer_have_it(total: int, having: int) -> None:
    assert isclose(idf(total, having), log((total - having + 0.5) / (having + 0.5) + 1))


@pytest.mark.requirement("memory:rank:bm25")
def test_the_score_is_bm25_over_all_entries() -> None:
    # Four entries of 1, 2, 3 and 6 words: three on average.
    one, two = session_of("cat", "cat dog"), session_of("dog cat cat", "a b c d e f")

    first, second = ranked(Query(text="cat dog"), one, two)

    def part(weight: float, count: int, length: int) -> float:
        return weight * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length / 3))

    cat, dog = log(1.5 / 3.5 + 1), log(2.5 / 2.5 + 1)
    expected = [part(cat, 1, 1), part(cat, 1, 2) + part(dog, 1, 2), part(cat, 2, 3) + part(dog, 1, 3)]
    assert first.scores == pytest.approx({0: expected[0], 1: expected[1]})
    assert second.scores == pytest.approx({0: expected[2]})


@pytest.mark.requirement("memory:rank:filters")
def test_only_entries_that_pass_the_filters_make_number_and_average() -> None:
    entries = read_all(*path(user("cat"), says("cat " * 50), user("dog dog dog"), says("cat")))
    session = ReadSession(entries, file="/s", session_id="s", kind="pi", source_hash="", lineage="", mtime=0)

    [hits] = ranked(Query(text="cat", filters=Filters(role="user")), session)

    assert hits.scores == pytest.approx({0: log(1.5 / 1.5 + 1) * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 1 / 2))})


@pytest.mark.requirement("memory:rank:browse")
def test_browsing_scores_nothing() -> None:
    [hits] = ranked(Query(text=" "), session_of("cat", "dog"))

    assert hits.scores == {0: 0.0, 1: 0.0}


@pytest.mark.requirement("memory:fold:score")
def test_a_word_that_is_found_in_several_ways_counts_once() -> None:
    session = session_of("set auth_token and auth_token", "other words")

    [literal] = ranked(Query(text="auth_token"), session)
    [folded] = ranked(Query(text="auth_token", fold=True), session)

    assert folded.scores == pytest.approx(literal.scores)


@pytest.mark.requirement("memory:rank:cold")
async def test_a_cold_score_is_over_the_sessions_that_match(home: Home) -> None:
    for name, text in (("a", "cat dog"), ("b", "cat"), ("c", "bird")):
        home.session(name, path(user(text)))
    memory = home.memory(hot_sessions=0)

    alone = await home.recall("bird", memory=memory)
    both = await home.recall("cat dog", memory=memory)

    assert [hit["score"] for hit in alone["digestHits"]] == pytest.approx([log(0.5 / 1.5 + 1)])
    assert alone["digestHits"][0]["score"] == pytest.approx(0.288, abs=0.001)
    cat, dog = log(0.5 / 2.5 + 1), log(1.5 / 1.5 + 1)
    assert [(hit["sessionId"], hit["matchedTerms"]) for hit in both["digestHits"]] == [("a", 2), ("b", 1)]
    assert [hit["score"] for hit in both["digestHits"]] == pytest.approx([cat + dog, cat])


@pytest.mark.requirement("memory:rank:hot-alone")
async def test_cold_sessions_do_not_change_the_score_of_hot_entries(home: Home) -> None:
    home.session("hot", path(user("cat")))
    memory = home.memory(hot_sessions=1)
    before = await home.recall("cat", memory=memory)
    home.session("cold", path(user("cat cat dog")), age=5)

    after = await home.recall("cat", memory=memory)

    assert [segment["score"] for segment in after["segments"]] == [before["segments"][0]["score"]]
    assert found_files(after) == ["hot", "cold"]


@pytest.mark.requirement("memory:rank:punctuation")
@pytest.mark.parametrize(
    "args", [{}, {"fold": True}, {"match": "all"}, {"match": "phrase"}, {"match": "prefix"}]
)
async def test_a_query_without_a_word_finds_nothing_and_that_is_certain(home: Home, args: JsonObject) -> None:
    home.session("a", path(user("...")))
    home.session("b", path(user("...")), age=5)

    answer = await home.recall("... !", memory=home.memory(hot_sessions=1), **args)

    assert (answer["totalItems"], answer["coverage"]["complete"]) == (0, True)
    assert answer["text"].startswith("No matches")


@pytest.mark.requirement("memory:budget:entries")
async def test_more_entries_than_the_budget_are_cut_in_order_and_told(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.session("new", path(user("cat"), user("cat")))
    home.session("old", path(user("cat"), user("cat")), age=5)
    monkeypatch.setattr(ranking, "MAX_ENTRY_CANDIDATES", 3)

    answer = await home.recall("cat")

    assert [Path(one["sessionFile"]).stem for one in answer["segments"]] == ["new", "new", "old"]
    assert (answer["totalMatches"], answer["coverage"]["reasons"]) == (3, ["candidate_entry_budget"])


@pytest.mark.requirement("memory:budget:digests")
async def test_more_digests_than_the_budget_are_cut_in_order_and_told(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    for age in range(3):
        home.session(f"s{age}", path(user("cat")), age=age)
    monkeypatch.setattr(cold, "MAX_DIGEST_CANDIDATES", 2)

    for query in ("cat", None):
        answer = await home.recall(query, memory=home.memory(hot_sessions=0))

        assert found_files(answer) == ["s0", "s1"]
        assert answer["coverage"]["reasons"] == ["candidate_digest_budget"]


@pytest.mark.requirement("memory:budget:items")
async def test_more_items_than_the_budget_are_cut_after_ranking_and_told(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.session("a", path(user("cat and so much more"), user("cat"), user("cat")))
    monkeypatch.setattr(items, "MAX_ITEMS", 2)

    answer = await home.recall("cat", pageSize=1, page=2)

    assert found_ids(answer) == ["e3"]
    assert (answer["totalItems"], answer["totalMatches"], answer["hasNext"]) == (2, 2, False)
    assert answer["coverage"]["reasons"] == ["candidate_item_budget"]
    assert not answer["coverage"]["complete"]


def test_the_budgets_are_those_of_the_specification() -> None:
    assert (ranking.MAX_ENTRY_CANDIDATES, cold.MAX_DIGEST_CANDIDATES, items.MAX_ITEMS) == (
        50_000,
        10_000,
        10_000,
    )


@pytest.mark.requirement("memory:match:any", "memory:match:all", "memory:match:phrase", "memory:match:prefix")
@pytest.mark.parametrize("hot", [50, 0])
@pytest.mark.parametrize(
    ("args", "hot_ids", "cold_names"),
    [
        ({}, {"e1", "e2", "e3"}, {"x", "y"}),
        ({"match": "any"}, {"e1", "e2", "e3"}, {"x", "y"}),
        ({"match": "all"}, {"e1", "e2"}, {"x"}),
        ({"match": "phrase"}, {"e1"}, {"x"}),
        ({"match": "prefix"}, {"e1", "e2", "e3", "e4"}, {"x", "y", "z"}),
    ],
)
async def test_how_words_must_match(
    home: Home, args: JsonObject, hot: int, hot_ids: set[str], cold_names: set[str]
) -> None:
    one, two, three, four = path(user("Red Fox"), user("fox, red"), user("fox"), user("foxes"))
    home.session("x", [one, two])
    home.session("y", [three | {"parentId": None}])
    home.session("z", [four | {"parentId": None}])

    answer = await home.recall("red fox", memory=home.memory(hot_sessions=hot), **args)

    found = set(found_ids(answer)) if hot else set(found_files(answer))
    assert found == (hot_ids if hot else cold_names)


@pytest.mark.requirement("memory:match:phrase")
async def test_the_order_of_words_in_a_cold_session_is_not_known_and_this_is_told(home: Home) -> None:
    home.session("x", path(user("fox red")))
    memory = home.memory(hot_sessions=0)

    found = await home.recall("red fox", memory=memory, match="phrase")
    none = await home.recall("blue fox", memory=memory, match="phrase")

    assert found_files(found) == ["x"]
    assert found["coverage"]["reasons"] == ["cold_phrase_requires_hydration"]
    assert (found_files(none), none["coverage"]["complete"]) == ([], True)


@pytest.mark.requirement("memory:match:words")
@pytest.mark.parametrize("hot", [50, 0])
@pytest.mark.parametrize("detail", ["brief", "full"])
async def test_an_answer_to_more_than_the_literal_says_which_words_matched(
    home: Home, hot: int, detail: str
) -> None:
    home.session("x", path(user("useAuthToken is here"), says("and the server")))
    memory = home.memory(hot_sessions=hot)

    async def words(query: str, **args: Json) -> list[Json]:
        answer = await home.recall(query, memory=memory, detail=detail, **args)
        told = [*answer["segments"], *answer["digestHits"]]
        return [one.get("matchedWords") for one in told]

    assert await words("token server absent", fold=True) == [["token", "server"]]
    assert await words("serv her", match="prefix") == [["her", "serv"] if hot else ["serv", "her"]]
    assert await words("server") == [None]


@pytest.mark.requirement("memory:fold:bound")
@pytest.mark.parametrize("hot", [50, 0])
async def test_a_list_of_folded_words_that_is_cut_is_told_where_it_is_asked(
    home: Home, hot: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "MAX_FOLD_BYTES", 10)
    home.session("x", path(user("oneTwoThree fourFiveSix")))
    memory = home.memory(hot_sessions=hot)

    assert (await home.recall("none", memory=memory, fold=True))["coverage"]["reasons"] == ["max_fold_bytes"]
    assert (await home.recall("none", memory=memory))["coverage"]["complete"]


@pytest.mark.requirement("memory:fold:cold")
@pytest.mark.parametrize("hot", [50, 0])
@pytest.mark.parametrize("query", ["评审", "q3fy", "token", "C++"])
async def test_folding_finds_in_both_tiers_and_the_literal_search_does_not(
    home: Home, query: str, hot: int
) -> None:
    home.session(
        "x", path(user("明天下午三点开项目评审会议"), returns("bash", "bd-q3fy: useAuthToken in C++"))
    )
    memory = home.memory(hot_sessions=hot)

    assert found_files(await home.recall(query, memory=memory, fold=True)) == ["x"]
    literal = await home.recall(query, memory=memory)
    assert found_files(literal) == (["x"] if query in ("q3fy", "C++") else [])


@pytest.mark.requirement("memory:fold:hint")
async def test_a_literal_search_for_cjk_that_finds_nothing_names_the_way(home: Home) -> None:
    home.session("x", path(user("明天下午三点开项目评审会议")))

    assert "fold: true" in (await home.recall("评审"))["text"]
    assert "fold: true" not in (await home.recall("absent"))["text"]
