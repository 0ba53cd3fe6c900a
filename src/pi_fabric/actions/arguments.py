"""Repair near misses in arguments by the action's schema, then hold them to it.

Repair only does what cannot change the meaning: it renames aliases, drops null where nothing is required,
and reads numbers, booleans and lists that arrived as text. Everything else is refused with the property's
path and the nearest valid name.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from pi_fabric.actions.shapes import canonical
from pi_fabric.base.bounds import clip_bytes
from pi_fabric.base.errors import InvalidArguments
from pi_fabric.base.jsonvalue import Json, JsonObject, is_array, is_object, stringify
from pi_fabric.base.nearest import nearest
from pi_fabric.protocol.actions import Action

if TYPE_CHECKING:
    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

# A model corrects a handful of problems at a time; more only cost it tokens.
MAX_PROBLEMS = 5
MAX_VALUE_BYTES = 60
_INTEGER = re.compile(r"[+-]?\d{1,15}")
_NUMBER = re.compile(r"[+-]?\d{1,15}(\.\d{1,15})?([eE][+-]?\d{1,3})?")


def repair(action: Action, args: Json) -> JsonObject:
    """Return arguments as the schema means them; `args` itself when there is nothing to repair.

    Anything but an object counts as no arguments.
    """
    if not is_object(args):
        return {}
    if action.shape is None:
        return _repair_object_by(action.input_schema, args)
    repaired = _repair_object_by(action.input_schema, canonical(action.shape, args))
    # A list that arrived as text has elements only now.
    return canonical(action.shape, repaired)


def fits(action: Action, args: JsonObject) -> bool:
    """True when repaired arguments surely fit; False leaves it to `validate`. Quick."""
    if action.arguments is None:
        return _accepts_anything(action.input_schema)
    try:
        msgspec.convert(args, action.arguments)
    except msgspec.ValidationError:
        return False
    return True


def validate(action: Action, ref: str, args: JsonObject) -> None:
    """Hold repaired arguments to the action's schema. Loads a library the first time: not for the loop.

    Raises:
        InvalidArguments: With at most five problems, each `property.path: what is wrong`.
    """
    if fits(action, args):
        return
    problems = _problems(action.input_schema, args)
    if problems:
        paths = [path for path in problems.values() if path]
        raise InvalidArguments(ref, list(problems), schema_paths=list(dict.fromkeys(paths)))


def _accepts_anything(schema: JsonObject) -> bool:
    constraints = {key for key in schema if key not in ("type", "description", "additionalProperties")}
    open_ended = schema.get("additionalProperties", True) is True
    return (
        open_ended
        and schema.get("type", "object") == "object"
        and constraints <= {"properties"}
        and (not schema.get("properties"))
    )


def _repair_object_by(schema: JsonObject, args: JsonObject) -> JsonObject:
    repaired = _repair_value(args, schema)
    return repaired if is_object(repaired) else args


def _repair_value(value: Json, schema: Json) -> Json:
    if not is_object(schema):
        return value
    types = _types(schema)
    if isinstance(value, str):
        return _read_text(value, types, schema)
    if is_object(value) and is_object(schema.get("properties")):
        return _repair_object(value, schema)
    if is_array(value) and "items" in schema:
        items = [_repair_value(item, schema["items"]) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    if is_object(value) and types == {"array"}:
        return [_repair_value(value, schema.get("items"))]
    return value


def _repair_object(value: JsonObject, schema: JsonObject) -> JsonObject:
    properties: JsonObject = schema["properties"]
    required: list[str] = schema.get("required", [])
    repaired: JsonObject = {}
    for key, item in value.items():
        known = properties.get(key)
        if item is None and key in properties and key not in required and "null" not in _types(known):
            continue
        repaired[key] = _repair_value(item, known)
    unchanged = len(repaired) == len(value) and all(repaired[key] is value[key] for key in repaired)
    return value if unchanged else repaired


def _types(schema: Json) -> set[str]:
    if not is_object(schema):
        return set()
    branches = schema.get("anyOf")
    if is_array(branches):
        return set[str]().union(*(_types(branch) for branch in branches))
    declared = schema.get("type")
    if is_array(declared):
        return set(declared)
    return {declared} if isinstance(declared, str) else set()


def _read_text(text: str, types: set[str], schema: JsonObject) -> Json:
    if not types or "string" in types:
        return text
    trimmed = text.strip()
    if "integer" in types and _INTEGER.fullmatch(trimmed):
        return int(trimmed)
    if "number" in types and _NUMBER.fullmatch(trimmed):
        return float(trimmed)
    if "boolean" in types and trimmed in ("true", "false"):
        return trimmed == "true"
    if types & {"array", "object"}:
        return _read_json_text(text, types, schema)
    return text


def _read_json_text(text: str, types: set[str], schema: JsonObject) -> Json:
    try:
        parsed = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        items = schema.get("items")
        return [text] if "array" in types and "string" in _types(items) else text
    is_wanted = ("array" in types and is_array(parsed)) or ("object" in types and is_object(parsed))
    return _repair_value(parsed, schema) if is_wanted else text


def _problems(schema: JsonObject, args: JsonObject) -> dict[str, str]:
    """Each problem with the path that the schema names for it; "" where only the program named one."""
    validator = _validator(msgspec.json.encode(schema))
    # A dict, since the library reports `required` once for each missing name.
    found: dict[str, str] = {}
    for error in _leaves(validator.iter_errors(args)):
        for problem in _describe(error):
            is_known = error.validator != "additionalProperties"
            found[problem] = problem.partition(":")[0] if is_known else ""
    return dict(list(found.items())[:MAX_PROBLEMS])


@lru_cache(maxsize=256)
def _validator(schema: bytes) -> "Validator":
    # Imported here: it costs more than a whole program, and only a wrong call needs it.
    from jsonschema import Draft202012Validator  # noqa: PLC0415

    return Draft202012Validator(msgspec.json.decode(schema))


def _leaves(errors: "Iterator[ValidationError]") -> "Iterator[ValidationError]":
    """Errors to report: of a failed `anyOf` the branch that came closest."""
    for error in errors:
        if error.validator == "anyOf" and error.context:
            deepest = max(len(inner.relative_path) for inner in error.context)
            inner = [item for item in error.context if len(item.relative_path) == deepest]
            if deepest > 0:
                yield from inner
                continue
        yield error


def _describe(error: "ValidationError") -> list[str]:
    path = _path(error.absolute_path)
    match error.validator:
        case "required":
            missing = [name for name in _names(error.validator_value) if name not in _names(error.instance)]
            return [f"{_join(path, name)}: is required and missing" for name in missing]
        case "additionalProperties":
            return _unknown_properties(path, error)
        case "type" | "anyOf":
            expected = " or ".join(sorted(_types(error.schema))) or "another type"
            return [f"{path or 'arguments'}: must be {expected}, got {_show(error.instance)}"]
        case "enum":
            words = [str(word) for word in _names(error.validator_value)]
            close = nearest(str(error.instance), words)
            hint = f"; did you mean {close[0]}?" if close else ""
            return [f"{path}: must be one of {', '.join(words)}, got {_show(error.instance)}{hint}"]
        case "minLength" | "maxLength" | "minItems" | "maxItems":
            return [f"{path or 'arguments'}: {_size_bound(error)}"]
        case _:
            return [f"{path or 'arguments'}: {clip_bytes(error.message, 200)}"]


def _size_bound(error: "ValidationError") -> str:
    # The library's own words begin with the whole value, so a long one would hide what is wrong.
    bound, kind = error.validator_value, str(error.validator)
    limit = "at most" if kind.startswith("max") else "at least"
    unit = "characters" if kind.endswith("Length") else "items"
    size = len(error.instance) if isinstance(error.instance, str) else len(_names(error.instance))
    return f"must have {limit} {bound} {unit}, got {size}"


def _unknown_properties(path: str, error: "ValidationError") -> list[str]:
    known = _names(error.schema.get("properties", {})) if is_object(error.schema) else []
    described: list[str] = []
    for name in _names(error.instance):
        if name not in known:
            close = nearest(name, known)
            hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(known) or 'none'}"
            shown = _join(path, clip_bytes(name, MAX_VALUE_BYTES))
            described.append(f"{shown}: unknown argument; {hint}")
    return described


def _names(value: Any) -> list[str]:
    return list(value) if is_object(value) or is_array(value) else []


def _path(parts: Any) -> str:
    path = ""
    for part in parts:
        path = f"{path}[{part}]" if isinstance(part, int) else _join(path, part)
    return path


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _show(value: Json) -> str:
    return clip_bytes(stringify(value), MAX_VALUE_BYTES)
