from pathlib import Path

import pytest
from session_files import CWD, NOON_MS, Home, header, path, user

from pi_fabric.base.errors import RequestError
from pi_fabric.base.jsonvalue import Json, JsonObject

pytestmark = pytest.mark.anyio


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


async def listed(home: Home, *, settings: JsonObject | None = None, **args: Json) -> list[JsonObject]:
    memory = home.memory(**(settings or {}))
    answer = await memory.sessions({"scope": "global", **args}, cwd=Path(CWD))
    assert set(answer) == {"scope", "branches", "sessions"}
    return answer["sessions"]


@pytest.mark.requirement("memory:list:fields")
@pytest.mark.parametrize("branches", ["active", "all"])
async def test_a_session_is_told_with_what_is_known_of_it(home: Home, branches: str) -> None:
    file = home.session("name", path(user("a"), user("b")), session_id="id")

    [row] = await listed(home, branches=branches)

    [(_, record)] = home.records()
    assert row == {
        "id": "id",
        "file": file,
        "cwd": CWD,
        "mtime": NOON_MS,
        "entryCount": 2,
        "tier": "hot",
        "branches": branches,
        "lineageFingerprint": record["lineageFingerprint"],
    }


@pytest.mark.requirement("memory:list:order")
async def test_sessions_come_newest_first_with_their_tiers(home: Home) -> None:
    for age in (3, 1, 2):
        home.session(f"s{age}", path(user("a")), age=age)

    rows = await listed(home, settings={"hot_sessions": 2})

    assert [(row["id"], row["tier"]) for row in rows] == [("s1", "hot"), ("s2", "hot"), ("s3", "cold")]


@pytest.mark.requirement("memory:list:limit")
@pytest.mark.parametrize(
    ("limit", "shown"),
    [(2, 2), (2.9, 2), (1, 1), (100, 4), (0, 1), (-5, 1), (None, 4), ("2", 4), (10**400, 4)],
)
async def test_a_limit_cuts_the_listing(home: Home, limit: Json, shown: int) -> None:
    for age in range(6):
        home.session(f"s{age}", path(user("a")), age=age)

    rows = await listed(home, settings={"max_sessions": 4}, limit=limit)

    assert [row["id"] for row in rows] == [f"s{age}" for age in range(shown)]


@pytest.mark.requirement("memory:list:limit")
async def test_no_more_than_500_sessions_are_listed_and_only_those_are_read(home: Home) -> None:
    for age in range(502):
        home.session(f"s{age:03}", path(user("a")), age=age)

    rows = await listed(home, settings={"max_sessions": 1_000})

    assert len(rows) == 500
    assert len(list(home.records())) == 500
    answer = await home.recall("a", memory=home.memory(max_sessions=1, hot_sessions=0))
    assert answer["totalItems"] == 502


@pytest.mark.requirement("memory:list:empty")
async def test_where_nothing_is_the_listing_is_empty(home: Home) -> None:
    assert await listed(home) == []
    assert await listed(home, scope="session") == []
    assert await listed(home, scope="session:nobody") == []


@pytest.mark.requirement("memory:list:refused")
async def test_an_unknown_branch_mode_is_refused(home: Home) -> None:
    with pytest.raises(RequestError, match="branches is 'both'"):
        await listed(home, branches="both")


@pytest.mark.requirement("memory:find:long-header", "memory:find:bad-header")
@pytest.mark.parametrize("first", [header("real", more="x" * 9_000), b'{"type":"sess', b"", b"\xff\xfe"])
async def test_a_session_whose_header_is_not_understood_is_listed_by_its_name(
    home: Home, first: Json | bytes
) -> None:
    home.raw("stem", [first, *path(user("cat"))])

    [row] = await listed(home)
    answer = await home.recall("cat")

    assert (row["entryCount"], row["cwd"]) == (1, "")
    assert row["id"] == ("real" if isinstance(first, dict) else "stem")
    assert answer["totalItems"] == 1
    assert answer["segments"][0]["sessionId"] == row["id"]


@pytest.mark.requirement("memory:list:not-indexed")
async def test_a_session_that_cannot_be_indexed_is_listed_without_entries(home: Home) -> None:
    home.session("x", path(user("a" * 2_000)))

    [row] = await listed(home, settings={"max_sync_source_bytes": 1_024})

    assert (row["id"], row["cwd"], row["entryCount"], row["lineageFingerprint"]) == ("x", CWD, 0, None)
