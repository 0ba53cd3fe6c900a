import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.bounds import json_bytes
from pi_fabric.base.jsonvalue import UNDEFINED, Json, JsonObject, is_array, is_object
from pi_fabric.history.events.custom import bound_details, read_custom_message


def entry(**fields: Json) -> JsonObject:
    return {"type": "custom_message", "customType": "t", "content": "c", "display": True, **fields}


def nested(containers: int) -> Json:
    value: Json = 1
    for _ in range(containers):
        value = [value]
    return value


@pytest.mark.requirement("events:custom:invalid")
@pytest.mark.parametrize(
    "fields",
    [
        {"customType": 5},
        {"customType": None},
        {"display": None},
        {"display": 1},
        {"content": None},
        {"content": {"type": "text", "text": "x"}},
        {"content": [{"type": "text"}]},
        {"content": [{"type": "text", "text": "x"}, {"type": "text", "text": 5}]},
        {"content": ["x"]},
    ],
)
def test_a_message_that_is_not_typed_is_no_message(fields: JsonObject) -> None:
    assert read_custom_message(entry(**fields)) is None


def test_parts_that_are_no_text_add_none() -> None:
    content = [{"type": "image", "data": "AA"}, {"type": "someday"}, {"type": "text", "text": "x"}]
    custom = read_custom_message(entry(content=content))

    assert custom is not None
    assert custom.text == "x"


@pytest.mark.requirement("events:custom:bad-details")
def test_details_out_of_bounds_leave_the_message_valid() -> None:
    custom = read_custom_message(entry(details=nested(20)))

    assert custom is not None
    assert (custom.text, custom.details) == ("c", UNDEFINED)


def test_details_that_are_null_are_details() -> None:
    custom = read_custom_message(entry(details=None))

    assert custom is not None
    assert custom.details is None


@pytest.mark.requirement("events:custom:bounds")
@pytest.mark.parametrize(("containers", "fits"), [(12, True), (13, False), (5_000, False)])
def test_details_nest_twelve_deep(containers: int, fits: bool) -> None:
    value = nested(containers)

    assert bound_details(value) == (value if fits else UNDEFINED)


@pytest.mark.requirement("events:custom:bounds")
@pytest.mark.parametrize(("count", "fits"), [(51, True), (52, False)])
def test_details_hold_256_values(count: int, fits: bool) -> None:
    # The list, and five values for each item.
    value = [[1, 2, 3, 4]] * count

    assert bound_details(value) == (value if fits else UNDEFINED)


@pytest.mark.requirement("events:custom:bounds")
def test_a_collection_keeps_its_first_64_items_by_order_of_key() -> None:
    assert bound_details(list(range(100))) == list(range(64))
    kept = bound_details({f"{number:03}": number for number in reversed(range(100))})
    assert list(kept) == [f"{number:03}" for number in range(64)]


def test_keys_are_sorted_by_utf16_units() -> None:
    assert list(bound_details({"\uffee": 1, "😀": 2, "b": 3, "a": 4})) == ["a", "b", "😀", "\uffee"]


@pytest.mark.requirement("events:custom:bounds")
def test_a_string_is_cut_at_1024_bytes_with_an_ellipsis() -> None:
    assert bound_details("é" * 900) == "é" * 510 + "…"
    assert bound_details("é" * 512) == "é" * 512


@pytest.mark.requirement("events:custom:bounds")
def test_details_beyond_8_kib_of_json_go_as_a_whole() -> None:
    whole = ["x" * 1000] * 8

    assert bound_details([*whole, "x" * (8192 - json_bytes(whole) - len(',""'))]) is not UNDEFINED
    assert bound_details([*whole, "x" * (8192 - json_bytes(whole) - len(',""') + 1)]) is UNDEFINED


@pytest.mark.parametrize("number", [math.inf, math.nan])
def test_details_with_what_json_cannot_say_go_as_a_whole(number: float) -> None:
    assert bound_details({"a": [number]}) is UNDEFINED


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_bounded_details_do_not_depend_on_the_order_of_keys(value: Json) -> None:
    bounded = bound_details(value)

    assert repr(bounded) == repr(bound_details(reversed_keys(value)))
    assert bounded is UNDEFINED or json_bytes(bounded) <= 8192


def reversed_keys(value: Json) -> Json:
    if is_object(value):
        return {key: reversed_keys(value[key]) for key in reversed(value)}
    return [reversed_keys(item) for item in value] if is_array(value) else value
