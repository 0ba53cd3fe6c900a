"""Pi's lines end at LF, whatever else is in them and however the bytes arrive."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.errors import LimitReached
from pi_fabric.certify.resume.frames import FrameSplitter

texts = st.text(st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("\u2028\u2029\x85\r\v")))


def split(data: bytes, cuts: list[int]) -> list[bytes]:
    splitter, frames, start = FrameSplitter(), list[bytes](), 0
    for cut in [*sorted(cut % (len(data) + 1) for cut in cuts), len(data)]:
        frames += splitter.feed(data[start:cut])
        start = cut
    assert splitter.pending_bytes == 0
    return frames


@pytest.mark.requirement("certify:resume:framing")
@given(
    values=st.lists(texts), ends=st.lists(st.sampled_from([b"\n", b"\r\n"])), cuts=st.lists(st.integers(0))
)
def test_frames_are_the_same_however_the_bytes_are_cut(
    values: list[str], ends: list[bytes], cuts: list[int]
) -> None:
    closing = [*ends, *[b"\n"] * len(values)]
    data = b"".join(
        json.dumps(value, ensure_ascii=False).encode() + end
        for value, end in zip(values, closing, strict=False)
    )
    assert [json.loads(frame) for frame in split(data, cuts)] == values


@pytest.mark.requirement("certify:resume:framing")
def test_separators_of_unicode_stay_in_their_string_and_characters_may_come_in_pieces() -> None:
    data = '{"t":"a\u2028b\u2029c\x85ü😀"}\n'.encode()
    assert split(data, list(range(len(data)))) == [data[:-1]]


@pytest.mark.requirement("certify:resume:framing")
@pytest.mark.parametrize(
    ("data", "frames"),
    [
        (b"1\r\n", [b"1"]),
        (b"1\r\r\n", [b"1\r"]),
        (b"1\r2\n", [b"1\r2"]),
        (b"\n\r\n1\n", [b"1"]),
        (b"1\n2\n", [b"1", b"2"]),
    ],
)
def test_only_one_carriage_return_before_the_line_feed_is_dropped(data: bytes, frames: list[bytes]) -> None:
    assert split(data, []) == frames


def test_what_has_not_ended_waits() -> None:
    splitter = FrameSplitter()
    assert splitter.feed(b"1\n23") == [b"1"]
    assert splitter.pending_bytes == 2
    assert splitter.feed(b"4\n") == [b"234"]


def test_a_line_without_end_is_refused_at_the_bound() -> None:
    splitter = FrameSplitter(max_bytes=4)
    assert splitter.feed(b"1234\n") == [b"1234"]
    with pytest.raises(LimitReached, match="4 bytes"):
        splitter.feed(b"12345")
