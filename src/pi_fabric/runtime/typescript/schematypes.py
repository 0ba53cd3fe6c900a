"""JSON Schema as TypeScript types: one level deep, for reading."""

import json
import re
from typing import Final

from pi_fabric.base.bounds import clip_bytes
from pi_fabric.base.jsonvalue import Json, JsonObject, is_array, is_object

# Beyond this a reader asks `tools.describe`; a captured tool may have hundreds.
MAX_PROPERTIES: Final = 32
MAX_ALTERNATIVES: Final = 12
MAX_COMMENT_BYTES: Final = 200
ANY_OBJECT: Final = "AnyObject"

_IDENTIFIER: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_SIMPLE: Final = {
    "string": "string",
    "number": "number",
    "integer": "number",
    "boolean": "boolean",
    "null": "null",
    "object": ANY_OBJECT,
}


def argument_type(schema: JsonObject) -> str:
    """Type of an argument object: its properties for the reader, and any object for the checker."""
    properties: Json = schema.get("properties")
    if not is_object(properties) or not properties:
        return ANY_OBJECT
    required: Json = schema.get("required")
    needed = set(required) if is_array(required) else set[str]()
    fields = [
        f"{member_key(name)}{'' if name in needed else '?'}: {_value_type(value, 1)}"
        for name, value in list(properties.items())[:MAX_PROPERTIES]
    ]
    return f"{{ {'; '.join(fields)} }} | {ANY_OBJECT}"


def property_type(schema: JsonObject, name: str) -> str:
    """Type of one property; a property that the schema does not know is text."""
    properties: Json = schema.get("properties")
    known = is_object(properties) and name in properties
    return _value_type(properties[name], 1) if known else "string"


def comment_text(text: str) -> str:
    """A description as it may stand in a block comment: one bounded line that cannot end it."""
    return clip_bytes(" ".join(text.split()).replace("*/", "*\\/"), MAX_COMMENT_BYTES)


def member_key(name: str) -> str:
    """A member's name as it stands in a type; quoted when it is no identifier."""
    return name if _IDENTIFIER.fullmatch(name) else json.dumps(name)


def _value_type(schema: Json, depth: int) -> str:
    if not is_object(schema):
        return "any"
    options: Json = schema.get("enum")
    if is_array(options) and 0 < len(options) <= MAX_ALTERNATIVES:
        return " | ".join(json.dumps(option) if isinstance(option, str) else "any" for option in options)
    kind: Json = schema.get("type")
    if kind == "array":
        return f"{_item_type(schema.get('items'), depth)}[]"
    return _SIMPLE.get(kind, "any") if isinstance(kind, str) else "any"


def _item_type(schema: Json, depth: int) -> str:
    # Deeper nesting is nobody's reading matter.
    if depth > 2:
        return "any"
    text = _value_type(schema, depth + 1)
    return f"({text})" if " | " in text else text
