"""How much work one question may cause, and that the next one goes on where it stopped."""

import json
from pathlib import Path

import pytest

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.memory.cache import record_name
from tests.memory.index_lab import PROJECT, Lab, ask, names, records_of, same_as_fresh, where

pytestmark = pytest.mark.anyio


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """Ten sessions of equal size, of which three are hot."""
    lab = Lab.at(tmp_path, hot_sessions=3)
    lab.sessions(10, "common word")
    return lab


def size_of(lab: Lab) -> int:
    return lab.path("s000").stat().st_size


@pytest.mark.requirement("memory:index:budget-sessions")
@pytest.mark.parametrize("restarts", [False, True])
async def test_a_question_indexes_so_many_sessions_and_the_next_one_goes_on(
    lab: Lab, *, restarts: bool
) -> None:
    memory = lab.memory(max_sync_sessions=4)
    seen: list[tuple[int, int, int, bool, list[str]]] = []
    for _ in range(4):
        answer = await ask(memory, "common")
        told = answer["coverage"]
        assert len(names(answer)) == told["indexedSessions"]
        assert told["eligibleSessions"] == 10
        assert ("No matches" in answer["text"]) is False
        seen.append(
            (
                told["indexedSessions"],
                told["staleSessions"],
                told["incompleteSessions"],
                told["complete"],
                told["reasons"],
            )
        )
        memory = lab.memory(max_sync_sessions=4) if restarts else memory

    assert seen == [
        (4, 6, 0, False, ["max_sync_sessions"]),
        (8, 2, 0, False, ["max_sync_sessions"]),
        (10, 0, 0, True, []),
        (10, 0, 0, True, []),
    ]
    await same_as_fresh(lab, memory)


@pytest.mark.requirement("memory:index:budget-sessions")
async def test_the_newest_sessions_are_indexed_first(lab: Lab) -> None:
    assert names(await ask(lab.memory(max_sync_sessions=2), "common")) == ["s008", "s009"]


@pytest.mark.requirement("memory:index:budget-sessions")
async def test_nothing_found_within_a_budget_is_no_proof(lab: Lab) -> None:
    lab.session("s000", "needle", minute=0)

    answer = await ask(lab.memory(max_sync_sessions=2), "needle")

    assert answer["totalItems"] == 0
    assert "No indexed matches" in answer["text"]
    assert "memory.maxSyncSessions" in answer["text"]


@pytest.mark.requirement("memory:index:budget-bytes")
async def test_a_question_reads_so_many_bytes_and_the_next_one_goes_on(lab: Lab) -> None:
    memory = lab.memory(max_sync_source_bytes=4 * size_of(lab) + 1)
    seen: list[JsonObject] = []
    for _ in range(3):
        seen.append((await ask(memory, "common"))["coverage"])
        # What was read at once after it was written is read once more, which costs bytes too.
        lab.settle()

    assert [(one["indexedSessions"], one["reasons"]) for one in seen] == [
        (4, ["max_sync_source_bytes"]),
        (8, ["max_sync_source_bytes"]),
        (10, []),
    ]
    await same_as_fresh(lab, memory)


@pytest.mark.requirement("memory:index:budget-bytes")
async def test_a_session_larger_than_the_budget_keeps_no_other_from_being_indexed(lab: Lab) -> None:
    lab.session("s009", "common " * 2_000, minute=9)
    memory = lab.memory(max_sync_source_bytes=12 * size_of(lab))

    for _ in range(2):
        answer = await ask(memory, "common")

        assert names(answer) == [f"s{number:03}" for number in range(9)]
        assert answer["coverage"]["staleSessions"] == 1
        assert answer["coverage"]["reasons"] == ["max_sync_source_bytes"]
    named = await ask(memory, "common", scope=f"session:{lab.path('s009')}")
    assert named["coverage"]["reasons"] == ["max_sync_source_bytes"]


@pytest.mark.requirement("memory:index:budget-hashing")
async def test_bytes_that_are_only_hashed_count_and_sessions_that_are_only_hashed_do_not(lab: Lab) -> None:
    await where(lab.memory(), "common")

    enough = await ask(lab.memory(verify="hash", max_sync_sessions=1), "common")
    scarce = await ask(
        lab.memory(verify="hash", max_sync_source_bytes=4 * size_of(lab), max_sync_sessions=1), "common"
    )

    assert enough["coverage"]["complete"]
    assert names(scarce) == ["s006", "s007", "s008", "s009"]
    assert scarce["coverage"]["reasons"] == ["max_sync_source_bytes"]
    assert scarce["coverage"]["staleSessions"] == 6


@pytest.mark.requirement("memory:index:budget-hashing")
async def test_sessions_that_need_no_hashing_cost_nothing(lab: Lab) -> None:
    await where(lab.memory(), "common")
    lab.settle()

    assert len(await where(lab.memory(max_sync_source_bytes=1, max_sync_sessions=1), "common")) == 10


@pytest.mark.requirement("memory:index:budget-scope")
async def test_only_the_sessions_of_the_question_are_indexed(lab: Lab) -> None:
    for number in range(5):
        lab.session(f"b{number}", "common", cwd="/work/b", minute=50 + number)
    memory = lab.memory(max_sync_sessions=10)

    assert len(await where(memory, "common", scope="project")) == 10
    assert {json.loads((lab.index / name).read_bytes())["cwd"] for name in lab.records()} == {PROJECT}
    assert len(await where(memory, "common")) == 15


@pytest.mark.requirement("memory:index:budget-listing")
async def test_a_listing_tells_of_sessions_that_are_not_indexed_yet(lab: Lab) -> None:
    memory = lab.memory(max_sync_sessions=4)
    listed = await memory.sessions({"scope": "global"}, cwd=Path(PROJECT))

    counts = [row["entryCount"] for row in listed["sessions"]]
    assert counts == [1] * 4 + [0] * 6
    assert [Path(row["file"]).stem for row in listed["sessions"]] == [
        f"s{number:03}" for number in reversed(range(10))
    ]


def put_unknown_records(lab: Lab, count: int, first_minute: int) -> list[str]:
    """Older records of sessions that a question of this project is not about."""
    found: list[str] = []
    for number in range(count):
        path = lab.session(f"b{number}", "common", cwd="/work/b", minute=first_minute + number)
        name = record_name(str(path), "active", "hot")
        record = {"cacheVersion": 4, "kind": "shard", "file": str(path), "branches": "active"}
        (lab.index / name).write_text(json.dumps(record))
        found.append(name)
    return found


@pytest.mark.requirement("memory:index:budget-cleanup")
@pytest.mark.parametrize("first_minute", [-50, 50], ids=["older", "newer"])
async def test_a_clean_up_looks_into_so_many_records_and_the_next_one_goes_on(
    lab: Lab, first_minute: int
) -> None:
    memory = lab.memory(max_cache_cleanup_files=2)
    await where(memory, "common")
    unknown = put_unknown_records(lab, 5, first_minute)
    seen: list[tuple[int, list[str]]] = []

    for _ in range(4):
        answer = await ask(memory, "common", scope="project")
        assert len(names(answer)) == 10
        left = set(unknown) & set(lab.records())
        seen.append((len(left), answer["coverage"]["reasons"]))

    assert seen == [(3, ["cache_cleanup_budget"]), (1, ["cache_cleanup_budget"]), (0, []), (0, [])]


@pytest.mark.requirement("memory:index:budget-cleanup")
async def test_a_clean_up_reads_so_many_bytes(lab: Lab) -> None:
    await where(lab.memory(), "common")
    lab.settle()
    unknown = put_unknown_records(lab, 3, -50)
    size = max((lab.index / name).stat().st_size for name in unknown)

    answer = await ask(lab.memory(max_sync_source_bytes=size), "common", scope="project")

    assert answer["coverage"]["reasons"] == ["cache_cleanup_budget"]
    assert len(set(unknown) & set(lab.records())) == 2


@pytest.mark.requirement("memory:index:budget-cleanup")
async def test_records_that_are_in_use_cost_a_clean_up_nothing(lab: Lab) -> None:
    await where(lab.memory(), "common")
    before = records_of(lab.index)

    assert len(await where(lab.memory(max_cache_cleanup_files=1), "common")) == 10
    assert records_of(lab.index) == before
