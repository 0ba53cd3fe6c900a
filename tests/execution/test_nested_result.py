import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.jsonvalue import UNDEFINED, Json, stringify, utf16_length
from pi_fabric.execution.nested_result import truncate_nested

values = st.recursive(
    st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.requirement("result:nested:preview")
def test_a_large_result_becomes_a_preview_of_its_json() -> None:
    value, is_preview = truncate_nested("x" * 20_000, 10_000)

    assert is_preview
    assert value == {"fabricTruncated": True, "originalChars": 20_002, "preview": '"' + "x" * 9_799}


@pytest.mark.parametrize("value", ["x" * 9_998, {"a": [1, None]}, UNDEFINED, [1e20] * 400])
def test_a_result_that_fits_is_returned_itself(value: Json) -> None:
    kept, is_preview = truncate_nested(value, 10_000)

    assert kept is value
    assert not is_preview


def test_numbers_count_as_javascript_writes_them() -> None:
    assert truncate_nested([1e20] * 500, 10_000)[1]


def test_a_preview_never_splits_a_pair() -> None:
    value, _ = truncate_nested("😀" * 200, 300)

    assert value["preview"] == '"' + "😀" * 49


@given(values, st.integers(0, 300))
def test_the_bound_counts_units_of_the_json(value: Json, max_chars: int) -> None:
    kept, is_preview = truncate_nested(value, max_chars)

    size = utf16_length(stringify(value))
    assert is_preview is (size > max_chars)
    if is_preview:
        assert kept["originalChars"] == size
        assert stringify(value).startswith(kept["preview"])
