from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from session_files import NOON_MS, Home, calls, found_files, found_ids, path, returns, says, user

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.memory.building import shown_of
from pi_fabric.memory.cold import _shown_passes  # pyright: ignore[reportPrivateUsage] - its three verdicts
from pi_fabric.memory.query import Filters

NEEDS_HYDRATION = ["cold_structural_filter_requires_hydration"]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


FILTERS: list[tuple[JsonObject, set[str], list[str]]] = [
    ({"role": "user"}, {"e1", "e4"}, ["x", "y"]),
    ({"role": "toolResult"}, {"e3"}, ["x"]),
    ({"role": "nobody"}, set(), []),
    ({"tool": "read"}, {"e2", "e3"}, ["x"]),
    ({"tool": "read", "role": "user"}, set(), []),
    ({"since": NOON_MS + 1000}, {"e2", "e3", "e4"}, ["x", "y"]),
    ({"until": NOON_MS + 500}, {"e1", "e4"}, ["x", "y"]),
    ({"since": NOON_MS + 100, "until": NOON_MS + 200}, {"e4"}, ["y"]),
    ({"since": NOON_MS + 100, "until": NOON_MS + 200, "role": "assistant"}, set(), []),
    ({"since": NOON_MS + 1000, "until": NOON_MS + 1000, "role": "assistant"}, {"e2"}, ["x"]),
]


@pytest.mark.requirement("memory:filter:entries", "memory:filter:cold", "memory:filter:untimed")
@pytest.mark.parametrize("query", ["cat", None])
@pytest.mark.parametrize(("args", "hot_ids", "cold_names"), FILTERS)
@pytest.mark.anyio
async def test_filters_hold_for_entries_of_hot_sessions_and_for_whole_cold_ones(
    home: Home, args: JsonObject, hot_ids: set[str], cold_names: list[str], query: str | None
) -> None:
    one, two, three, four = path(user("cat"), calls("read", path="cat"), returns("read", "cat"), user("cat"))
    home.session("x", [one, two, three])
    # Without a time, which passes every window.
    home.session("y", [four | {"parentId": None, "timestamp": None}], age=5)

    hot = await home.recall(query, **args)
    cold = await home.recall(query, memory=home.memory(hot_sessions=0), **args)

    assert set(found_ids(hot)) == hot_ids
    assert hot["coverage"]["complete"]
    assert found_files(cold) == cold_names
    assert cold["coverage"]["reasons"] == (NEEDS_HYDRATION if cold_names else [])


@pytest.mark.requirement("memory:filter:cold")
@pytest.mark.anyio
async def test_a_cold_session_passes_by_one_entry_and_matches_by_another(home: Home) -> None:
    home.session("x", path(user("dog"), says("cat")))

    answer = await home.recall("cat", memory=home.memory(hot_sessions=0), role="user")

    assert found_files(answer) == ["x"]
    assert answer["coverage"]["reasons"] == NEEDS_HYDRATION


@pytest.mark.requirement("memory:filter:cold")
@pytest.mark.parametrize(("middle", "found"), [(True, ["x"]), (False, [])])
@pytest.mark.anyio
async def test_a_window_between_two_entries_is_decided_by_the_addresses(
    home: Home, middle: bool, found: list[str]
) -> None:
    before, within, after = path(user("cat"), user("cat"), user("cat"))
    home.session("x", [before, *([within] if middle else []), after | {"parentId": "e2" if middle else "e1"}])

    answer = await home.recall(
        "cat", memory=home.memory(hot_sessions=0), since=NOON_MS + 500, until=NOON_MS + 1500
    )

    assert found_files(answer) == found


TIMES = st.none() | st.integers(0, 5)


@given(
    st.lists(st.tuples(st.sampled_from(["user", None]), st.sampled_from(["read", None]), TIMES), max_size=6),
    TIMES,
    TIMES,
    st.sampled_from(["user", "other", None]),
    st.sampled_from(["read", None]),
)
def test_what_is_kept_of_addresses_never_contradicts_them(
    told: list[tuple[str | None, str | None, int | None]],
    since: int | None,
    until: int | None,
    role: str | None,
    tool: str | None,
) -> None:
    filters = Filters(role=role, tool=tool, since=since, until=until)
    passing = any(
        (role is None or one == role) and (tool is None or other == tool) and filters.passes_time(moment)
        for one, other, moment in told
    )

    verdicts = [_shown_passes(shown, filters) for shown in shown_of((0, None, None, *one) for one in told)]

    assert True not in verdicts if not passing else True in verdicts or None in verdicts


@pytest.mark.requirement("memory:pointer:fields")
@pytest.mark.anyio
async def test_a_cold_hit_is_a_pointer_to_the_session_and_to_nothing_within(home: Home) -> None:
    file = home.session("x", path(user("cat"), user("dog"), user("cat")))

    answer = await home.recall("cat dog", memory=home.memory(hot_sessions=0))

    [hit] = answer["digestHits"]
    [(_, record)] = home.records()
    assert hit == {
        "tier": "cold",
        "sessionId": "x",
        "sessionFile": file,
        "sourceHash": record["sourceHash"],
        "branches": "active",
        "lineageFingerprint": record["lineageFingerprint"],
        "cwd": "/work/proj",
        "lastTs": NOON_MS + 2000,
        "sessionMtime": NOON_MS,
        "score": hit["score"],
        "matchedTerms": 2,
    }
    assert (answer["segments"], answer["totalMatches"], answer["totalItems"]) == ([], 1, 1)
    assert answer["items"] == [{"kind": "digest", "digest": hit}]


@pytest.mark.requirement("memory:coverage:cold-bounds")
@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"max_cold_vocabulary_bytes": 100}, "max_cold_vocabulary_bytes"),
        ({"max_cold_cache_bytes": 1500}, "max_cold_cache_bytes"),
    ],
)
@pytest.mark.anyio
async def test_a_word_beyond_the_bounds_is_no_authoritative_no_match(
    home: Home, settings: JsonObject, reason: str
) -> None:
    home.session("x", path(user(" ".join(f"word{number}" for number in range(400)))))
    memory = home.memory(hot_sessions=0, **settings)

    first = await home.recall("word0", memory=memory)
    last = await home.recall("word99", memory=memory)

    assert found_files(first) == ["x"]
    assert (found_files(last), last["coverage"]["reasons"]) == ([], [reason])
    assert last["text"].startswith("No indexed matches")
    [(file, record)] = home.records()
    assert record["indexCoverage"]["reasons"] == [reason]
    assert file.name.endswith(".digest.json")


@pytest.mark.requirement("memory:coverage:rare-words")
@pytest.mark.anyio
async def test_within_the_bounds_every_rare_word_is_found(home: Home) -> None:
    home.session("x", path(*(user(f"rare{at} common") for at in range(2_000))))
    memory = home.memory(hot_sessions=0)

    for number in (0, 1, 999, 1_999):
        assert found_files(await home.recall(f"rare{number}", memory=memory)) == ["x"]
    assert (await home.recall("rare2000", memory=memory))["text"].startswith("No matches")
