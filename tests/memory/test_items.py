from pathlib import Path

import pytest
from session_files import (
    Home,
    compaction,
    found_files,
    found_ids,
    operation,
    path,
    ran,
    returns,
    says,
    shell,
    user,
)

from pi_fabric.base.jsonvalue import JsonObject

pytestmark = pytest.mark.anyio


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def ranges(answer: JsonObject) -> list[str]:
    return [segment["range"] for segment in answer["segments"]]


@pytest.mark.requirement("memory:items:segments", "memory:items:whole-segment")
async def test_matches_of_one_turn_are_one_item_with_the_whole_turn(home: Home) -> None:
    home.session(
        "x",
        path(
            says("before"), user("cat"), says("dog"), returns("read", "cat"), shell("ls", "bird"), says("x"),
            compaction("cat"), user("none"),
        ),
    )  # fmt: skip

    answer = await home.recall("cat")

    assert sorted(ranges(answer)) == ["#1-#3", "#6"]
    [turn] = [one for one in answer["segments"] if one["range"] == "#1-#3"]
    assert turn["entryRange"] == {"first": 1, "last": 3}
    assert [(one["entry"]["entryId"], one["matched"], one["marker"]) for one in turn["entries"]] == [
        ("e2", True, ">"),
        ("e3", False, " "),
        ("e4", True, ">"),
    ]
    assert (turn["matchedCount"], turn["tier"], turn["sessionId"]) == (2, "hot", "x")
    assert (answer["totalItems"], answer["totalMatches"], answer["matchedCount"], answer["segmentCount"]) == (
        2,
        3,
        3,
        2,
    )


@pytest.mark.requirement("memory:items:first-segment")
async def test_what_lies_before_the_first_turn_is_a_segment_as_well(home: Home) -> None:
    home.session("x", path(says("cat"), says("dog"), user("end")))

    assert ranges(await home.recall("cat")) == ["#0-#1"]


@pytest.mark.requirement("memory:items:exact-matches")
async def test_a_segment_names_index_id_and_operation_of_each_match(home: Home) -> None:
    home.session("x", path(user("go"), ran(operation("pi.read", args={"path": "cat.py"}))))

    [segment] = (await home.recall("cat"))["segments"]

    assert segment["exactMatches"] == [{"index": 2, "entryId": "e2/0", "operationAddress": "e2/0"}]
    assert segment["entries"][2]["entry"]["operationAddress"] == "e2/0"


@pytest.mark.requirement("memory:items:order")
async def test_items_come_by_score_then_time_then_tier_then_place_then_file(home: Home) -> None:
    # Equal scores: a word that every matching entry has once, in texts of one length.
    for name, age in (("b", 10), ("a", 10), ("new", 0)):
        home.session(name, path(user("cat"), user("cat")), age=age)

    answer = await home.recall("cat")

    assert [(Path(one["sessionFile"]).stem, one["range"]) for one in answer["segments"]] == [
        ("new", "#0"),
        ("new", "#1"),
        ("a", "#0"),
        ("b", "#0"),
        ("a", "#1"),
        ("b", "#1"),
    ]


@pytest.mark.requirement("memory:items:order")
async def test_the_better_item_comes_first_whatever_its_age_or_tier(home: Home) -> None:
    home.session("new", path(user("cat and many other words that make it long")))
    home.session("old", path(user("cat")), age=5)
    home.session("oldest", path(user("cat")), age=9)

    answer = await home.recall("cat", memory=home.memory(hot_sessions=2))

    kinds = [one["kind"] for one in answer["items"]]
    assert kinds == ["digest", "entry", "entry"]
    assert found_files(answer) == ["old", "new", "oldest"]
    assert [one["segment"]["sessionId"] for one in answer["items"] if one["kind"] == "entry"] == [
        "old",
        "new",
    ]


@pytest.mark.requirement("memory:items:order")
async def test_of_equals_a_segment_comes_before_a_pointer(home: Home) -> None:
    home.session("hot", path(user("dog")))
    home.session("cold", path(user("dog")), age=0, folder="--other--")

    answer = await home.recall(None, memory=home.memory(hot_sessions=1))

    assert [one["kind"] for one in answer["items"]] == ["entry", "digest"]


@pytest.mark.requirement("memory:page:items")
@pytest.mark.parametrize("hot", [50, 2, 0])
async def test_pages_are_parts_of_one_stream_of_ranked_items(home: Home, hot: int) -> None:
    for age in range(5):
        home.session(f"s{age}", path(user("cat"), says("cat"), user("cat dog")), age=age)
    memory = home.memory(hot_sessions=hot)

    whole = await home.recall("cat", memory=memory, pageSize=200)
    pages = [await home.recall("cat", memory=memory, pageSize=3, page=page) for page in range(1, 6)]

    assert [item for page in pages for item in page["items"]] == whole["items"]
    assert {(page["totalItems"], page["totalMatches"]) for page in pages} == {
        (whole["totalItems"], whole["totalMatches"])
    }
    assert [page["hasNext"] for page in pages] == [page * 3 < whole["totalItems"] for page in range(1, 6)]
    assert [page["page"] for page in pages] == [1, 2, 3, 4, 5]


@pytest.mark.requirement("memory:page:items")
async def test_several_matches_in_one_segment_take_one_place_of_a_page(home: Home) -> None:
    home.session("x", path(user("cat"), says("cat"), says("cat"), user("cat")))

    answer = await home.recall("cat", pageSize=1)

    assert (answer["totalItems"], answer["totalMatches"], answer["hasNext"]) == (2, 4, True)


@pytest.mark.requirement("memory:page:beyond")
async def test_a_page_beyond_the_last_is_empty(home: Home) -> None:
    home.session("x", path(user("cat")))

    answer = await home.recall("cat", page=7)

    assert (answer["items"], answer["totalItems"], answer["hasNext"]) == ([], 1, False)


@pytest.mark.requirement("memory:browse:all")
@pytest.mark.parametrize("query", [None, "", " \n"])
async def test_without_a_query_every_segment_and_cold_session_is_listed(
    home: Home, query: str | None
) -> None:
    for age in range(40):
        home.session(f"s{age:02}", path(user("cat"), says("dog"), user("bird")), age=age)

    answer = await home.recall(query, memory=home.memory(hot_sessions=30, max_sessions=3), pageSize=200)

    assert (answer["totalItems"], answer["totalMatches"], answer["segmentCount"]) == (70, 100, 60)
    assert [one["range"] for one in answer["segments"][:2]] == ["#0-#1", "#2"]
    assert {one["marker"] for segment in answer["segments"] for one in segment["entries"]} == {">"}
    assert {one["score"] for one in (*answer["segments"], *answer["digestHits"])} == {0}
    assert len(found_files(answer)) == 70
    assert answer["digestHits"][0]["sessionId"] == "s30"


@pytest.mark.requirement("memory:browse:all")
async def test_a_browse_with_a_filter_lists_whole_sessions_that_have_a_passing_entry(home: Home) -> None:
    home.session("x", path(user("cat"), says("dog"), user("bird")))
    home.session("y", path(user("cat")), age=5)

    answer = await home.recall(None, role="assistant")

    assert ranges(answer) == ["#0-#1", "#2"]
    assert found_ids(answer) == ["e2"]
    assert answer["totalMatches"] == 1


@pytest.mark.requirement("memory:browse:empty")
async def test_a_home_without_sessions_is_an_answer(home: Home) -> None:
    answer = await home.recall(None)

    assert (answer["totalItems"], answer["coverage"]["eligibleSessions"]) == (0, 0)
    assert answer["coverage"]["complete"]
    assert answer["text"].startswith("No sessions")
