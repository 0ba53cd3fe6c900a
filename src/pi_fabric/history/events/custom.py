"""What an extension put into the model's context: typed content, and details within bounds."""

import math
from dataclasses import dataclass
from typing import Final

from pi_fabric.base.bounds import clip_bytes, json_bytes
from pi_fabric.base.jsonvalue import UNDEFINED, Json, JsonObject, is_array, is_object
from pi_fabric.base.jstext import unit_order
from pi_fabric.history.content import part_text, text_of

# All bounds are the specification's: details are shown on one line and travel in branch summaries.
MAX_DEPTH: Final = 12
MAX_NODES: Final = 256
MAX_ITEMS: Final = 64
MAX_STRING_BYTES: Final = 1024
MAX_DETAILS_BYTES: Final = 8 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomContent:
    """The typed part of a `custom_message` entry."""

    custom_type: str
    text: str
    display: bool
    """False when the person does not see it; the model does."""
    details: Json
    """Bounded; UNDEFINED when there is none."""


def read_custom_message(entry: JsonObject) -> CustomContent | None:
    """Decode a top-level `custom_message` entry.

    Returns:
        None when the entry has no type of its own, does not say whether it is displayed, or holds a part
        that is no part or a text part without text. Details never make it invalid.
    """
    custom_type, display, content = entry.get("customType"), entry.get("display"), entry.get("content")
    if not isinstance(custom_type, str) or not isinstance(display, bool) or not _is_content(content):
        return None
    return CustomContent(
        custom_type=custom_type,
        text=text_of(content),
        display=display,
        details=bound_details(entry.get("details", UNDEFINED)),
    )


def bound_details(value: Json) -> Json:
    """Copy details within bounds: 64 items or keys of a collection, keys sorted, 1 KiB of a string.

    Returns:
        UNDEFINED for what nests deeper than 12 below `value`, holds more than 256 values or is no JSON, and
        for what still has more than 8 KiB as JSON.
    """
    bounded = _bounded(value, 0, _Room())
    return bounded if bounded is UNDEFINED or json_bytes(bounded) <= MAX_DETAILS_BYTES else UNDEFINED


def _is_content(content: Json) -> bool:
    if not is_array(content):
        return isinstance(content, str)
    return all(
        is_object(part) and (part.get("type") != "text" or part_text(part) is not None) for part in content
    )


@dataclass(slots=True)
class _Room:
    nodes: int = MAX_NODES


def _bounded(value: Json, depth: int, room: _Room) -> Json:
    """A bounded copy, or UNDEFINED when the whole does not fit."""
    room.nodes -= 1
    if room.nodes < 0 or depth > MAX_DEPTH:
        return UNDEFINED
    if isinstance(value, str):
        return clip_bytes(value, MAX_STRING_BYTES)
    if isinstance(value, float):
        return value if math.isfinite(value) else UNDEFINED
    if is_array(value):
        items = [_bounded(item, depth + 1, room) for item in value[:MAX_ITEMS]]
        return UNDEFINED if any(item is UNDEFINED for item in items) else items
    if is_object(value):
        keys = sorted(value, key=unit_order)[:MAX_ITEMS]
        copy = {key: _bounded(value[key], depth + 1, room) for key in keys}
        return UNDEFINED if any(item is UNDEFINED for item in copy.values()) else copy
    return value
