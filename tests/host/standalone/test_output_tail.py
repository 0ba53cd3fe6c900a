import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.errors import ToolFailed
from pi_fabric.host.standalone.limits import MAX_BYTES
from pi_fabric.host.standalone.output_tail import OutputTail
from tests.host.standalone.calling import content

pytestmark = pytest.mark.anyio


async def _fed(*chunks: bytes) -> OutputTail:
    output = OutputTail()
    for chunk in chunks:
        await output.feed(chunk)
    return output


async def test_a_short_output_is_whole_and_has_no_file():
    output = await _fed(b"a\n", b"b")
    tail = output.shown()
    assert (tail.text, tail.lines, tail.is_cut, output.path) == ("a\nb", 2, False, None)


async def test_an_unfinished_character_is_held_back_while_more_may_come():
    output = await _fed("ab€".encode()[:-1])
    assert output.shown(is_final=False).text == "ab"
    assert output.shown().text == "ab\ufffd"


async def test_a_tighter_view_of_a_short_output_is_cut():
    output = await _fed(b"one\ntwo\nthree\n")
    tail = output.shown(max_lines=2)
    assert (tail.text, tail.lines, tail.is_cut) == ("two\nthree\n", 2, True)


async def test_a_cut_by_bytes_starts_at_a_line():
    output = await _fed(b"one\ntwo\nthree\n")
    assert output.shown(max_bytes=8).text == "three\n"


async def test_an_empty_output_has_no_lines():
    output = OutputTail()
    assert (output.shown().text, output.shown().lines, output.total_lines) == ("", 0, 0)


@given(chunks=st.lists(st.binary(max_size=40)), max_bytes=st.integers(1, 60), max_lines=st.integers(1, 5))
async def test_what_is_shown_is_the_end_of_the_output_within_the_bounds(
    chunks: list[bytes], max_bytes: int, max_lines: int
):
    output = await _fed(*chunks)
    whole = b"".join(chunks)
    tail = output.shown(max_bytes=max_bytes, max_lines=max_lines)
    assert len(tail.text.encode()) <= max_bytes
    assert tail.lines <= max_lines
    assert tail.text in whole.decode("utf-8", "replace") or "\ufffd" in tail.text
    assert tail.is_cut or tail.text == whole.decode("utf-8", "replace")


@given(text=st.text(max_size=200), max_bytes=st.integers(1, 60))
async def test_valid_text_never_loses_a_part_of_a_character(text: str, max_bytes: int):
    output = await _fed(text.encode())
    assert text.endswith(output.shown(max_bytes=max_bytes).text)


async def test_pieces_of_any_size_add_up():
    line = b"0123456789\n"
    async with OutputTail() as output:
        for _ in range(200):
            await output.feed(line * 100)
        tail = output.shown()
    assert output.total_lines == 20_000
    assert tail.text.encode() == line * tail.lines
    assert tail.lines == 2_000
    assert len(tail.text) <= MAX_BYTES
    assert output.path is not None
    assert content(output.path) == line * 20_000
    output.path.unlink()


async def test_the_file_of_a_call_that_failed_is_removed():
    output = OutputTail()

    async def fail() -> None:
        async with output:
            await output.feed(b"x" * MAX_BYTES * 2)
            raise ToolFailed("bash", "cause")

    with pytest.raises(ToolFailed):
        await fail()
    assert output.path is not None
    assert content(output.path) == b""
