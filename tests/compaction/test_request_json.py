import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.jsonvalue import Json
from pi_fabric.compaction.request import RequestRefused
from pi_fabric.compaction.request_json import MAX_DEPTH, MAX_NODES, parse_request_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
PIECES = st.sampled_from(
    [
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        '"',
        '"a"',
        '"b"',
        "1",
        "-",
        "0",
        ".5",
        "e1",
        "true",
        "null",
        " ",
        "\t",
        "\\n",
    ]
)
NOT_JSON = (
    *("", " ", "NaN", "-Infinity", "1e999", "-1e999", "01", "+1", "1.", ".5", "1e", "True", "'a'", "1 x"),
    *("[1,]", "{,}", '{"a" 1}', '{"a":1,}', '"\\x"', '"\\u12"', '"\\u00g1"', '"a\x01"'),
    *("\v1", "\ufeff1", "\u00a01"),
)


def refusal(text: str) -> str:
    with pytest.raises(RequestRefused) as caught:
        parse_request_json(text)
    return caught.value.refusal


@given(value=VALUES)
@pytest.mark.requirement("compaction:request-json:grammar")
def test_written_json_is_read_back(value: Json) -> None:
    assert parse_request_json(json.dumps(value, ensure_ascii=False)) == value
    assert parse_request_json(json.dumps(value, indent=1)) == value


@given(text=st.lists(PIECES, max_size=12).map("".join))
@pytest.mark.requirement("compaction:request-json:grammar")
def test_no_other_text_is_read_than_a_general_decoder_reads(text: str) -> None:
    try:
        expected = json.loads(text, object_pairs_hook=_unique)
    except ValueError:
        assert refusal(text) in {"malformed-json", "duplicate-field"}
    else:
        assert parse_request_json(text) == expected


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError(pairs)
    return dict(pairs)


@pytest.mark.requirement("compaction:request-json:grammar")
@pytest.mark.parametrize("text", NOT_JSON)
def test_what_is_not_json_is_refused(text: str) -> None:
    assert refusal(text) == "malformed-json"


@pytest.mark.requirement("compaction:request-json:duplicates")
@pytest.mark.parametrize(
    "text", ['{"a":1,"a":1}', '{"a":1,"\\u0061":1}', '[{"b":{"c":0,"c":0}}]', '{"__proto__":1,"__proto__":2}']
)
def test_a_name_given_twice_is_refused_at_every_level(text: str) -> None:
    assert refusal(text) == "duplicate-field"


@pytest.mark.requirement("compaction:request-json:surrogates")
@pytest.mark.parametrize("half", ["\\ud800", "\\udc00x", "\\udc00\\ud800", "\ud83d", "\\ud800\\n\\udc00"])
def test_half_a_pair_is_refused_in_values_and_names(half: str) -> None:
    assert refusal(f'"{half}"') == "invalid-unicode"
    assert refusal(f'{{"{half}":1}}') == "invalid-unicode"


@pytest.mark.requirement("compaction:request-json:surrogates")
def test_an_escaped_pair_is_one_character() -> None:
    assert parse_request_json('"\\ud83d\\ude00"') == "😀"


@pytest.mark.requirement("compaction:request-json:depth")
def test_the_value_below_the_last_level_is_refused() -> None:
    assert parse_request_json("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1)) is not None
    assert refusal("[" * (MAX_DEPTH + 2) + "]" * (MAX_DEPTH + 2)) == "structure-too-complex"
    assert refusal('{"a":' * (MAX_DEPTH + 1) + "1") == "structure-too-complex"


@pytest.mark.requirement("compaction:request-json:nodes")
def test_values_count_and_names_do_not() -> None:
    most = ",".join(f'"{number}":0' for number in range(MAX_NODES - 1))

    assert len(parse_request_json(f"{{{most}}}")) == MAX_NODES - 1
    assert refusal(f'{{{most},"more":0}}') == "structure-too-complex"


def test_numbers_are_finite_floats() -> None:
    number = parse_request_json("-0")

    assert isinstance(number, float)
    assert math.copysign(1, number) == -1
    assert parse_request_json("1" * 300) == float("1" * 300)
