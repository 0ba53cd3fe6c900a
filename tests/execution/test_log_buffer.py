import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.jsonvalue import utf16_length
from pi_fabric.execution.log_buffer import LogBuffer


def filled(max_chars: int, lines: list[str]) -> LogBuffer:
    buffer = LogBuffer(max_chars)
    for line in lines:
        buffer.add(line)
    return buffer


def test_lines_within_the_bound_are_kept_as_they_are() -> None:
    assert filled(6, ["abc", "", "def"]).lines == ["abc", "", "def"]


@pytest.mark.requirement("result:logs:cap")
def test_the_line_that_crosses_the_bound_is_cut_and_a_marker_follows() -> None:
    lines = filled(100, ["x" * 30] * 50).lines

    assert lines == [
        "x" * 30,
        "x" * 30,
        "x" * 30,
        "x" * 10,
        "[logs cut at 100 characters; later lines dropped: 46]",
    ]


def test_a_line_with_no_room_at_all_is_dropped() -> None:
    assert filled(3, ["abc", "d"]).lines == ["abc", "[logs cut at 3 characters; later lines dropped: 1]"]


def test_empty_lines_are_bounded_too() -> None:
    assert len(filled(10, [""] * 1_000).lines) == 11


def test_a_cut_never_splits_a_pair() -> None:
    assert filled(2, ["a😀"]).lines == ["a", "[logs cut at 2 characters]"]


@pytest.mark.requirement("result:logs:everything")
def test_what_the_bound_left_out_is_still_there_for_the_file() -> None:
    assert filled(10, ["x" * 30] * 50).everything == ["x" * 30] * 50


@given(st.lists(st.text(max_size=20)), st.integers(1, 60))
def test_kept_lines_never_exceed_the_bound(lines: list[str], max_chars: int) -> None:
    kept = filled(max_chars, lines).lines

    if kept != lines:
        assert sum(utf16_length(line) for line in kept[:-1]) <= max_chars
