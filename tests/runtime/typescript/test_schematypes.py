import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.runtime.typescript.schematypes import argument_type, comment_text, member_key, property_type

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=20,
)


def test_properties_are_named_and_any_object_still_fits() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "limit": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "mode": {"enum": ["all", "one-at-a-time"]},
            "odd-name": {"anyOf": [{"type": "string"}]},
        },
        "required": ["path"],
    }

    assert argument_type(schema) == (
        "{ path: string; limit?: number; tags?: string[]; "
        'mode?: "all" | "one-at-a-time"; "odd-name"?: any } | AnyObject'
    )


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"properties": {}}, {"properties": 5}])
def test_an_open_schema_is_any_object(schema: JsonObject) -> None:
    assert argument_type(schema) == "AnyObject"


def test_a_schema_with_hundreds_of_properties_is_cut() -> None:
    schema: JsonObject = {"properties": {f"p{index}": {"type": "string"} for index in range(500)}}

    assert argument_type(schema).count(": string") == 32


def test_alternatives_in_a_list_are_grouped() -> None:
    schema: JsonObject = {"properties": {"a": {"type": "array", "items": {"enum": ["x", "y"]}}}}

    assert argument_type(schema) == '{ a?: ("x" | "y")[] } | AnyObject'


def test_a_property_that_the_schema_does_not_know_is_text() -> None:
    schema: JsonObject = {"properties": {"limit": {"type": "integer"}}}

    assert [property_type(schema, name) for name in ("limit", "oldText")] == ["number", "string"]


def test_a_description_cannot_end_its_comment() -> None:
    text = comment_text("evil */ const pi: 1;\nnext line" + "x" * 500)

    assert "*/" not in text
    assert "\n" not in text
    assert len(text.encode()) <= 200


def test_a_name_that_is_no_identifier_is_quoted() -> None:
    assert [member_key(name) for name in ("a$1", "list-issues")] == ["a$1", '"list-issues"']


@given(st.dictionaries(st.text(max_size=8), JSON, max_size=5))
def test_any_schema_gives_a_type(schema: JsonObject) -> None:
    assert argument_type(schema).endswith("AnyObject")
