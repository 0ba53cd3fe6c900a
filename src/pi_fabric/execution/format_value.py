"""Turn what a program returned into text for the model."""

import re
from dataclasses import dataclass
from typing import Final, Literal

from pi_fabric.base.bounds import clip_bytes
from pi_fabric.base.jsonvalue import (
    UNDEFINED,
    Json,
    Undefined,
    encode,
    is_array,
    is_object,
    ordered_keys,
    stringify,
    utf16_length,
)
from pi_fabric.execution.model import ResultFormat
from pi_fabric.execution.yaml_text import write_yaml

# Deeper than any data a person lays out; keeps the writers far from the interpreter's stack limit.
MAX_DEPTH = 200
# About what can be laid out in two seconds; beyond it compact JSON is written, which takes none.
MAX_LAID_OUT_PARTS = 1_000_000
# A path names a place; what is longer than a few lines names none.
MAX_PATH_BYTES = 400

_PLAIN_KEY = re.compile(r"[A-Za-z_$][A-Za-z0-9_$\-]*")

DEEP_MARK: Final = f"[nested deeper than {MAX_DEPTH} levels; left out]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Formatted:
    """A value as text."""

    text: str
    language: Literal["yaml", "json"] | None = None
    """What to highlight it as; None is plain text."""


def format_value(value: Json | Undefined, result_format: ResultFormat) -> Formatted:
    """Write `value` in the wanted format.

    A string is written as it is in every format. `auto` and `yaml` give YAML in which each string with a
    newline is replaced by a marker and follows below, raw, under its path. `json` indents by two.
    `text` gives the `text` member when it is a string, else compact JSON. UNDEFINED gives "".

    What is nested deeper than 200 levels is replaced by a mark; a value of more than 1,000,000 parts is
    written as compact JSON whatever the format, so that the time stays bounded. Pure, but seconds long
    for large values.
    """
    if value is UNDEFINED:
        return Formatted(text="")
    if isinstance(value, str):
        return Formatted(text=value)
    depth, parts = _measure(value)
    if depth > MAX_DEPTH:
        value = _without_depths(value, MAX_DEPTH)
    if result_format == "text" and is_object(value) and isinstance(text := value.get("text"), str):
        return Formatted(text=text)
    if parts > MAX_LAID_OUT_PARTS:
        return Formatted(text=encode(value).decode(), language=None if result_format == "text" else "json")
    if result_format == "text":
        return Formatted(text=stringify(value))
    if result_format == "json":
        return Formatted(text=stringify(value, indent=2), language="json")
    return _format_yaml(value)


def _format_yaml(value: Json) -> Formatted:
    lifted: list[tuple[str, str]] = []
    body = write_yaml(_lift(value, "", lifted))
    sections = [f"{_heading(path, text)}\n{text}" for path, text in lifted]
    return Formatted(text="\n\n".join([body, *sections]), language=None if lifted else "yaml")


def _lift(value: Json, path: str, lifted: list[tuple[str, str]]) -> Json:
    """Copy `value` with a marker for each string that holds a newline; the strings go to `lifted`."""
    if isinstance(value, str):
        if "\n" not in value:
            return value
        lifted.append((path, value))
        return _marker(path)
    if is_object(value):
        return {
            key: _lift(value[key], _member(path, key), lifted) if _may_lift(value[key]) else value[key]
            for key in ordered_keys(value)
        }
    if is_array(value):
        return [
            _lift(item, f"{path}[{index}]", lifted) if _may_lift(item) else item
            for index, item in enumerate(value)
        ]
    return value


def _may_lift(value: Json) -> bool:
    return "\n" in value if isinstance(value, str) else is_object(value) or is_array(value)


def _member(path: str, key: str) -> str:
    if not _PLAIN_KEY.fullmatch(key):
        return f"{path}[{stringify(key)}]"
    return f"{path}.{key}" if path else key


def _marker(path: str) -> str:
    return f"[text below: {clip_bytes(path, MAX_PATH_BYTES)}]"


def _heading(path: str, text: str) -> str:
    return f"[text of {clip_bytes(path, MAX_PATH_BYTES)}, {utf16_length(text)} characters]"


def _measure(value: Json) -> tuple[int, int]:
    """Depth in containers and number of values in all, without recursion."""
    depth, parts = 0, 0
    level = [value]
    while level:
        parts += len(level)
        below: list[Json] = []
        is_deeper = False
        for item in level:
            if is_object(item):
                below.extend(item.values())
                is_deeper = True
            elif is_array(item):
                below.extend(item)
                is_deeper = True
        depth += is_deeper
        level = below
    return depth, parts


def _without_depths(value: Json, levels: int) -> Json:
    if not is_object(value) and not is_array(value):
        return value
    if levels == 0:
        return DEEP_MARK
    if is_object(value):
        return {key: _without_depths(item, levels - 1) for key, item in value.items()}
    return [_without_depths(item, levels - 1) for item in value]
