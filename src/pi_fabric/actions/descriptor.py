"""Make an `Action` from its argument struct: the schema is derived, never written."""

from typing import Any

import msgspec

from pi_fabric.base.jsonvalue import Json, JsonObject, is_array, is_object
from pi_fabric.protocol.actions import Action, CallShape, Risk


def define(
    name: str,
    arguments: type[msgspec.Struct],
    risk: Risk,
    description: str,
    *,
    returns: str = "any",
    shape: CallShape | None = None,
) -> Action:
    """Describe one action by its argument struct.

    Args:
        name: Name within its provider.
        arguments: Struct with `forbid_unknown_fields`; field names are the wire's, docs and bounds come
            from `msgspec.Meta`.
        risk: Class that approvals decide by.
        description: One line for the model.
        returns: Result type in TypeScript.
        shape: Call shapes besides one object.
    """
    return Action(
        name=name,
        description=description,
        risk=risk,
        input_schema=input_schema(arguments),
        arguments=arguments,
        returns=returns,
        shape=shape,
    )


def input_schema(arguments: type[msgspec.Struct]) -> JsonObject:
    """JSON Schema of a struct with every reference written out, without titles and docstrings."""
    (schema,), definitions = msgspec.json.schema_components([arguments], ref_template="{name}")
    inlined = _inline(schema, definitions)
    assert is_object(inlined)
    return inlined


def _inline(node: Json, definitions: dict[str, Any]) -> Json:
    if is_array(node):
        return [_inline(item, definitions) for item in node]
    if not is_object(node):
        return node
    if "$ref" in node:
        said = {key: value for key, value in node.items() if key == "description"}
        return _inline(definitions[node["$ref"]], definitions) | said
    # A struct's docstring is for the reader of the code; a model pays for every word of a schema.
    dropped = ("title", "description") if "properties" in node else ("title",)
    inlined = {key: _inline(value, definitions) for key, value in node.items() if key not in dropped}
    if "enum" in inlined:
        # Some model providers refuse an enumeration without its type.
        return {"type": "string", **inlined}
    return inlined
