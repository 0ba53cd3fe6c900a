"""Checks for records that count only when they match their format exactly, key by key."""

from collections.abc import Iterable

from pi_fabric.base.jsonvalue import MAX_SAFE_INTEGER, Json, JsonObject, is_number, is_object


def object_with(
    value: Json, required: frozenset[str], optional: frozenset[str] = frozenset()
) -> JsonObject | None:
    """`value` when it is an object with every required key and no unknown one, else None."""
    return value if is_object(value) and required <= value.keys() <= required | optional else None


def are_texts(values: Iterable[Json]) -> bool:
    """True when each value is a string."""
    return all(isinstance(value, str) for value in values)


def is_one_of(value: Json, words: frozenset[str]) -> bool:
    """True when `value` is one of the strings."""
    return isinstance(value, str) and value in words


def is_version(value: Json, version: int) -> bool:
    """True when `value` is that number; JavaScript does not tell 2.0 from 2."""
    return value == version and not isinstance(value, bool)


def is_count(value: Json) -> bool:
    """True for a safe integer from 0."""
    if not is_number(value):
        return False
    is_whole = isinstance(value, int) or value.is_integer()
    return is_whole and 0 <= value <= MAX_SAFE_INTEGER
