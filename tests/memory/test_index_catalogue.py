"""The list of what is known, and the groups of cold sessions that it names."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.memory.cache import Cache
from pi_fabric.memory.catalogue import Catalogue, Head, Row
from pi_fabric.memory.stamp import Stamp
from tests.memory.index_lab import (
    QUERIES,
    Lab,
    ask,
    both_processes,
    everything,
    records_of,
    same_as_fresh,
    where,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """Six sessions, of which two are hot."""
    lab = Lab.at(tmp_path, hot_sessions=2)
    lab.sessions(6)
    return lab


# The catalogue


@pytest.mark.requirement("memory:index:catalogue")
@both_processes
@pytest.mark.parametrize(
    "line",
    [b"", b"{", b"[]", b"null", b'{"row":[]}', b'{"row":["x","hot"]}', b"\xff\xfe\x00", b'{"row":{}}', b"{}"],
)
async def test_damaged_lines_of_the_catalogue_cost_only_their_sessions(
    lab: Lab, line: bytes, *, same_process: bool
) -> None:
    memory = lab.memory()
    before = await everything(memory, QUERIES)
    # One line for each session.
    lab.settle()
    records = records_of(lab.index)
    told = lab.catalogue().read_bytes().splitlines()
    assert len(told) == len(lab.rows())
    told[1] = line
    fresh = lab.own / "fresh"
    fresh.write_bytes(b"\n".join(told) + b"\n")
    fresh.replace(lab.catalogue())

    memory = memory if same_process else lab.memory()

    assert await everything(memory, QUERIES) == before
    now = records_of(lab.index)
    assert sum(records[name] != now[name] for name in records) == 1


@pytest.mark.requirement("memory:index:catalogue")
async def test_a_catalogue_torn_at_any_byte_gives_the_same_answers(tmp_path: Path) -> None:
    lab = Lab.at(tmp_path, hot_sessions=1)
    lab.sessions(3)
    before = await everything(lab.memory(), QUERIES)
    data = lab.catalogue().read_bytes()
    ends = [at for at, byte in enumerate(data) if byte == ord("\n")]
    chance = random.Random(5)
    cuts = {0, len(data), *(end + by for end in ends for by in (-1, 0, 1))}
    cuts.update(chance.randrange(len(data)) for _ in range(40))
    memory = lab.memory()

    for at in sorted(cuts):
        lab.catalogue().write_bytes(data[:at])
        assert await everything(memory if at % 2 else lab.memory(), QUERIES) == before, at
        assert len(lab.rows()) == 3


@pytest.mark.requirement("memory:index:catalogue")
@given(
    changes=st.lists(st.tuples(st.sampled_from("abc"), st.one_of(st.none(), st.integers(0, 9))), max_size=12),
    cut_share=st.floats(0, 1),
    later=st.sampled_from("abcd"),
    is_known=st.booleans(),
)
def test_every_line_that_is_whole_counts_and_what_is_written_next_is_whole(
    tmp_path_factory: pytest.TempPathFactory,
    changes: list[tuple[str, int | None]],
    cut_share: float,
    later: str,
    *,
    is_known: bool,
) -> None:
    cache = Cache(tmp_path_factory.mktemp("index"))
    cache.prepare()
    writer = Catalogue(cache, "active")
    for file, count in changes:
        if count is None:
            writer.update([], [file])
        else:
            writer.update([row_of(file, count)])
    path = cache.catalogue("active")
    data = path.read_bytes() if changes else b""
    cut_data = data[: round(cut_share * len(data))]
    path.write_bytes(cut_data)
    reader = writer if is_known else Catalogue(cache, "active")

    reader.update([row_of(later, 99)])

    # A line that lacks only its line feed is whole; the first one is the list's own.
    whole = sum(end <= len(cut_data) for end, byte in enumerate(data) if byte == ord("\n"))
    expected: dict[str, int] = {}
    for file, count in [*changes[: max(0, whole - 1)], (later, 99)]:
        if count is None:
            expected.pop(file, None)
        else:
            expected[file] = count
    last = Catalogue(cache, "active")
    last.load()
    assert {file: row.entry_count for file, row in last.rows.items()} == expected
    assert {file: row.entry_count for file, row in reader.rows.items()} == expected


@pytest.mark.requirement("memory:index:catalogue")
def test_another_list_in_the_same_place_is_read_from_its_beginning(tmp_path: Path) -> None:
    one, other = Cache(tmp_path / "one"), Cache(tmp_path / "other")
    for cache, names in ((one, "ab"), (other, "cdef")):
        cache.prepare()
        Catalogue(cache, "active").update([row_of(name, 1) for name in names])
    reader = Catalogue(one, "active")
    reader.load()
    path = one.catalogue("active")
    inode = path.stat().st_ino

    # As where a file system gives the new list the number of a removed one.
    path.write_bytes(other.catalogue("active").read_bytes())
    reader.load()

    assert path.stat().st_ino == inode
    assert set(reader.rows) == set("cdef")


def row_of(file: str, entry_count: int) -> Row:
    """A row that says little."""
    stamp = Stamp(1, 2, 3, 4, 5)
    return Row(
        file=file,
        kind="pi",
        tier="hot",
        stamp=stamp,
        read_began_ns=6,
        source_hash="",
        lineage="",
        file_lineage="",
        policy="",
        record="",
        record_stamp=stamp,
        session_id="",
        cwd="",
        head=Head(None, ""),
        entry_count=entry_count,
        last_ts=None,
        reasons=[],
        skipped_lines=0,
        is_fold_complete=True,
        group="",
        slot=0,
        shown=[],
    )


# Groups of cold sessions


@pytest.mark.requirement("memory:index:merged")
async def test_small_groups_are_brought_together_and_answers_stay_the_same(tmp_path: Path) -> None:
    lab = Lab.at(tmp_path, hot_sessions=0)
    lab.sessions(24)
    memory = lab.memory(max_sync_sessions=1)
    other = lab.memory(max_sync_sessions=1)
    for _ in range(24):
        await ask(memory, "common")

    assert len({row.group for row in lab.rows().values()}) <= 16
    for one in (memory, other, lab.memory()):
        await same_as_fresh(lab, one, fold=True)
        assert await where(one, "word7") == ["s007"]


@pytest.mark.requirement("memory:index:merged")
async def test_groups_that_cannot_be_brought_together_are_built_anew(tmp_path: Path) -> None:
    lab = Lab.at(tmp_path, hot_sessions=0)
    lab.sessions(17)
    memory = lab.memory(max_sync_sessions=1)
    for _ in range(16):
        await ask(memory, "common")
    for path in lab.own.glob("*.words"):
        path.unlink()

    await same_as_fresh(lab, lab.memory())
    await same_as_fresh(lab, lab.memory())
