import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.jsonvalue import (
    Json,
    decode,
    encode,
    format_number,
    is_finite_number,
    ordered_keys,
    scrub,
    stringify,
)

# Every code point, lone surrogates included: what a JavaScript string can hold.
any_text = st.text(st.characters(exclude_categories=()))
clean_text = st.text(st.characters(exclude_categories=("Cs",)))
finite = st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | finite | clean_text,
    lambda inner: st.lists(inner) | st.dictionaries(clean_text, inner),
)


@given(st.binary())
def test_decoding_any_bytes_gives_a_value_or_a_value_error(data: bytes) -> None:
    try:
        value = decode(data)
    except ValueError:
        return
    encode(value)


@given(json_values)
def test_what_is_encoded_is_decoded_the_same(value: Json) -> None:
    assert decode(encode(value)) == value


@given(any_text)
def test_decoded_text_never_holds_a_lone_surrogate(text: str) -> None:
    decoded = decode(json.dumps(text).encode())

    assert decoded == decoded.encode("utf-8", "replace").decode()


def test_a_lone_surrogate_is_replaced() -> None:
    assert decode(b'{"a\\ud800": "\\udc00b"}') == {"a\ufffd": "\ufffdb"}


def test_a_pair_of_surrogate_escapes_is_one_character() -> None:
    assert decode(b'"\\ud83d\\ude00"') == "\U0001f600"


def test_bad_utf8_is_replaced() -> None:
    assert decode(b'"a\xffb"') == "a\ufffdb"


@pytest.mark.parametrize("inner", [b"1", b'"\\ud800"'])
def test_what_nests_too_deeply_is_a_value_error(inner: bytes) -> None:
    with pytest.raises(ValueError, match="deep"):
        decode(b"[" * 5000 + inner + b"]" * 5000)


def test_a_number_past_the_largest_double_decodes_as_infinity() -> None:
    assert decode(b"1e999") == math.inf


def test_an_integer_of_thousands_of_digits_loses_no_record() -> None:
    assert decode(b'{"a":-' + b"1" * 5000 + b',"b":2}') == {"a": -math.inf, "b": 2}


@pytest.mark.parametrize("value", [0, -1.5, 10**300])
def test_what_javascript_can_hold_is_a_finite_number(value: float) -> None:
    assert is_finite_number(value)


@pytest.mark.parametrize("value", [10**400, math.nan, math.inf, True, "1", None])
def test_nothing_else_is_a_finite_number(value: object) -> None:
    assert not is_finite_number(value)


def test_what_cannot_be_said_in_json_is_encoded_as_json_stringify_does() -> None:
    assert encode({"a": math.inf, "b": "\ud800"}) == b'{"a":null,"b":"\xef\xbf\xbd"}'


@pytest.mark.parametrize("value", [object(), {1, 2}.__iter__()])
def test_encoding_something_that_is_no_json_is_a_type_error(value: object) -> None:
    with pytest.raises(TypeError):
        encode(value)


@given(json_values)
def test_scrubbing_leaves_clean_values_alone(value: Json) -> None:
    assert scrub(value) == value


@given(json_values, st.integers(0, 4))
def test_stringified_values_read_back_the_same(value: Json, indent: int) -> None:
    # In JavaScript every number is a double: 6.1e16 is written without a point.
    assert json.loads(stringify(value, indent=indent), parse_int=float) == value


@given(any_text)
def test_stringified_text_is_encodable_and_reads_back_the_same(text: str) -> None:
    written = stringify(text)

    assert json.loads(written.encode("utf-8")) == json.loads(json.dumps(text))


@given(finite)
def test_a_formatted_number_reads_back_the_same(number: float) -> None:
    assert float(format_number(number)) == number


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (5.0, "5"),
        (-1.5, "-1.5"),
        (123456789012345680000.0, "123456789012345680000"),
        (1e21, "1e+21"),
        (1.5e21, "1.5e+21"),
        (0.000001, "0.000001"),
        (1.5e-6, "0.0000015"),
        (1e-7, "1e-7"),
        (-1.25e-9, "-1.25e-9"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (2**53 + 1, "9007199254740992"),
        (math.inf, "null"),
        (math.nan, "null"),
        (-(10**400), "null"),
    ],
)
def test_numbers_have_the_layout_of_ecmascript(number: float, text: str) -> None:
    assert format_number(number) == text


def test_array_indices_come_first_in_ascending_order() -> None:
    keys = {"b": 0, "10": 0, "2": 0, "a": 0, "01": 0, "4294967295": 0, "-1": 0}

    assert ordered_keys(keys) == ["2", "10", "b", "a", "01", "4294967295", "-1"]


def test_an_indented_value_is_laid_out_as_json_stringify_lays_it_out() -> None:
    value = decode(b'{"a": [1, {"b": []}], "c": {}}')

    assert stringify(value, indent=2) == (
        '{\n  "a": [\n    1,\n    {\n      "b": []\n    }\n  ],\n  "c": {}\n}'
    )


def test_a_lone_surrogate_is_stringified_as_an_escape() -> None:
    assert stringify("a\ud800\U0001f600") == '"a\\ud800\U0001f600"'
