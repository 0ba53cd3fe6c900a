"""One index and several who ask, while sessions are written."""

import json
import os
import sys
from collections.abc import Callable, Container, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import pytest

from pi_fabric.base.process import PIPE, child_process, inherited_environment
from pi_fabric.memory import Memory
from pi_fabric.memory.catalogue import Row
from pi_fabric.memory.cold import ColdIndex
from pi_fabric.memory.query import Query
from tests.memory.index_lab import Lab, ask, lines, message, names, same_as_fresh, where

ROOT = Path(__file__).resolve().parents[2]
READERS = ("reader-a", "reader-b")

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]


async def play(lab: Lab, role: str, name: str, rounds: int) -> dict[str, Any]:
    """Run one process; what it printed."""
    settings = {"hot_sessions": lab.config.hot_sessions, "index_dir": str(lab.index)}
    order: dict[str, Any] = {
        "root": str(lab.root),
        "settings": settings,
        "role": role,
        "name": name,
        "rounds": rounds,
        "peers": READERS,
    }
    argv = [sys.executable, "-m", "tests.memory.concurrent_child", json.dumps(order)]
    env, errors = inherited_environment(), sys.stderr.fileno()
    async with child_process(argv, cwd=ROOT, env=env, stdout=PIPE, stderr=errors) as process:
        assert process.stdout is not None
        return json.loads(b"".join([chunk async for chunk in process.stdout]))


@pytest.mark.requirement("memory:index:two-questions")
async def test_a_question_during_which_another_one_replaces_its_files_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = Lab.at(tmp_path, hot_sessions=0)
    lab.sessions(4)
    lab.session("b1", "common", cwd="/work/b", minute=9)
    memory = lab.memory()
    await ask(memory, "common")
    search = ColdIndex.search
    asked: list[str | None] = []

    def search_late(cold: ColdIndex, rows: Sequence[Row], query: Query) -> Any:
        asked.append(query.text)
        if len(asked) == 1:
            # From another task, while the first question has what it will look at.
            lab.session("s001", "common other", minute=20)
            anyio.from_thread.run(where, memory, "other")
            cold.keep_only(())
        return search(cold, rows, query)

    monkeypatch.setattr(ColdIndex, "search", search_late)

    assert len(await where(memory, "common")) == 5
    assert asked == ["common", "other", "common"]


@pytest.mark.requirement("memory:index:concurrent")
@pytest.mark.parametrize(
    "rounds",
    [
        60,
        pytest.param(
            600,
            marks=pytest.mark.skipif(
                not os.environ.get("PI_FABRIC_SOAK"), reason="takes over ten seconds; set PI_FABRIC_SOAK=1"
            ),
        ),
    ],
)
async def test_two_that_ask_and_one_that_writes_never_meet_a_wrong_answer(
    tmp_path: Path, rounds: int
) -> None:
    lab = Lab.at(tmp_path, hot_sessions=2)
    lab.sessions(12)
    told: dict[str, dict[str, Any]] = {}

    async def run(role: str, name: str) -> None:
        told[name] = await play(lab, role, name, rounds)

    with anyio.fail_after(240):
        async with anyio.create_task_group() as group:
            for name in READERS:
                group.start_soon(run, "read", name)
            group.start_soon(run, "write", "writer")

    for name in READERS:
        assert told[name]["problems"] == []
        assert told[name]["rounds"] > rounds // 4
        assert told[name]["incomplete"] < told[name]["rounds"]
    memory = lab.memory()
    for number in range(rounds):
        assert len(await where(memory, f"marker{number}")) == 1
    await same_as_fresh(lab, memory)


# A hook can never be taken out again; this one does what a test has asked for and nothing else.
_at_open: dict[str, Callable[[], None]] = {}


def _see(event: str, args: tuple[object, ...]) -> None:
    if event == "open" and _at_open and isinstance(args[0], str) and args[0] in _at_open:
        _at_open[args[0]]()


sys.addaudithook(_see)


@contextmanager
def at_openings(path: Path, which: Container[int], action: Callable[[], None]) -> Generator[None]:
    """Do something before a file is opened, at some of the times."""
    times = 0

    def count() -> None:
        nonlocal times
        times += 1
        if times in which:
            del _at_open[str(path)]
            action()
            _at_open[str(path)] = count

    _at_open[str(path)] = count
    try:
        yield
    finally:
        _at_open.pop(str(path), None)


@pytest.fixture
def read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every session be one that is too large to hold, and so is opened twice to be indexed."""
    monkeypatch.setattr("pi_fabric.memory.source.MAX_HELD_BYTES", 10)


@pytest.mark.usefixtures("read_twice")
@pytest.mark.requirement("memory:index:written-meanwhile")
@pytest.mark.parametrize("hot_sessions", [0, 3])
async def test_a_session_that_is_written_while_it_is_read_is_read_again(
    tmp_path: Path, hot_sessions: int
) -> None:
    lab = Lab.at(tmp_path, hot_sessions=hot_sessions)
    path = lab.sessions(3)[1]

    with at_openings(path, {2}, lambda: append(path, "appended")):
        assert await where(lab.memory(), "appended") == ["s001"]


@pytest.mark.usefixtures("read_twice")
@pytest.mark.requirement("memory:index:written-meanwhile")
async def test_a_session_that_is_written_each_time_is_told_and_found_later(tmp_path: Path) -> None:
    lab = Lab.at(tmp_path, hot_sessions=3)
    path = lab.sessions(3)[1]

    with at_openings(path, range(100), lambda: append(path, "appended")):
        answer = await ask(lab.memory(), "common")

    assert names(answer) == ["s000", "s002"]
    assert answer["coverage"]["reasons"] == ["source_changed_during_index"]
    assert (answer["coverage"]["indexedSessions"], answer["coverage"]["staleSessions"]) == (2, 1)
    assert await where(lab.memory(), "common") == ["s000", "s001", "s002"]


@pytest.mark.usefixtures("read_twice")
@pytest.mark.requirement("memory:index:written-meanwhile")
@pytest.mark.parametrize("opening", [1, 2])
async def test_a_session_that_is_deleted_while_it_is_read_is_told(tmp_path: Path, opening: int) -> None:
    lab = Lab.at(tmp_path, hot_sessions=3)
    path = lab.sessions(3)[1]

    with at_openings(path, {opening}, path.unlink):
        answer = await ask(lab.memory(), "common")

    assert names(answer) == ["s000", "s002"]
    assert answer["coverage"]["reasons"] == ["source_unavailable"]
    assert await where(lab.memory(), "common") == ["s000", "s002"]


@pytest.mark.requirement("memory:index:same-process")
async def test_questions_of_one_process_at_once_are_each_answered_as_alone(tmp_path: Path) -> None:
    lab = Lab.at(tmp_path, hot_sessions=20)
    lab.sessions(200)
    memory = lab.memory()
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for number in range(5):
            lab.session(f"s{number:03}", f"common round{number}", minute=number)
            async with anyio.create_task_group() as group:
                for branches in ("active", "all", "active", "all"):
                    group.start_soon(expect, memory, f"round{number}", [f"s{number:03}"], branches)
                group.start_soon(expect, memory, "word177", ["s177"], "active")
                group.start_soon(memory.status)
    finally:
        sys.setswitchinterval(before)
    await same_as_fresh(lab, memory)


async def expect(memory: Memory, query: str, found: list[str], branches: str) -> None:
    assert await where(memory, query, branches=branches) == found


def append(path: Path, text: str) -> None:
    with path.open("ab") as stream:
        stream.write(lines([message("new", f"{path.stem}-0", text)]))
