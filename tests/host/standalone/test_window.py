import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.host.standalone.limits import MAX_BYTES
from pi_fabric.host.standalone.window import MAX_COUNTED_BYTES, PastEnd, Window, take_window

DATA = st.lists(st.sampled_from([b"\n", b"a", b"bc", b"\r\n", "é".encode(), b"\xff"]), max_size=20).map(
    b"".join
)


def _lines(data: bytes) -> list[bytes]:
    pieces = data.split(b"\n")
    return [piece + b"\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


@given(data=DATA, size=st.integers(1, 5), skip=st.integers(0, 12), limit=st.integers(1, 5))
def test_a_window_is_a_slice_of_the_lines_however_the_file_comes_in(
    data: bytes, size: int, skip: int, limit: int
):
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    lines = _lines(data)
    window = take_window(chunks, skip=skip, limit=limit)
    if skip and skip >= len(lines):
        assert window == PastEnd(total_lines=len(lines))
        return
    wanted = lines[skip : skip + limit]
    assert window == Window(
        data=b"".join(wanted),
        lines=len(wanted),
        has_more=skip + limit < len(lines),
        is_cut_line=False,
        total_lines=len(lines),
    )


@pytest.mark.parametrize("character", ["é", "€", "😀", "x"])
@pytest.mark.parametrize("shift", range(4))
def test_a_long_line_is_never_cut_inside_a_character(character: str, shift: int):
    data = ("x" * shift + character * (MAX_BYTES + 1)).encode()
    window = take_window([data], skip=0, limit=1)
    assert isinstance(window, Window)
    assert window.is_cut_line
    assert data.startswith(window.data)
    window.data.decode()
    assert MAX_BYTES - 4 < len(window.data) <= MAX_BYTES


def test_lines_far_behind_the_window_are_not_counted():
    chunks = iter([b"line\n" * 20_000] * 1_000)
    window = take_window(chunks, skip=0, limit=1)
    assert isinstance(window, Window)
    assert window.total_lines is None
    assert sum(len(chunk) for chunk in chunks) > 100_000_000 - MAX_COUNTED_BYTES - 1_000_000
