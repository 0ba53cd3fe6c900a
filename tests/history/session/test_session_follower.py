import json
from pathlib import Path

import pytest
from session_branches import said

from pi_fabric.base.errors import LimitReached, StoreError
from pi_fabric.base.jsonl import append_records
from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.history.session import Growth, SessionFollower, read_session

HEADER = {"type": "session", "version": 3, "id": "s1", "timestamp": "t", "cwd": "/work"}


def ids(entries: list[JsonObject]) -> list[str]:
    return [entry["id"] for entry in entries]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


@pytest.mark.requirement("session:follow:growth")
def test_each_look_brings_what_was_appended_since_the_last(path: Path) -> None:
    append_records(path, [HEADER, said(1, "user", "a")])
    follower = SessionFollower(path)

    first = follower.catch_up()
    append_records(path, [said(2, "assistant", "b"), said(3, "user", "c")])
    second = follower.catch_up()
    third = follower.catch_up()

    assert (first, second, third) == (
        Growth(first_new=0, is_anew=False),
        Growth(first_new=1, is_anew=False),
        Growth(first_new=3, is_anew=False),
    )
    assert ids(follower.session.branch()) == ["e1", "e2", "e3"]


@pytest.mark.requirement("session:follow:growth")
def test_what_was_read_is_not_read_again(path: Path) -> None:
    append_records(path, [HEADER, said(1, "user", "a")])
    follower = SessionFollower(path)
    follower.catch_up()
    session, entry = follower.session, follower.session.entries[0]

    append_records(path, [said(2, "user", "b")])
    follower.catch_up()

    assert follower.session is session
    assert session.entries[0] is entry


@pytest.mark.requirement("session:follow:growth")
def test_a_file_that_is_not_there_yet_is_empty(path: Path) -> None:
    follower = SessionFollower(path)

    before = follower.catch_up()
    append_records(path, [HEADER, said(1, "user", "a")])
    after = follower.catch_up()

    assert before == after == Growth(first_new=0, is_anew=False)
    assert ids(follower.session.entries) == ["e1"]


@pytest.mark.requirement("session:follow:torn")
def test_a_line_in_the_making_is_taken_in_when_it_is_done(path: Path) -> None:
    line = json.dumps(said(2, "user", "b" * 2000)).encode() + b"\n"
    append_records(path, [HEADER, said(1, "user", "a")])
    follower = SessionFollower(path)
    follower.catch_up()
    seen: list[int] = []

    for part in (line[:10], line[10:-1], line[-1:]):
        with path.open("ab") as stream:
            stream.write(part)
        follower.catch_up()
        seen.append(len(follower.session.entries))

    assert seen == [1, 1, 2]
    assert follower.session.faults.total == 0


@pytest.mark.requirement("session:follow:torn")
def test_a_line_that_stays_half_done_is_a_fault_with_its_place(path: Path) -> None:
    append_records(path, [HEADER])
    start = path.stat().st_size
    path.write_bytes(path.read_bytes() + b'{"type":')
    follower = SessionFollower(path)
    follower.catch_up()

    append_records(path, [said(1, "user", "a")])
    follower.catch_up()

    (fault,) = follower.session.faults.listed
    assert (fault.kind, fault.line, fault.offset) == ("foreign", 2, start)
    assert follower.session.faults == read_session(path).faults
    assert ids(follower.session.entries) == ["e1"]


def replaced(path: Path) -> None:
    other = path.with_name("other")
    append_records(other, [{**HEADER, "id": "s2"}, said(7, "user", "x" * 5000)])
    other.replace(path)


def truncated(path: Path) -> None:
    path.write_bytes(b"")
    append_records(path, [{**HEADER, "id": "s2"}, said(7, "user", "x")])


def rewritten(path: Path) -> None:
    # In place and longer, as Pi does when it brings a file to the current format.
    path.write_bytes(b"")
    append_records(path, [{**HEADER, "id": "s2"}, said(7, "user", "x" * 5000)])


@pytest.mark.requirement("session:follow:replaced")
@pytest.mark.parametrize("change", [replaced, truncated, rewritten])
def test_a_file_that_is_not_the_same_any_more_is_read_from_its_start(path: Path, change: object) -> None:
    assert callable(change)
    append_records(path, [HEADER, said(1, "user", "a" * 1000), said(2, "user", "b")])
    follower = SessionFollower(path)
    follower.catch_up()

    change(path)
    growth = follower.catch_up()

    assert growth == Growth(first_new=0, is_anew=True)
    assert follower.session.header is not None
    assert follower.session.header.id == "s2"
    assert ids(follower.session.entries) == ["e7"]
    assert follower.catch_up() == Growth(first_new=1, is_anew=False)


@pytest.mark.requirement("session:follow:replaced")
def test_a_file_that_was_removed_is_empty_and_may_come_back(path: Path) -> None:
    append_records(path, [HEADER, said(1, "user", "a")])
    follower = SessionFollower(path)
    follower.catch_up()

    path.unlink()
    gone = follower.catch_up()
    entries_then = list(follower.session.entries)
    append_records(path, [HEADER, said(1, "user", "a")])
    back = follower.catch_up()

    assert (gone, entries_then) == (Growth(first_new=0, is_anew=True), [])
    assert back == Growth(first_new=0, is_anew=False)
    assert ids(follower.session.entries) == ["e1"]


@pytest.mark.requirement("session:follow:replaced")
@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file whose reading fails")
def test_after_reading_failed_half_way_the_file_is_read_from_its_start(path: Path, tmp_path: Path) -> None:
    real = tmp_path / "real.jsonl"
    append_records(real, [HEADER, said(1, "user", "a")])
    path.symlink_to(real)
    follower = SessionFollower(path)
    follower.catch_up()

    path.unlink()
    path.symlink_to("/proc/self/mem")
    with pytest.raises(StoreError, match="cannot be followed: Input/output error"):
        follower.catch_up()
    path.unlink()
    path.symlink_to(real)
    growth = follower.catch_up()

    assert growth == Growth(first_new=0, is_anew=True)
    assert ids(follower.session.entries) == ["e1"]


@pytest.mark.requirement("session:follow:same")
def test_a_session_followed_line_by_line_equals_the_one_read_at_once(path: Path) -> None:
    lines: list[JsonObject] = [{"type": "session", "id": "s1"}]
    lines += [{"type": "message", "message": {"role": "hookMessage", "content": "x"}} for _ in range(5)]
    lines.append({"type": "compaction", "summary": "s", "firstKeptEntryIndex": 3})
    follower = SessionFollower(path)

    for line in lines:
        append_records(path, [line])
        follower.catch_up()

    whole = read_session(path)
    assert follower.session.entries == whole.entries
    assert follower.session.header == whole.header
    assert follower.session.faults == whole.faults


@pytest.mark.requirement("session:follow:bounded")
def test_a_session_that_grows_beyond_the_bound_is_told(path: Path) -> None:
    append_records(path, [HEADER])
    follower = SessionFollower(path, max_bytes=200)
    follower.catch_up()

    append_records(path, [said(1, "user", "x" * 200)])

    with pytest.raises(LimitReached, match="limited to 200 bytes"):
        follower.catch_up()
