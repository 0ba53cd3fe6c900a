import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.bounds import (
    clip_bytes,
    head_and_tail,
    json_bytes,
    take_last_units,
    take_units,
    utf8_bytes,
)
from pi_fabric.base.jsonvalue import stringify, utf16_length

any_text = st.text(st.characters(exclude_categories=()))
scalars = st.text(st.characters(exclude_categories=["Cs"]))
bounds = st.integers(-1, 40)


def byte_length(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


@pytest.mark.requirement("trace:bounds:clip-bytes")
@pytest.mark.parametrize(
    ("text", "max_bytes", "clipped"),
    [
        ("abc", 3, "abc"),
        ("abc", 0, ""),
        ("abc", -1, ""),
        ("abcdef", 3, ""),
        ("abcdef", 4, "a…"),
        ("日本語テキスト", 10, "日本…"),
        ("😀😀😀", 9, "😀…"),
        ("😀😀😀", 8, "😀…"),
        ("\ud800abc", 5, "…"),
        ("\ud800abc", 6, "\ud800abc"),
    ],
)
def test_the_ellipsis_lies_within_the_byte_limit(text: str, max_bytes: int, clipped: str) -> None:
    assert clip_bytes(text, max_bytes) == clipped


@given(any_text, bounds)
def test_clipped_text_fits_and_is_a_start_of_the_text(text: str, max_bytes: int) -> None:
    clipped = clip_bytes(text, max_bytes)

    assert byte_length(clipped) <= max(0, max_bytes)
    assert clipped == text or text.startswith(clipped.removesuffix("…"))


@given(scalars, bounds)
def test_clipping_never_makes_invalid_utf8(text: str, max_bytes: int) -> None:
    clip_bytes(text, max_bytes).encode("utf-8")


@given(scalars, st.integers(4, 40))
def test_clipping_keeps_as_many_characters_as_fit(text: str, max_bytes: int) -> None:
    clipped = clip_bytes(text, max_bytes)

    if clipped != text:
        kept = len(clipped) - 1
        assert byte_length(text[: kept + 1]) + byte_length("…") > max_bytes


def test_another_marker_counts_with_its_own_length() -> None:
    assert clip_bytes("abcdefgh", 7, marker="[cut]") == "ab[cut]"


@pytest.mark.requirement("result:bounds:no-split-pairs")
@given(any_text, bounds)
def test_a_start_in_units_is_the_longest_that_fits(text: str, max_units: int) -> None:
    start = take_units(text, max_units)

    assert text.startswith(start)
    assert utf16_length(start) <= max(0, max_units)
    assert start == text or utf16_length(text[: len(start) + 1]) > max_units


@given(any_text, bounds)
def test_an_end_in_units_is_the_longest_that_fits(text: str, max_units: int) -> None:
    end = take_last_units(text, max_units)

    assert text.endswith(end)
    assert utf16_length(end) <= max(0, max_units)
    assert end == text or utf16_length(text[len(text) - len(end) - 1 :]) > max_units


def test_a_cut_inside_a_pair_moves_one_unit_back() -> None:
    assert take_units("ab🏷️", 3) == "ab"
    assert take_last_units("🏷ab", 3) == "ab"


@given(any_text, st.integers(0, 60))
def test_both_ends_and_the_marker_fit_the_bound(text: str, max_units: int) -> None:
    kept = head_and_tail(text, max_units, lambda omitted: f"<{omitted}>")

    assert utf16_length(kept) <= max_units


@given(scalars.filter(lambda text: "<" not in text), st.integers(12, 60))
def test_the_marker_says_exactly_how_much_is_missing(text: str, max_units: int) -> None:
    kept = head_and_tail(text, max_units, lambda omitted: f"<{omitted}>")

    if kept != text:
        head, _, rest = kept.partition("<")
        omitted, _, tail = rest.partition(">")
        assert text.startswith(head)
        assert text.endswith(tail)
        assert utf16_length(head) + int(omitted) + utf16_length(tail) == utf16_length(text)


def test_cuts_prefer_line_ends() -> None:
    text = "".join(f"line {number:03}\n" for number in range(100))

    kept = head_and_tail(text, 105, lambda omitted: f"<{omitted} left out>")

    assert kept.split("\n") == [
        *(f"line {number:03}" for number in range(5)),
        "<818 left out>",
        *(f"line {number:03}" for number in range(96, 100)),
        "",
    ]


def test_without_room_for_the_marker_only_the_start_is_kept() -> None:
    assert head_and_tail("abcdefghij", 4, lambda omitted: f"<{omitted} left out>") == "abcd"


@given(st.recursive(st.none() | st.booleans() | any_text, lambda inner: st.dictionaries(any_text, inner)))
def test_json_bytes_are_those_of_the_written_json(value: object) -> None:
    assert json_bytes(value) == len(stringify(value).encode())


def test_a_lone_surrogate_counts_as_its_escape() -> None:
    assert json_bytes("\ud800") == len('"\\ud800"')


def test_a_lone_surrogate_counts_three_bytes() -> None:
    assert utf8_bytes("aé\ud800") == 6
