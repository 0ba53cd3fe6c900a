"""The folder of the index: who may read it, what damages it, and what is done about that."""

import os
import resource
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from pi_fabric.base.errors import StoreError
from pi_fabric.memory import catalogue
from tests.memory.index_lab import (
    QUERIES,
    Lab,
    ask,
    both_processes,
    everything,
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


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# Who may read


@pytest.mark.requirement("memory:index:modes")
async def test_only_the_user_can_read_the_index(lab: Lab) -> None:
    before = os.umask(0)
    try:
        memory = lab.memory()
        await where(memory, "common")
        await where(memory, "common", branches="all")
    finally:
        os.umask(before)

    assert mode_of(lab.index) == mode_of(lab.own) == 0o700
    files = [path for path in lab.index.rglob("*") if path.is_file()]
    assert {"json", "jsonl", "rows", "words", "folded"} <= {path.suffix[1:] for path in files}
    assert {path.name: mode_of(path) for path in files} == {path.name: 0o600 for path in files}


@pytest.mark.requirement("memory:index:modes")
async def test_a_folder_that_others_can_read_is_closed_to_them(lab: Lab) -> None:
    lab.index.mkdir(mode=0o755)
    lab.own.mkdir(mode=0o755)

    await where(lab.memory(), "common")

    assert mode_of(lab.index) == mode_of(lab.own) == 0o700


# The folder


@pytest.mark.requirement("memory:index:folder")
@both_processes
@pytest.mark.parametrize("what", ["deleted", "moved", "emptied", "own-deleted", "records-deleted"])
async def test_an_index_that_is_gone_is_built_again(lab: Lab, what: str, *, same_process: bool) -> None:
    memory = lab.memory()
    before = await everything(memory, QUERIES)
    if what == "deleted":
        shutil.rmtree(lab.index)
    elif what == "moved":
        lab.index.rename(lab.root / "elsewhere")
    elif what == "own-deleted":
        shutil.rmtree(lab.own)
    else:
        for path in lab.index.rglob("*" if what == "emptied" else "*.json"):
            if path.is_file():
                path.unlink()

    memory = memory if same_process else lab.memory()

    assert await everything(memory, QUERIES) == before
    assert len(lab.records()) == 6
    assert mode_of(lab.index) == 0o700


@pytest.mark.requirement("memory:index:folder")
@both_processes
async def test_an_older_copy_put_back_gives_no_older_answers(lab: Lab, *, same_process: bool) -> None:
    memory = lab.memory()
    await where(memory, "common")
    copy = lab.root / "copy"
    shutil.copytree(lab.index, copy)
    lab.session("s005", "common changed", minute=5)
    lab.path("s001").unlink()
    assert await where(memory, "changed") == ["s005"]
    shutil.rmtree(lab.index)
    copy.rename(lab.index)

    await same_as_fresh(lab, memory if same_process else lab.memory())


@pytest.mark.requirement("memory:index:unusable")
@pytest.mark.parametrize("where_file", ["index", "own", "above"])
async def test_a_file_in_the_place_of_the_folder_is_named(lab: Lab, where_file: str) -> None:
    place = {"index": lab.index, "own": lab.own, "above": lab.root / "file"}[where_file]
    place.parent.mkdir(exist_ok=True)
    place.write_text("somebody's")
    memory = lab.memory(index_dir=str(place / "index")) if where_file == "above" else lab.memory()

    with pytest.raises(StoreError) as caught:
        await ask(memory, "common")

    assert str(place) in str(caught.value)
    assert place.read_text() == "somebody's"


@pytest.mark.requirement("memory:index:unusable")
async def test_a_folder_in_the_place_of_the_catalogue_is_named(lab: Lab) -> None:
    lab.catalogue().mkdir(parents=True)

    with pytest.raises(StoreError, match=r"catalogue\.active"):
        await ask(lab.memory(), "common")


@pytest.mark.requirement("memory:index:read-only")
async def test_an_index_that_cannot_be_written_answers_while_nothing_changed(lab: Lab) -> None:
    before = await everything(lab.memory(), QUERIES)
    lab.settle()
    for folder in (lab.own, lab.index):
        folder.chmod(0o500)
    try:
        if os.access(lab.own, os.W_OK):
            pytest.skip("this user may write in any folder")
        assert await everything(lab.memory(), QUERIES) == before
        # Gone, and what the index has of it cannot be removed.
        lab.path("s001").unlink()
        await same_as_fresh(lab, lab.memory())
        lab.session("s005", "common changed", minute=5)
        with pytest.raises(StoreError, match=str(lab.index)):
            await ask(lab.memory(), "changed")
    finally:
        for folder in (lab.index, lab.own):
            folder.chmod(0o700)
    assert before != await everything(lab.memory(), QUERIES)
    await same_as_fresh(lab, lab.memory())


@pytest.mark.requirement("memory:index:descriptors")
@pytest.mark.parametrize(("mapped_from", "descriptors"), [(65_536, 100), (0, 300)], ids=["small", "mapped"])
async def test_many_hot_sessions_need_few_descriptors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mapped_from: int, descriptors: int
) -> None:
    lab = Lab.at(tmp_path, hot_sessions=200)
    lab.sessions(200)
    monkeypatch.setattr("pi_fabric.memory.termfile._MIN_MAPPED_BYTES", mapped_from)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, before[1]))
    try:
        memory = lab.memory()
        for branches in ("active", "all"):
            assert len(await where(memory, "common", branches=branches)) == 200
            assert await where(memory, "word7", branches=branches, fold=True) == ["s007"]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


# What lies beside the records


def removed(path: Path) -> None:
    path.unlink()


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def zeroed(path: Path) -> None:
    # As a file system leaves it that lost the content and kept the length.
    size = path.stat().st_size
    path.write_bytes(bytes(size))


def grown(path: Path) -> None:
    with path.open("ab") as stream:
        stream.write(b"\0")


@pytest.mark.requirement("memory:index:damaged")
@both_processes
@pytest.mark.parametrize("ending", ["rows", "words", "folded"])
@pytest.mark.parametrize("damage", [removed, cut, emptied, zeroed, grown])
async def test_damaged_files_beside_the_records_are_built_anew(
    lab: Lab, damage: Callable[[Path], None], ending: str, *, same_process: bool
) -> None:
    memory = lab.memory()
    before = await everything(memory, QUERIES, fold=True)
    for path in lab.own.glob(f"*.{ending}"):
        # Written anew: what a process has mapped must not shrink under it.
        fresh = path.with_suffix(".copy")
        shutil.copy(path, fresh)
        fresh.replace(path)
        damage(path)

    memory = memory if same_process else lab.memory()

    assert await everything(memory, QUERIES, fold=True) == before
    assert await everything(lab.memory(), QUERIES, fold=True) == before


@pytest.mark.requirement("memory:index:damaged")
@pytest.mark.parametrize("ending", ["rows", "words", "folded"])
async def test_files_of_another_build_beside_a_record_count_for_nothing(lab: Lab, ending: str) -> None:
    await where(lab.memory(), "common")
    old = {path: path.read_bytes() for path in lab.own.glob(f"*.{ending}")}
    lab.session("s005", "changed common words", minute=5)
    lab.session("s000", "common words changed", minute=0)
    await where(lab.memory(), "common")

    # As a build that was killed between its files would leave them.
    for path, data in old.items():
        if path.exists():
            path.write_bytes(data)

    await same_as_fresh(lab, lab.memory())
    assert await where(lab.memory(), "changed") == ["s000", "s005"]


@pytest.mark.requirement("memory:index:leftovers")
async def test_files_that_no_row_names_are_removed_once_they_are_old(lab: Lab) -> None:
    await where(lab.memory(), "common")
    old, young = (lab.own / f"{name * 32}.words" for name in "ab")
    half = lab.own / ".new-abc"
    for path in (old, young, half):
        path.write_bytes(b"x")
    for path in (old, half):
        set_minute(path, 0)

    await where(lab.memory(), "common")

    assert (old.exists(), half.exists(), young.exists()) == (False, False, True)
    assert await where(lab.memory(), "word1") == ["s001"]


@pytest.mark.requirement("memory:index:foreign-files")
async def test_files_that_are_no_records_stay_whatever_folder_is_named(lab: Lab) -> None:
    lab.index.mkdir()
    mine = {
        name: lab.index / name
        for name in ("package.json", "tsconfig.json", "0123456789abcdef.json", "x0123456789abcdef-s.json")
    }
    for file in mine.values():
        file.write_text("{}")
    record = lab.index / "0123456789abcdef-s.json"
    record.write_text("{}")

    for _ in range(2):
        await ask(lab.memory(), "common")

    assert all(file.read_text() == "{}" for file in mine.values())
    # That is a record by its name, and malformed.
    assert not record.exists()


@pytest.mark.requirement("memory:index:rewritten")
@both_processes
async def test_words_that_a_cold_session_lost_are_in_no_file_any_more(
    lab: Lab, *, same_process: bool
) -> None:
    memory = lab.memory(hot_sessions=0)
    secret = lab.session("s001", "common hushhush", minute=1)
    await ask(memory, "common")
    assert any(b"hushhush" in file.read_bytes() for file in lab.own.iterdir())

    secret.write_bytes(secret.read_bytes().replace(b"hushhush", b"harmless"))
    memory = memory if same_process else lab.memory(hot_sessions=0)
    assert len(await where(memory, "common")) == 6

    assert not any(b"hushhush" in file.read_bytes() for file in lab.index.rglob("*") if file.is_file())
    assert await where(memory, "harmless") == ["s001"]
    assert await where(lab.memory(hot_sessions=0), "word3") == ["s003"]


# Status, rebuild and clear


@pytest.mark.requirement("memory:index:clear")
async def test_clear_removes_the_index_and_nothing_else(lab: Lab) -> None:
    memory = lab.memory()
    before = await everything(memory, QUERIES)
    notes = lab.index / "notes.txt"
    notes.write_text("mine")

    result = await memory.clear()

    assert result.files > 6
    assert {path.name for path in lab.index.rglob("*") if path.is_file()} == {"notes.txt", "lock"}
    assert await everything(memory, QUERIES) == before
    assert await everything(lab.memory(), QUERIES) == before


@pytest.mark.requirement("memory:index:rebuild")
async def test_rebuild_builds_every_session_whatever_the_budgets_say(lab: Lab) -> None:
    memory = lab.memory(max_sync_sessions=1)
    before = records_of(lab.index)

    result = await memory.rebuild()

    assert (result.indexed, dict(result.failed)) == (6, {})
    assert before == {}
    await same_as_fresh(lab, memory)
    first, files = records_of(lab.index), len(list(lab.own.iterdir()))
    await memory.rebuild()
    assert all(first[name] != now for name, now in records_of(lab.index).items())
    # What lay beside the former records is gone.
    assert len(list(lab.own.iterdir())) == files


@pytest.mark.requirement("memory:index:busy")
async def test_an_index_that_another_process_holds_is_named_and_not_cleared(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = lab.memory()
    await ask(memory, "common")
    lab.session("s009", "common", minute=9)
    monkeypatch.setattr(catalogue, "LOCK_TIMEOUT_S", 0.05)
    files = {path.name for path in lab.own.iterdir()}

    with FileLock(lab.own / "lock"):
        for question in (lambda: ask(memory, "common"), memory.clear, memory.rebuild):
            with pytest.raises(StoreError, match="another process is using the index; ask again"):
                await question()
        assert {path.name for path in lab.own.iterdir()} >= files

    assert len(await where(memory, "common")) == 7


@pytest.mark.requirement("memory:index:status")
async def test_status_tells_what_lies_on_the_disk_and_changes_nothing(lab: Lab) -> None:
    memory = lab.memory()
    empty_status = await memory.status()
    assert not lab.index.exists()
    await where(memory, "common")
    lab.session("s000", "changed", minute=0)
    before = records_of(lab.index)

    status = await lab.memory().status()

    active = status.by_mode["active"]
    assert empty_status.by_mode["active"].stale == 6
    assert (status.sessions_on_disk, status.record_files) == (6, 6)
    assert (active.indexed, active.hot, active.cold, active.stale) == (6, 2, 4, 1)
    assert (status.by_mode["all"].indexed, status.by_mode["all"].stale) == (0, 6)
    assert status.record_bytes == sum(one[2] for one in before.values())
    assert records_of(lab.index) == before
