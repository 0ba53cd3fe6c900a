import re

from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.jsonvalue import Json, stringify, utf16_length

numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
words = st.text(st.characters(exclude_characters='"\\:'), max_size=5) | st.sampled_from(
    ["0", "7", "10", "a1"]
)
values = st.recursive(
    numbers | words | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=12,
)


@given(values)
def test_compact_json_differs_from_indented_json_in_blanks_only(value: Json) -> None:
    indented = re.sub(r"\n *", "", stringify(value, indent=1))

    assert stringify(value) == indented.replace('": ', '":')


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_reads_back_as_itself(number: float) -> None:
    assert float(stringify(number)) == number


@given(st.text(st.characters(exclude_categories=())))
def test_the_length_counts_two_units_for_each_character_beyond_the_first_plane(text: str) -> None:
    assert utf16_length(text) == sum(2 if char > "\uffff" else 1 for char in text)


@given(st.integers(1, 3_000), st.sampled_from([0, 2]))
def test_depth_has_no_bound_of_its_own(depth: int, indent: int) -> None:
    value: Json = 1
    for _ in range(depth):
        value = [value]

    text = stringify(value, indent=indent)

    assert text.count("[") == text.count("]") == depth
    assert "".join(text.split()) == "[" * depth + "1" + "]" * depth


def test_keys_of_thousands_of_digits_are_ordinary_names() -> None:
    digits = "1" * 5_000

    assert stringify({digits: 1, "2": 2}) == f'{{"2":2,"{digits}":1}}'
