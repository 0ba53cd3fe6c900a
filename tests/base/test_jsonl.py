import io
import json
import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pi_fabric.base.jsonl import append_records, read_records
from pi_fabric.base.jsonvalue import UNDEFINED, Json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)


def values(data: bytes) -> list[Json]:
    return [record.value for record in read_records(io.BytesIO(data)) if record.problem is None]


def problems(data: bytes, *, max_line_bytes: int = 1000) -> list[tuple[int, int, str | None]]:
    records = read_records(io.BytesIO(data), max_line_bytes=max_line_bytes)
    return [(record.line, record.offset, record.problem) for record in records if record.problem]


@pytest.mark.requirement("jsonl:read:line-feeds")
@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\u0085"])
def test_a_line_separator_that_is_no_line_feed_is_text(character: str) -> None:
    assert values(f'{{"x":"a{character}b"}}\n'.encode()) == [{"x": f"a{character}b"}]


@pytest.mark.requirement("jsonl:read:line-feeds")
@pytest.mark.parametrize("character", ["\v", "\f", "\x1c", "\x1d", "\x1e", "\r"])
def test_a_control_character_cuts_no_line_in_two(character: str) -> None:
    # JSON forbids it within a text, as Pi does, so that the line is foreign; but it is one line.
    assert problems(f'{{"x":"a{character}b"}}\n2\n'.encode()) == [(1, 0, "foreign")]


@pytest.mark.requirement("jsonl:read:line-feeds")
def test_a_carriage_return_a_byte_order_mark_and_blank_lines_are_dropped() -> None:
    data = b'\xef\xbb\xbf{"a":1}\r\n\r\n  \n{"b":2}\r\n'

    assert values(data) == [{"a": 1}, {"b": 2}]


@pytest.mark.requirement("jsonl:read:places")
def test_each_record_tells_its_line_and_its_first_byte() -> None:
    data = '{"ü":1}\n\n[2]\r\n3'.encode()

    records = list(read_records(io.BytesIO(data)))

    assert [(r.line, r.offset, r.size, r.is_ended) for r in records] == [
        (1, 0, 8, True),
        (3, 10, 4, True),
        (4, 15, 1, False),
    ]
    assert [data[r.offset : r.offset + r.size].strip() for r in records] == ['{"ü":1}'.encode(), b"[2]", b"3"]


@pytest.mark.requirement("jsonl:read:places")
def test_reading_can_begin_at_any_line() -> None:
    records = list(read_records(io.BytesIO(b"1\n2\n"), offset=70, line=8))

    assert [(r.line, r.offset, r.value) for r in records] == [(8, 70, 1), (9, 72, 2)]


@pytest.mark.requirement("jsonl:read:problems")
def test_what_is_no_json_is_told_and_everything_after_it_is_read() -> None:
    stub = b'{"type":"pr-link","prNu{"parentUuid":"a"}\n'
    data = b"1\n" + stub + b"2\n" * 3

    assert problems(data) == [(2, 2, "foreign")]
    assert values(data) == [1, 2, 2, 2]


@pytest.mark.requirement("jsonl:read:problems")
def test_a_last_line_that_was_cut_off_is_torn() -> None:
    assert problems(b'1\n{"a":') == [(2, 2, "torn")]


@pytest.mark.requirement("jsonl:read:problems")
def test_a_last_line_that_lacks_only_its_line_feed_is_read() -> None:
    assert values(b'1\n{"a":2}') == [1, {"a": 2}]


@pytest.mark.requirement("jsonl:read:problems")
def test_nesting_beyond_what_can_be_decoded_is_foreign() -> None:
    assert problems(b"[" * 900_000 + b"\n1\n", max_line_bytes=1_000_000) == [(1, 0, "foreign")]


@pytest.mark.requirement("jsonl:read:lenient")
@pytest.mark.parametrize(
    ("line", "value"),
    [
        (b'{"a":"\\ud800"}', {"a": "\ufffd"}),
        (b'{"a":"\xff"}', {"a": "\ufffd"}),
        (b'{"a":1e999}', {"a": float("inf")}),
        (b"null", None),
    ],
)
def test_what_only_a_strict_decoder_refuses_is_read(line: bytes, value: Json) -> None:
    assert values(line + b"\n") == [value]


@pytest.mark.requirement("jsonl:read:bounded")
@pytest.mark.parametrize("excess", [0, 1])
def test_a_line_beyond_the_bound_is_skipped_and_told(excess: int) -> None:
    line = b'"' + b"x" * (8 + excess) + b'"'

    assert problems(b"1\n" + line + b"\n2\n", max_line_bytes=10) == [(2, 2, "too-long")] * excess


class Endless(io.RawIOBase):
    """A line that never ends, until so many bytes of it are read."""

    def __init__(self, size_bytes: int) -> None:
        self.left_bytes = size_bytes
        self.largest_read = 0

    def read(self, size: int = -1, /) -> bytes:
        self.largest_read = max(self.largest_read, size)
        given_bytes = min(size, self.left_bytes)
        self.left_bytes -= given_bytes
        return b"x" * given_bytes


@pytest.mark.requirement("jsonl:read:bounded")
def test_a_line_beyond_the_bound_is_never_held_in_memory() -> None:
    stream = Endless(300_000_000)

    (record,) = read_records(stream, max_line_bytes=1000)  # pyright: ignore[reportArgumentType] - reads alike

    assert (record.problem, record.size, record.value) == ("too-long", 300_000_000, UNDEFINED)
    assert 0 < stream.largest_read <= 2**20


@pytest.mark.requirement("jsonl:read:total")
@given(records=st.lists(JSON, max_size=6), data=st.data())
def test_a_file_cut_at_any_byte_loses_at_most_its_last_record(
    records: list[Json], data: st.DataObject
) -> None:
    whole = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    end = data.draw(st.integers(0, len(whole)))

    read = values(whole[:end])

    complete = whole[:end].count(b"\n")
    assert read[:complete] == records[:complete]
    # A cut number is still a number.
    assert len(read) <= complete + 1


@pytest.mark.requirement("jsonl:read:total")
@given(data=st.binary(max_size=200))
@example(data=b"\n\r\n\xef\xbb\xbf")
def test_any_bytes_can_be_read_and_every_record_has_its_place(data: bytes) -> None:
    for record in read_records(io.BytesIO(data)):
        assert data[: record.offset].count(b"\n") == record.line - 1
        assert b"\n" not in data[record.offset : record.offset + record.size]


@pytest.mark.requirement("jsonl:append:lines")
@given(before=st.lists(JSON, max_size=3), after=st.lists(JSON, max_size=3))
def test_what_is_appended_is_read_back(
    before: list[Json], after: list[Json], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("log") / "log.jsonl"

    append_records(path, before)
    append_records(path, after, is_durable=True)

    assert values(path.read_bytes() if path.exists() else b"") == before + after


@pytest.mark.requirement("jsonl:append:repair")
@pytest.mark.parametrize("stub", [b'{"type":"mess', b'{"whole":true}'])
def test_a_missing_final_newline_is_repaired_before_the_first_new_record(tmp_path: Path, stub: bytes) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"1\n" + stub)

    append_records(path, [2, 3])

    assert path.read_bytes() == b"1\n" + stub + b"\n2\n3\n"


@pytest.mark.requirement("jsonl:append:repair")
def test_a_file_that_ends_in_a_newline_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"1\n")

    append_records(path, [])
    append_records(path, [2])

    assert path.read_bytes() == b"1\n2\n"


@pytest.mark.requirement("jsonl:append:lines")
def test_a_lone_surrogate_is_stored_as_valid_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"

    append_records(path, [{"text": "🏷"[:1] + "\ud83c"}])

    assert json.loads(path.read_bytes().decode("utf-8", "strict")) == {"text": "🏷\ufffd"}


@pytest.mark.requirement("jsonl:append:lines")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_told() -> None:
    with pytest.raises(OSError, match=os.strerror(28)):
        append_records(Path("/dev/full"), [1])
