import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.jsonvalue import utf16_length
from pi_fabric.base.jstext import (
    collapse,
    first_line,
    is_blank,
    trim,
    trim_start,
    truncate,
    truncate_start,
    unit_order,
)

ANY_TEXT = st.text(alphabet=st.characters() | st.sampled_from(" \n\t\ufeff\u0085\x1c"))


@pytest.mark.parametrize("blank", ["\ufeff", "\u00a0", "\u1680", "\u2009", "\u2028", "\u3000", "\v", "\f"])
def test_javascript_whitespace_is_trimmed(blank: str) -> None:
    assert trim(f"{blank}a{blank}") == "a"
    assert trim_start(f"{blank}a{blank}") == f"a{blank}"
    assert is_blank(blank)


@pytest.mark.parametrize("mark", ["\x85", "\x1c", "\x1d", "\x1e", "\x1f", "\u200b", "\u180e"])
def test_what_only_python_calls_whitespace_is_kept(mark: str) -> None:
    assert trim(f"{mark}a{mark}") == f"{mark}a{mark}"
    assert collapse(f"a{mark}b") == f"a{mark}b"
    assert not is_blank(mark)


def test_runs_of_whitespace_become_one_space() -> None:
    assert collapse(" a\r\n\n b\t\u00a0c ") == "a b c"


def test_the_first_line_skips_blank_ones_and_ends_at_a_line_feed() -> None:
    assert first_line(" \n\t\n  one \r\ntwo") == "one \r"
    assert first_line(" \n") == ""


def test_a_line_that_is_too_long_ends_in_an_ellipsis_within_the_bound() -> None:
    assert truncate("a  b c d", 4) == "a b…"
    assert truncate(" a  b ", 3) == "a b"


def test_a_cut_inside_a_pair_moves_before_it() -> None:
    assert truncate("ab😀cd", 4) == "ab…"
    assert truncate("ab😀cd", 5) == "ab😀…"


def test_a_path_is_cut_at_its_start() -> None:
    assert truncate_start("/home/me/src/main.ts", 12) == "…src/main.ts"
    assert truncate_start("src/main.ts", 11) == "src/main.ts"
    assert truncate_start("ab😀cd", 4) == "…cd"


@given(text=ANY_TEXT, max_units=st.integers(min_value=1, max_value=40))
def test_a_truncated_line_never_exceeds_its_bound(text: str, max_units: int) -> None:
    assert utf16_length(truncate(text, max_units)) <= max_units
    assert utf16_length(truncate_start(text, max_units)) <= max_units


def test_texts_are_ordered_by_their_utf16_units() -> None:
    assert sorted(["\uffee", "😀", "b", ""], key=unit_order) == ["", "b", "😀", "\uffee"]
