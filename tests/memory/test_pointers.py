import json
from pathlib import Path

import pytest
from session_files import CWD, Home, found_ids, lines, path, returns, says, user

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.memory import Current
from pi_fabric.memory.lineage import LiveBranch

pytestmark = pytest.mark.anyio


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


async def pointer(home: Home, **settings: Json) -> JsonObject:
    """A cold hit, as a caller keeps it."""
    [hit] = (await home.recall("cat", memory=home.memory(hot_sessions=0, **settings)))["digestHits"]
    return hit


async def follow(home: Home, hit: JsonObject, current: Current | None = None, **args: Json) -> JsonObject:
    asked: JsonObject = {
        "query": "cat",
        "detail": "full",
        "scope": f"session:{hit['sessionFile']}",
        "branches": hit["branches"],
        "expectedSourceHash": hit["sourceHash"],
        "expectedLineageFingerprint": hit["lineageFingerprint"],
        **args,
    }
    return await home.memory(hot_sessions=0).recall(asked, cwd=Path(CWD), current=current)


@pytest.mark.requirement("memory:pointer:hydrate")
async def test_a_pointer_leads_to_the_entries_and_the_session_stays_cold(home: Home) -> None:
    home.session("x", path(user("dog"), says("cat"), user("cat")))
    hit = await pointer(home)

    answer = await follow(home, hit)

    assert sorted(map(str, found_ids(answer))) == ["e2", "e3"]
    assert {segment["tier"] for segment in answer["segments"]} == {"cold"}
    for segment in answer["segments"]:
        assert segment["sourceHash"] == hit["sourceHash"]
        assert segment["lineageFingerprint"] == hit["lineageFingerprint"]
    assert answer["coverage"]["complete"]
    assert [record["kind"] for _, record in home.records()] == ["digest"]


@pytest.mark.requirement("memory:pointer:stale")
@pytest.mark.parametrize("change", ["append", "rewrite", "rewrite of the same size"])
@pytest.mark.parametrize("ask", ["recall", "expand"])
async def test_a_pointer_to_what_was_written_since_is_refused_without_content(
    home: Home, change: str, ask: str
) -> None:
    file = home.session("x", path(user("cat"), user("secretword")))
    hit = await pointer(home)
    data = Path(file).read_bytes()  # noqa: ASYNC240
    changed = {
        "append": data + lines(path(user("more"))),
        "rewrite": lines([json.loads(data.splitlines()[0]), *path(user("cat"), user("otherwords and more"))]),
        "rewrite of the same size": data.replace(b"secretword", b"wordsecret"),
    }
    Path(file).write_bytes(changed[change])  # noqa: ASYNC240

    if ask == "recall":
        answer = await follow(home, hit)
        assert (answer["segments"], answer["digestHits"], answer["items"]) == ([], [], [])
    else:
        answer = await home.expand(file, indices=[0], expectedSourceHash=hit["sourceHash"])
        assert answer["expanded"] == []

    error = answer["error"]
    assert (error["code"], error["sessionFile"]) == ("stale_pointer", file)
    assert error["expectedSourceHash"] == hit["sourceHash"] != error["actualSourceHash"]
    assert "secret" not in json.dumps(answer)
    assert "otherwords" not in json.dumps(answer)


@pytest.mark.requirement("memory:pointer:navigation")
async def test_navigation_alone_makes_a_pointer_stale(home: Home) -> None:
    one, two, three = path(user("cat"), user("left"), user("right"))
    file = home.session("x", [one, two, three | {"parentId": "e1"}])
    hit = await pointer(home)
    there = Current(file=file, branch=LiveBranch(ids=("e1", "e3"), leaf_id="e3"))
    moved = Current(file=file, branch=LiveBranch(ids=("e1", "e2"), leaf_id="e2"))

    assert found_ids(await follow(home, hit, there)) == ["e1"]
    answer = await follow(home, hit, moved)
    expanded = await home.expand(
        file, current=moved, indices=[0], expectedLineageFingerprint=hit["lineageFingerprint"]
    )

    for refused in (answer, expanded):
        error = refused["error"]
        assert error["code"] == "stale_pointer"
        assert error["expectedLineageFingerprint"] == hit["lineageFingerprint"]
        assert error["actualLineageFingerprint"] != hit["lineageFingerprint"]
    # What is expected of all branches does not depend on where the user is.
    everything = await home.recall("cat", memory=home.memory(hot_sessions=0), branches="all")
    assert found_ids(await follow(home, everything["digestHits"][0], moved)) == ["e1"]


@pytest.mark.requirement("memory:pointer:range")
async def test_a_range_bounds_what_is_searched_and_indices_stay_the_sessions(home: Home) -> None:
    file = home.session("x", path(*(user(f"cat {at}") for at in range(5))))

    answer = await home.recall("cat", scope=f"session:{file}", entryRange={"first": 1, "last": 3.0})

    matches = [match["index"] for segment in answer["segments"] for match in segment["exactMatches"]]
    assert sorted(matches) == [1, 2, 3]
    assert {segment["range"] for segment in answer["segments"]} == {"#1", "#2", "#3"}
    assert all(
        segment["entryRange"]["first"] == segment["entries"][0]["entry"]["index"]
        for segment in answer["segments"]
    )


@pytest.mark.requirement("memory:pointer:range")
@pytest.mark.parametrize(
    ("first", "last", "count"),
    [(0, 5, 5), (5, 5, 5), (-1, 2, None), (3, 2, None), (0.5, 2, None), (0, 10**30, 5)],
)
@pytest.mark.parametrize("ask", ["recall", "expand"])
async def test_a_range_that_the_session_does_not_have_is_an_error_and_never_clamped(
    home: Home, first: float, last: float, count: int | None, ask: str
) -> None:
    file = home.session("x", path(*(user(f"cat {at}") for at in range(5))))
    asked = {"first": first, "last": last}

    if ask == "recall":
        answer = await home.recall("cat", scope=f"session:{file}", entryRange=asked)
        assert (answer["segments"], answer["items"]) == ([], [])
    else:
        answer = await home.expand(file, entryRange=asked)
        assert answer["expanded"] == []

    assert answer["error"]["code"] == "index_out_of_bounds"
    assert answer["error"].get("entryCount") == count


@pytest.mark.requirement("memory:pointer:privacy")
async def test_a_named_session_is_searched_under_the_settings_of_the_index(home: Home) -> None:
    file = home.session("x", path(user("cat"), returns("read", "bodyword")))
    memory = home.memory(index_tool_output=False)

    assert found_ids(await home.recall("bodyword", memory=memory, scope=f"session:{file}")) == []
    assert found_ids(await home.recall("read", memory=memory, scope=f"session:{file}")) == ["e2"]


@pytest.mark.requirement("memory:pointer:cut-text")
async def test_a_named_session_is_searched_as_far_as_its_entries_are_indexed(home: Home) -> None:
    file = home.session("x", path(user("a" * 100 + " rare")))

    answer = await home.recall("rare", memory=home.memory(max_entry_chars=50), scope=f"session:{file}")

    assert answer["text"].startswith("No indexed matches")
    assert answer["coverage"]["reasons"] == ["max_entry_chars"]
    assert (await home.expand(file, indices=[0]))["expanded"][0]["text"].endswith(" rare")


@pytest.mark.requirement("memory:pointer:budget")
async def test_a_named_session_beyond_the_budget_is_not_read(home: Home) -> None:
    file = home.session("x", path(user("cat " * 1_000)))

    answer = await home.recall(
        "cat", memory=home.memory(max_sync_source_bytes=1_024), scope=f"session:{file}"
    )

    assert (answer["totalItems"], answer["coverage"]["reasons"]) == (0, ["max_sync_source_bytes"])
    assert answer["coverage"]["staleSessions"] == 1
