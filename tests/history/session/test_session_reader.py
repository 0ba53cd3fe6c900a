import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from session_branches import compacted, entry, said

from pi_fabric.base.errors import LimitReached, StoreError
from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.history.session import Session, context_entries, read_session

HEADER = {"type": "session", "version": 3, "id": "s1", "timestamp": "t", "cwd": "/work"}
SHARED = Path(__file__).parents[4] / "shared" / "sessions"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
TYPES = st.sampled_from(["session", "message", "compaction", "x"])
IDS = st.sampled_from(["a", "b", "c", None])
FIELDS: dict[str, st.SearchStrategy[Json]] = {
    "type": TYPES,
    "id": IDS | JSON,
    "parentId": IDS | JSON,
    "version": JSON,
    "firstKeptEntryIndex": JSON | st.floats(),
    "message": JSON,
}
ENTRIES: st.SearchStrategy[Json] = st.fixed_dictionaries({"type": FIELDS.pop("type")}, optional=FIELDS)
LINES: st.SearchStrategy[Json] = JSON | ENTRIES | st.binary(max_size=9).map(lambda data: data + b"\n")


def write(folder: Path, *lines: Json) -> Path:
    """A session file; bytes are written as they are, everything else as JSON."""
    path = folder / "session.jsonl"
    encoded = [line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines]
    path.write_bytes(b"".join(encoded))
    return path


def ids(entries: list[JsonObject]) -> list[Json]:
    return [entry.get("id") for entry in entries]


def told(session: Session) -> list[tuple[str, int, int]]:
    return [(fault.kind, fault.line, fault.offset) for fault in session.faults.listed]


@pytest.mark.requirement("session:read:header")
def test_the_header_tells_what_the_session_is(tmp_path: Path) -> None:
    session = read_session(write(tmp_path, {**HEADER, "parentSession": "/old.jsonl"}, entry(1, "label")))

    assert session.header is not None
    assert (session.header.id, session.header.version, session.header.timestamp) == ("s1", 3, "t")
    assert (session.header.cwd, session.header.parent_session) == ("/work", "/old.jsonl")
    assert ids(session.entries) == ["e1"]
    assert session.faults.total == 0


@pytest.mark.requirement("session:read:header")
@pytest.mark.parametrize(
    "first", [b'{"type":"sess\n', b'{"type":"session","version":3}\n', b'{"type":"session","id":7}\n', b""]
)
def test_a_session_whose_header_cannot_be_read_keeps_its_entries(tmp_path: Path, first: bytes) -> None:
    session = read_session(write(tmp_path, first, *[said(number, "user", "x") for number in range(1, 201)]))

    assert session.header is None
    assert len(session.branch()) == 200
    assert session.faults.counts["no-header"] == 1


@pytest.mark.requirement("session:read:header")
def test_a_header_further_down_counts_and_a_second_one_does_not(tmp_path: Path) -> None:
    path = write(tmp_path, said(1, "user", "a"), HEADER, {**HEADER, "id": "s2"}, said(2, "user", "b"))

    session = read_session(path)

    assert session.header is not None
    assert session.header.id == "s1"
    assert ids(session.entries) == ["e1", "e2"]
    assert session.faults.counts == {"extra-header": 1}


@pytest.mark.requirement("session:read:raw")
def test_unknown_types_and_fields_stay_as_they_are(tmp_path: Path) -> None:
    known = {**said(1, "user", "a"), "future": {"deep": [1, None]}}
    unknown = entry(2, "hologram", beam=1.5)
    usage = entry(3, "usage", provider="p", usage={"input": 1})
    edit = entry(4, "context_edit", targetId="e1", replacement=None)

    session = read_session(write(tmp_path, HEADER, known, unknown, usage, edit))

    assert session.entries == [known, unknown, usage, edit]
    assert session.branch() == session.entries


@pytest.mark.requirement("session:read:faults")
def test_each_line_that_cannot_be_used_is_told_with_its_place(tmp_path: Path) -> None:
    lines = [HEADER, b"foreign\n", 7, None, said(1, "user", "a"), {"type": "x", "id": "n"}, b'{"type":"']

    path = write(tmp_path, *lines)
    session = read_session(path)

    offset = path.read_bytes().index
    assert ids(session.branch()) == ["e1"]
    assert told(session) == [
        ("foreign", 2, offset(b"foreign")),
        ("not-an-object", 3, offset(b"\n7\n") + 1),
        ("not-an-object", 4, offset(b"null\n")),
        ("unlinked", 6, offset(b'{"type": "x"')),
        ("torn", 7, offset(b'{"type":"')),
    ]
    assert str(session.faults.listed[0]) == f"line 2, byte {offset(b'foreign')}: not JSON, skipped"


@pytest.mark.requirement("session:read:faults")
def test_the_last_record_is_the_last_valid_one_however_many_before_it_are_bad(tmp_path: Path) -> None:
    records = [said(number, "user", "x") for number in range(1, 7_001)]
    path = write(tmp_path, HEADER, *records[:3000], b'{"type":"mess\n', *records[3000:])

    session = read_session(path)

    assert session.tree.leaf_id == "e7000"
    assert len(session.branch()) == 7_000
    assert session.faults.counts == {"foreign": 1}


@pytest.mark.requirement("session:read:faults")
def test_all_faults_are_counted_and_the_first_hundred_listed(tmp_path: Path) -> None:
    session = read_session(write(tmp_path, HEADER, *[b"x\n"] * 150))

    assert session.faults.counts == {"foreign": 150}
    assert [fault.line for fault in session.faults.listed] == list(range(2, 102))


@pytest.mark.requirement("session:tree:faults")
def test_a_duplicate_id_a_missing_parent_and_a_cycle_are_told(tmp_path: Path) -> None:
    lines = [
        {"type": "x", "id": "a", "parentId": "gone"},
        {"type": "x", "id": "b", "parentId": "c"},
        {"type": "x", "id": "c", "parentId": "b"},
        {"type": "x", "id": "d", "parentId": "c"},
        {"type": "x", "id": "a", "parentId": "gone"},
    ]

    session = read_session(write(tmp_path, HEADER, *lines))

    assert session.faults.counts == {"duplicate-id": 1, "missing-parent": 2, "cycle": 1}
    assert [(fault.kind, fault.line) for fault in session.faults.listed] == [
        ("duplicate-id", 6),
        ("missing-parent", 2),
        ("cycle", 3),
        ("missing-parent", 6),
    ]


@pytest.mark.requirement("session:read:formats")
def test_entries_of_format_1_follow_one_another(tmp_path: Path) -> None:
    header = {"type": "session", "id": "s1"}
    kept = {"type": "compaction", "summary": "sum", "firstKeptEntryIndex": 2, "id": "overwritten"}
    path = write(tmp_path, header, {"type": "message", "message": {"role": "user"}}, {"type": "x"}, kept)
    before = path.read_bytes()

    session = read_session(path)

    assert session.header is not None
    assert session.header.version == 1
    assert [(e["id"], e["parentId"]) for e in session.entries] == [
        ("00000001", None),
        ("00000002", "00000001"),
        ("00000003", "00000002"),
    ]
    assert session.entries[2]["firstKeptEntryId"] == "00000002"
    assert "firstKeptEntryIndex" not in session.entries[2]
    assert ids(context_entries(session.branch())) == ["00000003", "00000002"]
    assert path.read_bytes() == before


@pytest.mark.requirement("session:read:formats")
@pytest.mark.parametrize("index", [0, 3, 99, -1, 1.5])
def test_a_kept_index_that_names_no_earlier_entry_names_none(tmp_path: Path, index: float) -> None:
    header = {"type": "session", "id": "s1", "version": 1}
    path = write(tmp_path, header, {"type": "x"}, {"type": "compaction", "firstKeptEntryIndex": index})

    (_, compaction) = read_session(path).entries

    assert "firstKeptEntryId" not in compaction
    assert "firstKeptEntryIndex" not in compaction


@pytest.mark.requirement("session:read:formats")
def test_a_kept_index_counts_what_pi_reads_of_the_file(tmp_path: Path) -> None:
    header = {"type": "session", "id": "s1"}
    compaction = {"type": "compaction", "firstKeptEntryIndex": 2}
    path = write(tmp_path, header, b"bad\n", None, {"type": "a"}, b"\n", 0, {"type": "b"}, compaction)

    session = read_session(path)

    assert [(e["type"], e["id"]) for e in session.entries[:2]] == [("a", "00000001"), ("b", "00000002")]
    assert session.entries[2]["firstKeptEntryId"] == "00000002"


@pytest.mark.requirement("session:read:formats")
@pytest.mark.parametrize(("version", "role"), [(None, "custom"), (2, "custom"), (3, "hookMessage")])
def test_hook_messages_of_older_formats_are_custom_messages(
    tmp_path: Path, version: int | None, role: str
) -> None:
    message = {**said(1, "hookMessage", "x")}
    path = write(tmp_path, {"type": "session", "id": "s1", "version": version}, message)

    (read,) = read_session(path).entries

    assert read["message"]["role"] == role


@pytest.mark.requirement("session:read:formats")
def test_entries_of_format_2_keep_their_ids(tmp_path: Path) -> None:
    path = write(tmp_path, {**HEADER, "version": 2}, said(1, "user", "a"), compacted(2, "e1"))

    assert ids(read_session(path).branch()) == ["e1", "e2"]


@pytest.mark.requirement("session:read:formats")
def test_a_lost_header_does_not_hide_that_entries_are_of_format_1(tmp_path: Path) -> None:
    path = write(tmp_path, b'{"type":"session"\n', {"type": "message"}, {"type": "message"})

    assert len(read_session(path).branch()) == 2


@pytest.mark.requirement("session:read:read-only")
def test_a_torn_file_without_write_permission_is_read_and_left_alone(tmp_path: Path) -> None:
    path = write(tmp_path, HEADER, said(1, "user", "a"), b'{"type":')
    path.chmod(stat.S_IRUSR)
    before = path.stat()

    read_session(path)

    after = path.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)


@pytest.mark.requirement("session:read:bounded")
def test_a_session_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.jsonl"
    with path.open("wb") as stream:
        # A file of holes: larger than any disk here, and nothing of it may be read.
        stream.truncate(37 * 2**30)

    with pytest.raises(LimitReached, match=r"a session file is limited to 1073741824 bytes.*39728447488"):
        read_session(path)


@pytest.mark.requirement("session:read:bounded")
def test_a_file_that_cannot_be_read_is_told_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"none\.jsonl: the session cannot be read: No such file"):
        read_session(tmp_path / "none.jsonl")


@pytest.mark.requirement("session:read:bounded")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(StoreError, match="not a regular file"):
        read_session(tmp_path / "pipe")


@pytest.mark.requirement("session:read:names")
def test_a_file_name_that_tells_another_id_does_not_hide_the_session(tmp_path: Path) -> None:
    path = write(tmp_path, HEADER).rename(tmp_path / "2026-01-01T00-00-00-000Z_019e2501.jsonl")

    session = read_session(path)

    assert session.header is not None
    assert (session.header.id, session.path) == ("s1", path)


@pytest.mark.requirement("session:read:total")
@settings(deadline=None)
@given(lines=st.lists(LINES, max_size=8))
def test_any_lines_can_be_read(lines: list[Json], tmp_path_factory: pytest.TempPathFactory) -> None:
    session = read_session(write(tmp_path_factory.mktemp("session"), *lines))

    assert session.faults.total >= 0
    assert len({id(found) for found in session.branch()}) == len(session.branch())


@pytest.mark.requirement("session:read:pi-files")
@pytest.mark.skipif(not SHARED.exists(), reason="needs the folder of recorded sessions")
def test_sessions_that_pi_wrote_have_no_faults() -> None:
    paths = [*sorted(SHARED.glob("pi/*.jsonl")), *sorted(SHARED.glob("public/pi-*.jsonl"))]

    for path in paths:
        session = read_session(path)
        assert session.header is not None, path
        assert session.faults.total == 0, path
        assert session.branch(), path
    assert paths
