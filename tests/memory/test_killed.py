"""Indexing that is killed or has no room: nothing is lost or half done, and the next run goes on."""

import json
import random
import resource
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from anyio.abc import Process

from pi_fabric.base.errors import StoreError
from pi_fabric.base.process import PIPE, child_process, inherited_environment
from pi_fabric.memory import Memory
from tests.memory.index_lab import Lab, ask, everything, names, records_of, where

ROOT = Path(__file__).resolve().parents[2]
QUERIES = ("common", "word7 word93", "absent", None)
# Enough for three groups and two workers.
SESSIONS = 150
FILLER_WORDS = 3_600

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Sessions of 25 KB, of which twenty are hot."""
    lab = Lab.at(tmp_path_factory.mktemp("corpus"), hot_sessions=20, max_entry_chars=100_000)
    lab.sessions(SESSIONS, "common word{} " + "filler " * FILLER_WORDS)
    return lab


@pytest.fixture
async def expected(corpus: Lab) -> list[dict[str, Any]]:
    """What a build that nothing disturbed answers."""
    return await everything(reference(corpus), QUERIES)


def reference(corpus: Lab) -> Memory:
    """With one index for all tests of this file, which no test disturbs."""
    return corpus.memory(index_dir=str(corpus.root / "undisturbed"))


def with_index(corpus: Lab, folder: Path) -> Lab:
    """The same sessions with an index of a test's own."""
    return Lab(root=corpus.root, config=replace(corpus.config, index_dir=str(folder / "index")))


@asynccontextmanager
async def asking(lab: Lab, dies_at: int = 0) -> AsyncGenerator[Process]:
    """A process that asks all queries."""
    settings = {
        "hot_sessions": lab.config.hot_sessions,
        "index_dir": str(lab.index),
        "max_entry_chars": lab.config.max_entry_chars,
    }
    order = {"root": str(lab.root), "settings": settings, "queries": QUERIES, "dies_at": dies_at}
    argv = [sys.executable, "-m", "tests.memory.indexing_child", json.dumps(order)]
    with anyio.fail_after(60):
        async with child_process(
            argv, cwd=ROOT, env=inherited_environment(), stdout=PIPE, stderr=sys.stderr.fileno()
        ) as process:
            yield process


async def answers_of(process: Process) -> Any:
    assert process.stdout is not None
    return json.loads(b"".join([chunk async for chunk in process.stdout]))["answers"]


async def until(is_so: Callable[[], bool]) -> None:
    with anyio.fail_after(30):
        while not is_so():  # noqa: ASYNC110 - another process tells nothing
            await anyio.sleep(0.001)


def workers_of(process: Process) -> list[psutil.Process]:
    try:
        return psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


@pytest.mark.requirement("memory:index:killed")
@pytest.mark.parametrize("seed", range(2))
async def test_a_run_that_is_killed_again_and_again_ends_in_the_answers_of_a_fresh_build(
    corpus: Lab, expected: list[dict[str, Any]], tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    lab = with_index(corpus, tmp_path)
    deaths = 0
    for _ in range(3):
        moment, before = chance.randrange(0, 25), records_of(lab.index)
        async with asking(lab) as process:
            await until(
                lambda at=moment, old=before, child=process: (
                    len(records_of(lab.index).items() - old.items()) >= at or child.returncode is not None
                )
            )
            workers = workers_of(process)
            process.kill()
            deaths += await process.wait() != 0
        # They end when they notice, with a group at most.
        await until(lambda left=workers: not any(one.is_running() and is_alive(one) for one in left))

    assert deaths
    assert await everything(lab.memory(), QUERIES) == expected
    assert await everything(lab.memory(), QUERIES) == expected


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.requirement("memory:index:killed")
async def test_what_was_built_before_a_kill_is_not_built_again(corpus: Lab, tmp_path: Path) -> None:
    lab = with_index(corpus, tmp_path)
    async with asking(lab) as process:
        await until(lambda: lab.catalogue().exists() and bool(lab.rows()))
        workers = workers_of(process)
        process.kill()
        await process.wait()
    await until(lambda: not any(one.is_running() and is_alive(one) for one in workers))
    known = {row.record: row.record_stamp.inode for row in lab.rows().values()}
    assert len(known) < SESSIONS

    await where(lab.memory(), "common")

    assert {name: (lab.index / name).stat().st_ino for name in known} == known


@pytest.mark.requirement("memory:index:killed")
@pytest.mark.parametrize("seed", range(2))
async def test_an_answer_is_complete_although_a_worker_was_killed(
    corpus: Lab, expected: list[dict[str, Any]], tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    for attempt in range(5):
        lab = with_index(corpus, tmp_path / str(attempt))
        moment = chance.randrange(0, SESSIONS // (attempt + 2))
        async with asking(lab) as process:
            await until(
                lambda at=moment, one=lab, child=process: (
                    (len(one.records()) >= at and bool(workers_of(child))) or child.returncode is not None
                )
            )
            workers = workers_of(process)
            for worker in workers[:1]:
                worker.kill()
            found = await answers_of(process)
        if workers:
            break
    else:
        pytest.fail("each run was over before a worker could be killed")

    assert found == expected
    assert await everything(lab.memory(), QUERIES) == expected


@pytest.mark.requirement("memory:index:killed-anywhere")
@pytest.mark.parametrize("tier", ["hot", "cold"])
async def test_a_kill_before_any_change_of_a_file_loses_nothing(tmp_path: Path, tier: str) -> None:
    """In one process, where every event of a file can be hit."""
    lab = Lab.at(tmp_path, hot_sessions=9 if tier == "hot" else 0)
    lab.sessions(3)
    await where(lab.memory(), "common")
    lab.session("s001", "common changed word1 word7", minute=1)
    lab.path("s002").unlink()
    expected = await everything(lab.fresh(), QUERIES)
    chance = random.Random(tier)
    deaths = 0
    for dies_at in chance.sample(range(1, 60), 6):
        async with asking(lab, dies_at=dies_at) as process:
            assert process.stdout is not None
            printed = b"".join([chunk async for chunk in process.stdout])
            code = await process.wait()
        deaths += code != 0
        assert printed or code == -9
        assert await everything(lab.memory(), QUERIES) == expected, dies_at
        for path in [*lab.index.glob("*.json")][:2]:
            path.unlink()
    assert deaths > 2


@pytest.mark.requirement("memory:index:two-builders")
async def test_two_processes_that_build_at_once_both_answer_as_one_alone(
    corpus: Lab, expected: list[dict[str, Any]], tmp_path: Path
) -> None:
    lab = with_index(corpus, tmp_path)
    found: list[Any] = []

    async def one() -> None:
        async with asking(lab) as process:
            found.append(await answers_of(process))

    async with anyio.create_task_group() as group:
        group.start_soon(one)
        group.start_soon(one)

    assert found == [expected, expected]
    assert await everything(lab.memory(), QUERIES) == expected
    assert sorted(row.record for row in lab.rows().values()) == lab.records()


POISON = """
import os, signal, sys

def see(event, args):
    if event == "open" and str(args[0]).endswith({name!r}):
        with open({marks!r}, "ab") as marks:
            marks.write(b"x")
            times = marks.tell()
        if times <= {deaths}:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(see)
"""


def poison(folder: Path, name: str, deaths: int, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have workers die when they open a session, so many times; where each opening leaves a byte."""
    folder.mkdir(exist_ok=True)
    marks = folder / "marks"
    text = POISON.format(name=name, marks=str(marks), deaths=deaths)
    (folder / "sitecustomize.py").write_text(text)
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    return marks


@pytest.mark.requirement("memory:index:worker-dies")
async def test_a_session_whose_worker_died_once_is_tried_again(
    corpus: Lab, expected: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = with_index(corpus, tmp_path)
    marks = poison(tmp_path / "site", "s100.jsonl", 1, monkeypatch)

    assert await everything(lab.memory(), QUERIES) == expected

    assert marks.stat().st_size == 2


@pytest.mark.requirement("memory:index:worker-dies")
async def test_a_session_that_is_a_group_of_its_own_is_tried_again_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = Lab.at(tmp_path, hot_sessions=1)
    lab.sessions(3)
    lab.session("large", "common", *["filler " * 100_000] * 8, minute=9)
    marks = poison(tmp_path / "site", "large.jsonl", 1, monkeypatch)

    assert names(await ask(lab.memory(), "common")) == ["large", "s000", "s001", "s002"]

    assert marks.stat().st_size == 2


@pytest.mark.requirement("memory:index:worker-dies")
async def test_a_session_that_ends_two_workers_is_told_and_the_others_are_indexed(
    corpus: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = with_index(corpus, tmp_path)
    marks = poison(tmp_path / "site", "s100.jsonl", 99, monkeypatch)

    answer = await ask(lab.memory(), "common")

    assert marks.stat().st_size == 2
    assert answer["coverage"]["reasons"] == ["index_error"]
    assert (answer["coverage"]["indexedSessions"], answer["coverage"]["staleSessions"]) == (SESSIONS - 1, 1)
    assert names(answer) == [f"s{number:03}" for number in range(SESSIONS) if number != 100]
    monkeypatch.undo()
    assert len(await where(lab.memory(), "common")) == SESSIONS


@contextmanager
def small_files(max_bytes: int) -> Generator[None]:
    """Have no file grow beyond a size, here and in workers: as a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (max_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.requirement("memory:index:no-room")
@pytest.mark.parametrize("max_bytes", [0, 500, 20_000, 40_000])
async def test_an_index_without_room_is_an_error_and_goes_on_when_there_is_room(
    corpus: Lab, expected: list[dict[str, Any]], tmp_path: Path, max_bytes: int
) -> None:
    lab = with_index(corpus, tmp_path)

    for _ in range(2):
        with small_files(max_bytes), pytest.raises(StoreError, match=str(lab.index)):
            await ask(lab.memory(), "common")

    assert [path.name for path in lab.own.glob(".new-*")] == []
    assert await everything(lab.memory(), QUERIES) == expected


@pytest.mark.requirement("memory:index:no-room")
@pytest.mark.parametrize("max_bytes", [0, 300, 1_000])
async def test_a_small_index_without_room_is_an_error_too(tmp_path: Path, max_bytes: int) -> None:
    lab = Lab.at(tmp_path, hot_sessions=1)
    lab.sessions(3)
    with small_files(max_bytes), pytest.raises(StoreError, match=str(lab.index)):
        await ask(lab.memory(), "common")

    assert await where(lab.memory(), "common") == ["s000", "s001", "s002"]
