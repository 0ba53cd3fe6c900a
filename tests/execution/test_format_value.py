import json
import re
from typing import cast

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.jsonvalue import UNDEFINED, Json, stringify
from pi_fabric.execution.format_value import DEEP_MARK, MAX_DEPTH, MAX_LAID_OUT_PARTS, format_value
from pi_fabric.execution.model import ResultFormat
from pi_fabric.execution.yaml_text import write_yaml

ODD_WORDS = (
    """- x|: y|#z|a: b|a #b|~|null|True|1|0x1F|1e3|.5|.inf|---|...|?|-|a:|a-|>|'q|"q|[|{}|@|`|%|*a|&a|!t"""
)
# PyYAML cannot read a tab inside plain text, which YAML allows; a case below covers it.
words = (
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t"), max_size=12)
    | st.sampled_from(ODD_WORDS.split("|"))
    | st.sampled_from(["\u2028", "\x85", "\ufeff", "\x7f", "", "k" * 2_000, " pad ", "日本語 😀"])
)
scalars = words | st.integers(-(2**53), 2**53) | st.booleans() | st.none()
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=15,
)


class CoreLoader(yaml.SafeLoader):
    """Reads plain scalars as YAML 1.2's core schema does, not as YAML 1.1."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's own way
        first: [
            ("tag:yaml.org,2002:null", re.compile("(?:~|null|Null|NULL|)$")),
            ("tag:yaml.org,2002:bool", re.compile("(?:true|True|TRUE|false|False|FALSE)$")),
            ("tag:yaml.org,2002:int", re.compile("[-+]?[0-9]+$")),
        ]
        for first in ["", *"~nNtTfF-+0123456789"]
    }


def read_yaml(text: str) -> Json:
    # The loader is safe: it is a SafeLoader with fewer rules.
    return yaml.load(text, Loader=CoreLoader)


def nested(levels: int) -> Json:
    value: Json = "leaf"
    for level in range(levels):
        value = [value] if level % 2 else {"k": value}
    return value


@given(values)
def test_what_is_written_reads_back_as_the_value(value: Json) -> None:
    assert read_yaml(write_yaml(value)) == value


@pytest.mark.requirement("result:yaml:layout")
def test_yaml_is_indented_by_two_and_sequences_lie_below_their_key() -> None:
    value = json.loads('{"a": 1, "b": {"c": [1, {"d": [], "e": {}}, [2, [3]]]}}')

    assert format_value(value, "auto").text.split("\n") == [
        "a: 1",
        "b:",
        "  c:",
        "    - 1",
        "    - d: []",
        "      e: {}",
        "    - - 2",
        "      - - 3",
    ]


@pytest.mark.requirement("result:yaml:quotes")
@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("yes", "k: yes"),
        ("2025-01-01", "k: 2025-01-01"),
        ("tab\there", "k: tab\there"),
        ('it\'s "q"', 'k: it\'s "q"'),
        ("日本語 😀", "k: 日本語 😀"),
        ("word " * 60 + "end", "k: " + "word " * 60 + "end"),
        ("1", 'k: "1"'),
        ("0x1F", 'k: "0x1F"'),
        ("null", 'k: "null"'),
        ("~", 'k: "~"'),
        ("", 'k: ""'),
        (" pad ", 'k: " pad "'),
        ("- x", 'k: "- x"'),
        ("a: b", 'k: "a: b"'),
        ("bell\a", 'k: "bell\\u0007"'),
        ("a\rb", 'k: "a\\rb"'),
    ],
)
def test_a_string_is_quoted_only_where_plain_text_would_be_read_otherwise(value: str, line: str) -> None:
    assert format_value({"k": value}, "yaml").text == line


@pytest.mark.requirement("result:yaml:numbers")
@pytest.mark.parametrize(("number", "written"), [(1e21, "1e+21"), (1e-7, "1e-7"), (3.0, "3"), (-0.0, "0")])
def test_numbers_are_written_as_javascript_does(number: float, written: str) -> None:
    assert format_value({"n": number}, "auto").text == f"n: {written}"


def test_keys_that_are_array_indices_come_first_and_are_quoted() -> None:
    assert format_value({"b": 1, "10": 2, "2": 3}, "auto").text == '"2": 3\n"10": 2\nb: 1'


@pytest.mark.requirement("result:yaml:multiline")
def test_a_string_with_a_newline_follows_below_under_its_path() -> None:
    value = {"path": "x", "body": "l1\n  l2\n", "list": ["ok", {"a b": "😀\nq"}]}

    formatted = format_value(value, "auto")

    assert formatted.language is None
    assert formatted.text.split("\n") == [
        "path: x",
        'body: "[text below: body]"',
        "list:",
        "  - ok",
        '  - a b: "[text below: list[1][\\"a b\\"]]"',
        "",
        "[text of body, 8 characters]",
        "l1",
        "  l2",
        "",
        "",
        '[text of list[1]["a b"], 4 characters]',
        "😀",
        "q",
    ]


@pytest.mark.requirement("result:format:strings")
@pytest.mark.parametrize("result_format", ["auto", "yaml", "json", "text"])
@pytest.mark.parametrize("text", ["plain", "a\nb", ""])
def test_a_string_is_written_as_it_is(text: str, result_format: ResultFormat) -> None:
    formatted = format_value(text, result_format)

    assert (formatted.text, formatted.language) == (text, None)


@pytest.mark.requirement("result:format:json")
def test_json_is_indented_by_two() -> None:
    formatted = format_value({"a": ["p\nq", None]}, "json")

    assert formatted.text == '{\n  "a": [\n    "p\\nq",\n    null\n  ]\n}'
    assert formatted.language == "json"


@pytest.mark.requirement("result:format:text")
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"text": "only text", "other": 1}, "only text"),
        ({"text": 5}, '{"text":5}'),
        ([1], "[1]"),
        (True, "true"),
    ],
)
def test_text_is_the_text_member_or_compact_json(value: Json, text: str) -> None:
    formatted = format_value(value, "text")

    assert (formatted.text, formatted.language) == (text, None)


@pytest.mark.requirement("result:format:undefined")
def test_nothing_is_written_for_undefined() -> None:
    assert format_value(UNDEFINED, "json").text == ""


@pytest.mark.requirement("result:format:deep")
@pytest.mark.parametrize("result_format", ["auto", "json", "text"])
def test_what_is_nested_too_deep_is_replaced_by_a_mark(result_format: ResultFormat) -> None:
    text = format_value(nested(10_000), result_format).text

    assert text.count(DEEP_MARK) == 1
    assert "leaf" not in text


def test_nesting_up_to_the_bound_is_written_whole() -> None:
    assert json.loads(format_value(nested(MAX_DEPTH), "json").text) == nested(MAX_DEPTH)


@pytest.mark.requirement("result:format:huge")
def test_a_value_of_very_many_parts_is_written_as_compact_json() -> None:
    value = cast("Json", [0] * (MAX_LAID_OUT_PARTS + 1))

    formatted = format_value(value, "auto")

    assert formatted.language == "json"
    assert formatted.text.startswith("[0,0,")


@given(values)
def test_every_format_writes_every_value(value: Json) -> None:
    for result_format in ("auto", "yaml", "json", "text"):
        format_value(value, result_format)
    if not isinstance(value, str):
        assert json.loads(format_value(value, "json").text) == json.loads(stringify(value))
