from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.runtime.typescript.lines import LANGUAGE_BREAK, Lines

TEXTS = st.text(alphabet=st.sampled_from("ab\n\r\u2028\u2029é漢😀\t"), max_size=40)


def test_lf_crlf_and_cr_each_end_one_line() -> None:
    lines = Lines("a\nb\r\nc\rd")

    assert [lines.text_of(index) for index in range(len(lines))] == ["a", "b", "c", "d"]


def test_a_line_separator_ends_a_line_only_where_the_language_counts() -> None:
    text = "a\u2028b"

    assert len(Lines(text)) == 1
    assert len(Lines(text, LANGUAGE_BREAK)) == 2


def test_columns_count_utf16_units() -> None:
    lines = Lines("x\n😀y")

    assert lines.position(3) == (1, 2)
    assert lines.offset(1, 2) == 3


def test_a_column_inside_a_surrogate_pair_belongs_to_its_character() -> None:
    assert Lines("😀y").offset(0, 1) == 0


def test_a_column_in_bytes_leads_to_the_same_character() -> None:
    lines = Lines("x\né😀y")

    assert [lines.offset_of_byte(1, byte) for byte in (0, 2, 3, 6, 99)] == [2, 3, 3, 4, 5]


def test_what_lies_outside_comes_to_the_nearest_end() -> None:
    lines = Lines("ab\ncd")

    assert [lines.offset(-1, 5), lines.offset(0, 99), lines.offset(9, 0)] == [0, 2, 5]
    assert [lines.position(-4), lines.position(99)] == [(0, 0), (1, 2)]


@given(TEXTS, st.sampled_from([None, LANGUAGE_BREAK]), st.data())
def test_an_offset_survives_the_way_through_its_position(
    text: str, line_break: object, data: st.DataObject
) -> None:
    lines = Lines(text) if line_break is None else Lines(text, LANGUAGE_BREAK)
    offset = data.draw(st.integers(0, len(text)))

    back = lines.offset(*lines.position(offset))

    # Between CR and LF there is no position of its own.
    is_inside_break = text[offset - 1 : offset + 1] == "\r\n"
    assert back == (offset - 1 if is_inside_break else offset)
