"""When a session counts as unchanged without being read, and when it is read although it looks unchanged."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from pi_fabric.memory import Memory
from pi_fabric.memory.stamp import Stamp
from tests.memory.index_lab import MS, Lab, S, ask, lines, message, set_minute, where

pytestmark = pytest.mark.anyio

# A hook can never be taken out again; this one sees only paths that a test has named.
_opened: dict[str, int] = {}


def _count(event: str, args: tuple[object, ...]) -> None:
    if event == "open" and _opened and isinstance(args[0], str) and args[0] in _opened:
        _opened[args[0]] += 1


sys.addaudithook(_count)


@contextmanager
def counted(*paths: Path) -> Generator[dict[str, int]]:
    """Count how often files are opened, by their names without the ending."""
    _opened.update((str(path), 0) for path in paths)
    counts: dict[str, int] = {}
    try:
        yield counts
    finally:
        counts.update((path.stem, _opened.pop(str(path))) for path in paths)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab.at(tmp_path, hot_sessions=1)


async def indexed(lab: Lab, text: str = "alpha") -> Path:
    """A session that was indexed a minute after it was written."""
    path = lab.session("one", text, minute=0)
    assert await where(lab.memory(), text) == ["one"]
    lab.settle()
    return path


def rewrite(path: Path, old: str, new: str) -> None:
    """Change a file within itself, and its time of writing back."""
    before = path.stat()
    assert len(old) == len(new)
    data = path.read_bytes().replace(old.encode(), new.encode())
    with path.open("r+b") as stream:
        stream.write(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.requirement("memory:stale:untouched")
@pytest.mark.parametrize("hot_sessions", [0, 3])
async def test_unchanged_sessions_are_not_opened_again(tmp_path: Path, hot_sessions: int) -> None:
    lab = Lab.at(tmp_path, hot_sessions=hot_sessions)
    paths = lab.sessions(3)
    memory = lab.memory()
    with counted(*paths) as first:
        await where(memory, "common")
    lab.settle()

    with counted(*paths) as same_process:
        assert await where(memory, "common") == ["s000", "s001", "s002"]
    with counted(*paths) as other_process:
        assert await where(lab.memory(), "common") == ["s000", "s001", "s002"]

    assert min(first.values()) > 0
    assert same_process == other_process == dict.fromkeys(first, 0)


@pytest.mark.requirement("memory:stale:only-changed")
async def test_only_the_session_that_changed_is_opened(tmp_path: Path) -> None:
    lab = Lab.at(tmp_path, hot_sessions=1)
    paths = lab.sessions(3)
    memory = lab.memory()
    await where(memory, "common")
    lab.settle()
    with paths[1].open("ab") as stream:
        stream.write(lines([message("new", "s001-0", "appended")]))
    set_minute(paths[1], 1)

    with counted(*paths) as counts:
        assert await where(memory, "appended") == ["s001"]

    assert counts["s001"] > 0
    assert (counts["s000"], counts["s002"]) == (0, 0)


@pytest.mark.requirement("memory:stale:restored-mtime")
@pytest.mark.parametrize("same_process", [True, False])
async def test_a_rewrite_of_the_same_size_with_its_time_put_back_is_found(
    lab: Lab, same_process: bool
) -> None:
    path = await indexed(lab)
    memory = lab.memory()
    await where(memory, "alpha")
    before = path.stat()

    rewrite(path, "alpha", "gamma")

    after = path.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (
        before.st_size, before.st_mtime_ns, before.st_ino,
    )  # fmt: skip
    memory = memory if same_process else lab.memory()
    assert await where(memory, "alpha") == []
    assert await where(memory, "gamma") == ["one"]


@pytest.mark.requirement("memory:stale:replaced")
async def test_a_file_put_in_the_place_of_another_is_found(lab: Lab) -> None:
    path = await indexed(lab)
    before = path.stat()
    fresh = path.with_name("fresh.tmp")
    fresh.write_bytes(path.read_bytes().replace(b"alpha", b"gamma"))
    os.utime(fresh, ns=(before.st_atime_ns, before.st_mtime_ns))

    fresh.replace(path)

    assert path.stat().st_size == before.st_size
    assert path.stat().st_ino != before.st_ino
    memory = lab.memory()
    assert await where(memory, "alpha") == []
    assert await where(memory, "gamma") == ["one"]


@pytest.mark.requirement("memory:stale:replaced")
async def test_only_the_inode_tells_a_replaced_file(lab: Lab) -> None:
    path = await indexed(lab)
    fresh = path.with_name("fresh.tmp")
    fresh.write_bytes(path.read_bytes().replace(b"alpha", b"gamma"))
    set_minute(fresh, 0)
    fresh.replace(path)
    now = path.stat()
    row = lab.rows()["one"]
    # As if both had been changed in the same instant.
    row.stamp = Stamp(row.stamp.device, row.stamp.inode, now.st_size, now.st_mtime_ns, now.st_ctime_ns)
    row.read_began_ns = now.st_ctime_ns + 60 * S
    lab.put_rows([row])

    assert await where(lab.memory(), "gamma") == ["one"]


@pytest.mark.requirement("memory:stale:each-part")
@pytest.mark.parametrize("part", ["device", "inode", "size", "mtime_ns", "ctime_ns"])
async def test_each_part_of_the_status_alone_makes_a_session_stale(lab: Lab, part: str) -> None:
    path = await indexed(lab)
    row = lab.rows()["one"]
    told = {name: getattr(row.stamp, name) for name in row.stamp.__struct_fields__}
    told[part] += 1 if part != "ctime_ns" else -1
    row.stamp = Stamp(**told)
    lab.put_rows([row])

    with counted(path) as counts:
        assert await where(lab.memory(), "alpha") == ["one"]

    assert counts["one"] > 0
    assert lab.rows()["one"].stamp != row.stamp


@pytest.mark.requirement("memory:stale:hard-link")
async def test_hard_links_that_are_swapped_are_found(lab: Lab) -> None:
    one = lab.session("one", "alpha", minute=0)
    two = lab.session("two", "gamma", minute=0)
    assert await where(lab.memory(), "alpha") == ["one"]
    lab.settle()
    spare = one.with_name("spare.tmp")
    os.link(one, spare)
    two.replace(one)
    spare.replace(two)

    memory = lab.memory()

    assert await where(memory, "alpha") == ["two"]
    assert await where(memory, "gamma") == ["one"]


@pytest.mark.requirement("memory:stale:touched")
async def test_a_session_that_was_only_touched_is_found_as_before(lab: Lab) -> None:
    path = await indexed(lab)
    before = await ask(lab.memory(), "alpha")
    set_minute(path, 5)

    after = await ask(lab.memory(), "alpha")

    assert after["coverage"] == before["coverage"]
    assert after["segments"][0]["sourceHash"] == before["segments"][0]["sourceHash"]
    assert after["segments"][0]["sessionMtime"] == before["segments"][0]["sessionMtime"] + 5 * 60_000


@pytest.mark.requirement("memory:stale:racy")
async def test_a_session_read_within_the_clocks_grain_of_its_change_is_hashed_once_more(lab: Lab) -> None:
    path = await indexed(lab)
    lab.settle(after_ns=20 * MS)
    memory = lab.memory()

    with counted(path) as doubted:
        await where(memory, "alpha")
    lab.settle()
    with counted(path) as trusted:
        await where(memory, "alpha")

    assert doubted["one"] > 0
    assert trusted["one"] == 0


@pytest.mark.requirement("memory:stale:racy")
async def test_a_change_that_leaves_the_same_status_within_the_clocks_grain_is_found(lab: Lab) -> None:
    path = await indexed(lab)
    rewrite(path, "alpha", "gamma")
    now = path.stat()
    row = lab.rows()["one"]
    # What the record says was read in the same tick in which the file was written once more.
    row.stamp = Stamp(now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns)
    row.read_began_ns = now.st_ctime_ns
    lab.put_rows([row])

    memory = lab.memory()

    assert await where(memory, "alpha") == []
    assert await where(memory, "gamma") == ["one"]


@pytest.mark.requirement("memory:stale:racy")
async def test_once_hashed_later_a_session_is_trusted_from_then_on(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = await indexed(lab)
    lab.settle(after_ns=0)
    shift_clock(monkeypatch, 3600 * S)
    with counted(path) as first:
        await where(lab.memory(), "alpha")
    with counted(path) as second:
        await where(lab.memory(), "alpha")

    assert first["one"] == 1
    assert second["one"] == 0


@pytest.mark.requirement("memory:stale:future")
async def test_a_session_changed_in_the_future_is_hashed_each_time(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    shift_clock(monkeypatch, -3600 * S)
    path = lab.session("one", "alpha", minute=0)
    await where(lab.memory(), "alpha")
    size = lab.catalogue().stat().st_size

    for _ in range(3):
        with counted(path) as counts:
            assert await where(lab.memory(), "alpha") == ["one"]
        assert counts["one"] == 1

    assert lab.catalogue().stat().st_size == size, "what can never be trusted is not recorded again"


@pytest.mark.requirement("memory:stale:coarse")
@pytest.mark.parametrize(
    ("ctime_ns", "later_ns", "is_settled"),
    [
        (7 * S + 1, 0, False),
        (7 * S + 1, 50 * MS, False),
        (7 * S + 1, 50 * MS + 1, True),
        (7 * S + 1, -1, False),
        # Whole seconds: kept by a file system of seconds, or of two.
        (8 * S, 50 * MS + 1, False),
        (8 * S, 2_500 * MS, False),
        (8 * S, 2_500 * MS + 1, True),
        (8 * S, -3600 * S, False),
        (0, S, False),
    ],
)
def test_how_much_later_a_reading_must_begin_depends_on_the_grain_of_the_clock(
    ctime_ns: int, later_ns: int, is_settled: bool
) -> None:
    stamp = Stamp(1, 2, 3, 4, ctime_ns)

    assert stamp.was_settled(ctime_ns + later_ns) is is_settled


@pytest.mark.requirement("memory:stale:untrusted")
@pytest.mark.parametrize("system", ["nfs4", "fuse", "cifs", "vfat", "9p", "virtiofs"])
async def test_where_the_change_time_is_not_trusted_every_session_is_hashed(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    path = await indexed(lab)
    lie_about_systems(monkeypatch, system)

    with counted(path) as counts:
        assert await where(lab.memory(), "alpha") == ["one"]
    assert counts["one"] == 1

    rewrite(path, "alpha", "gamma")
    forge_unchanged(lab, path)
    assert await where(lab.memory(), "gamma") == ["one"]


@pytest.mark.requirement("memory:stale:untrusted")
@pytest.mark.parametrize("system", ["ext4", "xfs", "btrfs", "apfs", "tmpfs", "overlay", ""])
async def test_where_the_change_time_is_trusted_nothing_is_hashed(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    path = await indexed(lab)
    lie_about_systems(monkeypatch, system)

    with counted(path) as counts:
        await where(lab.memory(), "alpha")

    assert counts["one"] == 0


@pytest.mark.requirement("memory:stale:untrusted")
async def test_windows_keeps_no_change_times(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    path = await indexed(lab)
    monkeypatch.setattr("pi_fabric.memory.stamp.sys", SimpleNamespace(platform="win32"))

    with counted(path) as counts:
        await where(lab.memory(), "alpha")

    assert counts["one"] == 1


@pytest.mark.requirement("memory:stale:verify")
@pytest.mark.parametrize(("verify", "opens"), [("stat", 0), ("hash", 1)])
async def test_the_setting_says_whether_status_or_bytes_decide(lab: Lab, verify: str, opens: int) -> None:
    path = await indexed(lab)

    with counted(path) as counts:
        assert await where(lab.memory(verify=verify), "alpha") == ["one"]

    assert counts["one"] == opens


@pytest.mark.requirement("memory:stale:verify")
@pytest.mark.parametrize(("verify", "found"), [("stat", []), ("hash", ["one"])])
async def test_bytes_decide_where_the_status_is_a_lie(lab: Lab, verify: str, found: list[str]) -> None:
    path = await indexed(lab)
    rewrite(path, "alpha", "gamma")
    forge_unchanged(lab, path)

    assert await where(lab.memory(verify=verify), "gamma") == found


@pytest.mark.requirement("memory:stale:verify")
async def test_hashing_each_time_writes_nothing_when_nothing_changed(lab: Lab) -> None:
    await indexed(lab)
    before = lab.catalogue().read_bytes()
    memory: Memory = lab.memory(verify="hash")

    for _ in range(3):
        await where(memory, "alpha")

    assert lab.catalogue().read_bytes() == before


def shift_clock(monkeypatch: pytest.MonkeyPatch, by_ns: int) -> None:
    """Have readings begin at another time than it is."""
    import time  # noqa: PLC0415 - the real one, before it is replaced

    now = time.time_ns
    monkeypatch.setattr("pi_fabric.memory.source.time", SimpleNamespace(time_ns=lambda: now() + by_ns))


def lie_about_systems(monkeypatch: pytest.MonkeyPatch, system: str) -> None:
    """Have every file lie on a file system of this type."""

    def said(path: str) -> str:
        assert path
        return system

    monkeypatch.setattr("pi_fabric.memory.stamp._system_of", said)
    monkeypatch.setattr("pi_fabric.memory.stamp._systems", dict[int, str]())


def forge_unchanged(lab: Lab, path: Path) -> None:
    """Have the record say that the file had today's status long before it was read."""
    now = path.stat()
    row = lab.rows()[path.stem]
    row.stamp = Stamp(now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns)
    row.read_began_ns = now.st_ctime_ns + 60 * S
    lab.put_rows([row])
