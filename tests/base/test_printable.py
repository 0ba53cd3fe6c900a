import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.printable import printable


@given(st.text(st.characters(exclude_categories=())))
def test_the_result_is_printable_and_printable_text_stays(text: str) -> None:
    shown = printable(text)

    assert shown.isprintable()
    assert printable(shown) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain \u00e4\u65e5\U0001f600", "plain \u00e4\u65e5\U0001f600"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\x9b2J", "\\x9b2J"),
        ("a\nb\u2028c", "a\\nb\\u2028c"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_steers_a_terminal_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown
