"""Write a JSON value as block YAML 1.2: two blanks of indent, no folding, one line per scalar.

A string is written plain only where every YAML 1.2 reader takes it for that string; else as JSON, which
is YAML too. Numbers are JavaScript's.
"""

import re
from typing import Final

from pi_fabric.base.jsonvalue import (
    Json,
    JsonObject,
    format_number,
    is_array,
    is_object,
    ordered_keys,
    stringify,
)

# A key may be written in front of its colon up to this length; YAML 1.2, section 7.4.2.
MAX_SIMPLE_KEY_CHARS = 1_000

_STEP: Final = "  "
# Indicators at the start, a dash or question mark alone, `: ` and ` #` inside, blanks, colons and dashes
# at the end, document marks, and everything that is no printable text.
_NEEDS_QUOTES = re.compile(
    r"""^[\s,\[\]{}\#&*!|>'"%@`]|^[?:-](?:\s|$)|:\s|\s\#|[\s:-]$|^(?:---|\.\.\.)"""
    r"|[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]"
)
# JSON leaves these as they are, and some YAML readers take them for line ends or refuse them.
_ESCAPED_TOO = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
# What the core schema reads as null, a boolean or a number.
_IS_NO_STRING = re.compile(
    r"(?:~|null|Null|NULL|true|True|TRUE|false|False|FALSE"
    r"|[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"
    r"|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))?"
)


def write_yaml(value: Json) -> str:
    """Write `value`; the depth must have been bounded before, the text ends without a newline."""
    if not _is_block(value):
        return _scalar(value)
    lines: list[str] = []
    _write_block(value, lines, "", "")
    return "\n".join(lines)


def _write_block(value: Json, lines: list[str], indent: str, opener: str) -> None:
    """Write a container that is not empty; `opener` stands for the indent of its first line."""
    if is_object(value):
        _write_object(value, lines, indent, opener)
        return
    inner = indent + _STEP
    for item in value:
        if _is_block(item):
            _write_block(item, lines, inner, f"{opener or indent}- ")
        else:
            lines.append(f"{opener or indent}- {_scalar(item)}")
        opener = ""


def _write_object(value: JsonObject, lines: list[str], indent: str, opener: str) -> None:
    inner = indent + _STEP
    for key in ordered_keys(value):
        item = value[key]
        name = f"{opener or indent}{_key(key, indent)}"
        if _is_block(item):
            lines.append(name)
            _write_block(item, lines, inner, "")
        else:
            lines.append(f"{name} {_scalar(item)}")
        opener = ""


def _is_block(value: Json) -> bool:
    return (is_object(value) or is_array(value)) and bool(value)


def _key(key: str, indent: str) -> str:
    written = _string(key)
    if len(written) > MAX_SIMPLE_KEY_CHARS:
        return f"? {written}\n{indent}:"
    return f"{written}:"


def _scalar(value: Json) -> str:
    if isinstance(value, str):
        return _string(value)
    if value is None or isinstance(value, bool):
        return "null" if value is None else "true" if value else "false"
    if isinstance(value, int | float):
        return format_number(value)
    return "{}" if is_object(value) else "[]"


def _string(text: str) -> str:
    if _NEEDS_QUOTES.search(text) or _IS_NO_STRING.fullmatch(text):
        return _ESCAPED_TOO.sub(lambda match: f"\\u{ord(match.group()):04x}", stringify(text))
    return text
