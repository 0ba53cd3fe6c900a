"""Finding where two JSON values differ."""

import math

from pi_fabric.base.jsonvalue import Json, is_array, is_object, stringify

SHOWN_CHARS = 120


def differences(expected: Json, actual: Json, where: str = "") -> list[str]:
    """Each place where two JSON values differ, as a line; empty when they are equal.

    Numbers are equal within a relative 1e-9, booleans are no numbers, the order of keys does not matter.
    """
    if is_object(expected) and is_object(actual):
        return _object_differences(expected, actual, where)
    if is_array(expected) and is_array(actual):
        if len(expected) != len(actual):
            return [f"{where or 'value'}: {len(expected)} items expected, {len(actual)} found"]
        pairs = enumerate(zip(expected, actual, strict=True))
        return [line for index, (old, new) in pairs for line in differences(old, new, f"{where}[{index}]")]
    if _equal(expected, actual):
        return []
    return [f"{where or 'value'}: expected {_shown(expected)}, found {_shown(actual)}"]


def _object_differences(expected: dict[str, Json], actual: dict[str, Json], where: str) -> list[str]:
    lines = [f"{_inside(where, key)}: missing" for key in expected if key not in actual]
    lines += [f"{_inside(where, key)}: not expected" for key in actual if key not in expected]
    for key, value in expected.items():
        if key in actual:
            lines += differences(value, actual[key], _inside(where, key))
    return lines


def _equal(expected: Json, actual: Json) -> bool:
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, int | float) and isinstance(actual, int | float):
        return expected == actual or math.isclose(expected, actual, rel_tol=1e-9)
    return type(expected) is type(actual) and expected == actual


def _inside(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _shown(value: Json) -> str:
    text = stringify(value)
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"
