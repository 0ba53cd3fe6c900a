"""Records of the index: which are used, which are built anew, and which are removed."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pi_fabric.memory import Current
from pi_fabric.memory.cache import record_name
from pi_fabric.memory.lineage import LiveBranch
from tests.memory.index_lab import (
    QUERIES,
    Lab,
    both_processes,
    everything,
    header,
    lines,
    message,
    records_of,
    same_as_fresh,
    set_minute,
    where,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """Six sessions, of which two are hot."""
    lab = Lab.at(tmp_path, hot_sessions=2)
    lab.sessions(6)
    return lab


# Records


def older(record: dict[str, Any]) -> bytes:
    return json.dumps(record | {"cacheVersion": 4}).encode()


def torn(record: dict[str, Any]) -> bytes:
    return json.dumps(record).encode()[:-20]


def other_shape(_: dict[str, Any]) -> bytes:
    return b"[]"


def empty(_: dict[str, Any]) -> bytes:
    return b""


def no_text(_: dict[str, Any]) -> bytes:
    return b"\xff\x00\xfe"


spoilers = pytest.mark.parametrize("spoil", [older, torn, other_shape, empty, no_text])


@pytest.mark.requirement("memory:index:malformed")
@both_processes
@spoilers
async def test_older_and_malformed_records_are_built_anew(
    lab: Lab, spoil: Callable[[dict[str, Any]], bytes], *, same_process: bool
) -> None:
    memory = lab.memory()
    before = await everything(memory, QUERIES)
    records = {path: json.loads(path.read_bytes()) for path in lab.index.glob("*.json")}
    for path, record in records.items():
        path.write_bytes(spoil(record))

    memory = memory if same_process else lab.memory()

    assert await everything(memory, QUERIES) == before
    assert {path: json.loads(path.read_bytes()) for path in lab.index.glob("*.json")} == records


@pytest.mark.requirement("memory:index:malformed")
@both_processes
async def test_records_without_a_place_in_the_catalogue_are_built_anew(
    lab: Lab, *, same_process: bool
) -> None:
    memory = lab.memory()
    before = await everything(memory, QUERIES)
    lab.catalogue().unlink()
    for path in lab.index.glob("*.json"):
        path.write_bytes(older(json.loads(path.read_bytes())))

    memory = memory if same_process else lab.memory()

    assert await everything(memory, QUERIES) == before
    assert all(json.loads(path.read_bytes())["cacheVersion"] == 5 for path in lab.index.glob("*.json"))


@pytest.mark.requirement("memory:index:foreign")
@both_processes
@spoilers
async def test_a_record_that_nobody_can_use_is_removed(
    lab: Lab, spoil: Callable[[dict[str, Any]], bytes], *, same_process: bool
) -> None:
    elsewhere = lab.session("elsewhere", "common", cwd="/work/b", minute=9)
    memory = lab.memory()
    await where(memory, "common", scope="project")
    # Of a session that this question is not about.
    name = record_name(str(elsewhere), "active", "hot")
    record = {"cacheVersion": 5, "kind": "shard", "file": str(elsewhere), "branches": "active"}
    (lab.index / name).write_bytes(spoil(record))

    memory = memory if same_process else lab.memory()
    await where(memory, "common", scope="project")

    assert name not in lab.records()


@pytest.mark.requirement("memory:index:shared")
async def test_a_record_of_the_other_implementation_stays(lab: Lab) -> None:
    elsewhere = lab.session("elsewhere", "common", cwd="/work/b", minute=9)
    lab.index.mkdir()
    name = record_name(str(elsewhere), "active", "hot")
    record = {"cacheVersion": 5, "kind": "shard", "file": str(elsewhere), "branches": "active"}
    (lab.index / name).write_text(json.dumps(record))
    notes = lab.index / "notes.txt"
    notes.write_text("mine")

    await where(lab.memory(), "common", scope="project")

    assert name in lab.records()
    assert notes.read_text() == "mine"


@pytest.mark.requirement("memory:index:misnamed")
@both_processes
async def test_a_record_under_the_name_of_another_source_is_removed(lab: Lab, *, same_process: bool) -> None:
    memory = lab.memory()
    before = await everything(memory, QUERIES)
    kept = lab.records()
    for name in kept:
        shutil.copy(lab.index / name, lab.index / f"0000000000000000{name[16:]}")
    # Of the other tier, and of the other branch mode.
    shutil.copy(lab.index / kept[0], lab.index / record_name(str(lab.path("s005")), "active", "cold"))
    shutil.copy(lab.index / kept[0], lab.index / record_name(str(lab.path("s005")), "all", "hot"))

    memory = memory if same_process else lab.memory()

    assert await everything(memory, QUERIES) == before
    assert lab.records() == kept


# Sessions that are gone


@pytest.mark.requirement("memory:index:deleted")
@both_processes
@pytest.mark.parametrize("scope", ["global", "project"])
@pytest.mark.parametrize("name", ["s000", "s005"], ids=["cold", "hot"])
async def test_a_deleted_session_loses_its_records(
    lab: Lab, scope: str, name: str, *, same_process: bool
) -> None:
    lab.session("elsewhere", "common", cwd="/work/b", minute=99)
    memory = lab.memory()
    for branches in ("active", "all"):
        await where(memory, "common", branches=branches)
    path = lab.path(name)
    mine = [one for one in lab.records() if name in one]
    assert len(mine) == 2
    path.unlink()

    memory = memory if same_process else lab.memory()
    found = await where(memory, "common", scope=scope)

    assert name not in found
    assert [one for one in lab.records() if name in one] == []
    assert name not in lab.rows("active")
    assert name not in lab.rows("all")
    assert [one.name for one in lab.own.glob(f"*{name}*")] == []


@pytest.mark.requirement("memory:index:deleted")
async def test_a_deleted_session_of_another_project_loses_its_records(lab: Lab) -> None:
    elsewhere = lab.session("elsewhere", "common", cwd="/work/b", minute=99)
    memory = lab.memory()
    await where(memory, "common")
    elsewhere.unlink()

    await where(memory, "common", scope="project")

    assert [one for one in lab.records() if "elsewhere" in one] == []


@pytest.mark.requirement("memory:index:deleted")
async def test_an_orphan_that_no_catalogue_knows_is_removed(lab: Lab) -> None:
    gone = lab.path("gone")
    await where(lab.memory(), "common")
    name = record_name(str(gone), "active", "cold")
    record = {"cacheVersion": 5, "kind": "digest", "file": str(gone), "branches": "active"}
    (lab.index / name).write_text(json.dumps(record))

    await where(lab.memory(), "common")

    assert name not in lab.records()


@pytest.mark.requirement("memory:index:forgotten")
@both_processes
@pytest.mark.parametrize("minute", [0, 99], ids=["cold", "hot"])
async def test_no_word_of_a_deleted_session_stays(lab: Lab, minute: int, *, same_process: bool) -> None:
    path = lab.session("secret", "common quixotic", minute=minute)
    memory = lab.memory()
    for branches in ("active", "all"):
        assert await where(memory, "quixotic", branches=branches) == ["secret"]
    known = records_of(lab.index)
    path.unlink()

    memory = memory if same_process else lab.memory()
    await same_as_fresh(lab, memory)

    files = [one for one in lab.index.rglob("*") if one.is_file()]
    for told in (b"quixotic", path.name.encode()):
        assert [one.name for one in files if told in one.read_bytes()] == []
    # Those that it was indexed with were not built again for that.
    if minute == 0:
        assert records_of(lab.index).items() <= known.items()
    for one in (memory, lab.memory()):
        await same_as_fresh(lab, one)
        await same_as_fresh(lab, one, branches="all")


@pytest.mark.requirement("memory:index:deleted")
async def test_a_session_that_comes_back_is_found_again(lab: Lab) -> None:
    memory = lab.memory()
    await where(memory, "common")
    data = lab.path("s001").read_bytes()
    lab.path("s001").unlink()
    assert "s001" not in await where(memory, "common")

    lab.path("s001").write_bytes(data)
    set_minute(lab.path("s001"), 1)

    assert "s001" in await where(memory, "common")
    await same_as_fresh(lab, memory)


# Tiers and branch modes


@pytest.mark.requirement("memory:index:tiers")
@both_processes
async def test_a_session_that_crosses_between_tiers_loses_its_other_record(
    lab: Lab, *, same_process: bool
) -> None:
    memory = lab.memory()
    await where(memory, "common")
    hot = record_name(str(lab.path("s005")), "active", "hot")
    cold = record_name(str(lab.path("s005")), "active", "cold")
    assert (hot in lab.records(), cold in lab.records()) == (True, False)

    for minute, expected in ((0, (False, True)), (60, (True, False)), (0, (False, True))):
        set_minute(lab.path("s005"), minute)
        memory = memory if same_process else lab.memory()
        await where(memory, "common")
        assert (hot in lab.records(), cold in lab.records()) == expected
        assert len(lab.records()) == 6
        await same_as_fresh(lab, memory)


@pytest.mark.requirement("memory:index:branches")
async def test_branch_modes_leave_each_others_records_alone(lab: Lab) -> None:
    memory = lab.memory()
    await where(memory, "common")
    active = records_of(lab.index)

    await where(memory, "common", branches="all")
    both = records_of(lab.index)
    await where(memory, "common")
    await where(lab.memory(), "common", branches="all")

    assert both == records_of(lab.index)
    assert active.items() <= both.items()
    assert len(both) == 2 * len(active)


@pytest.mark.requirement("memory:index:branches")
async def test_a_change_is_built_for_the_branch_mode_that_is_asked_for(lab: Lab) -> None:
    memory = lab.memory()
    for branches in ("active", "all"):
        await where(memory, "common", branches=branches)
    before = records_of(lab.index)
    lab.session("s005", "common changed", minute=50)

    await where(memory, "changed")

    after = records_of(lab.index)
    assert {name for name in before if before[name] != after[name]} == {
        record_name(str(lab.path("s005")), "active", "hot")
    }
    assert await where(memory, "changed", branches="all") == ["s005"]


@pytest.mark.requirement("memory:index:navigation")
async def test_navigation_builds_only_the_session_that_was_navigated(lab: Lab) -> None:
    path = lab.path("s005")
    path.write_bytes(
        lines(
            [
                header("s005"),
                message("root", None, "common root"),
                message("left", "root", "sinister"),
                message("right", "root", "dexter"),
            ]
        )
    )
    set_minute(path, 5)
    memory = lab.memory()
    assert await where(memory, "dexter") == ["s005"]
    before = records_of(lab.index)
    left = Current(file=str(path), branch=LiveBranch(ids=("root", "left"), leaf_id="left"))
    right = Current(file=str(path), branch=LiveBranch(ids=("root", "right"), leaf_id="right"))

    assert await where(memory, "sinister", current=left) == ["s005"]
    after = records_of(lab.index)
    assert await where(memory, "dexter", current=left) == []
    assert await where(memory, "dexter", current=right) == ["s005"]
    assert await where(memory, "sinister", current=right) == []

    assert [name for name in before if before[name] != after[name]] == [
        record_name(str(path), "active", "hot")
    ]


# Settings


@pytest.mark.requirement("memory:index:policy")
@pytest.mark.parametrize("hot_sessions", [0, 9])
async def test_records_are_built_anew_when_a_setting_they_depend_on_changes(
    tmp_path: Path, hot_sessions: int
) -> None:
    lab = Lab.at(tmp_path, hot_sessions=hot_sessions)
    path = lab.session("one", "ask", minute=0)
    said = {
        "type": "message", "id": "think", "parentId": "one-0",
        "message": {"role": "assistant", "content": [{"type": "thinking", "thinking": "pondered"}]},
    }  # fmt: skip
    ran = {
        "type": "message", "id": "ran", "parentId": "think",
        "message": {
            "role": "toolResult", "toolName": "bash", "content": [{"type": "text", "text": "printed"}],
        },
    }  # fmt: skip
    with path.open("ab") as stream:
        stream.write(lines([said, ran]))

    async def found(**settings: bool) -> tuple[bool, bool]:
        memory = lab.memory(**settings)
        return (await where(memory, "pondered") == ["one"], await where(memory, "printed") == ["one"])

    assert await found() == (False, True)
    assert await found(index_thinking=True) == (True, True)
    assert await found(index_tool_output=False) == (False, False)
    assert b"printed" not in b"".join(one.read_bytes() for one in lab.index.glob("*.json"))
    named = [*lab.own.glob("*.words"), *lab.own.glob("*.folded")]
    living = {row.group or row.record for row in lab.rows().values()}
    assert b"printed" not in b"".join(one.read_bytes() for one in named if one.stem in living)
    assert await found() == (False, True)
