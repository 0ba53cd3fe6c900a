"""How large a message is: Pi's guess, and what the provider reported.

Nothing here raises for content; what is malformed counts nothing.
"""

import math
from collections.abc import Callable
from typing import Final

from pi_fabric.base.jsonvalue import (
    Json,
    JsonObject,
    array_or_empty,
    is_finite_number,
    is_object,
    object_or_empty,
    stringify,
    utf16_length,
)

CHARS_PER_TOKEN: Final = 4
"""What Pi takes for one token, in UTF-16 units."""

# What Pi takes an image for, whatever its size; 1,200 tokens.
IMAGE_CHARS: Final = 4800


def estimate_tokens(message: JsonObject) -> int:
    """Pi's estimate of one message, in tokens; 0 for roles that Pi does not know.

    Characters are UTF-16 units. An image counts 4,800 of them, a tool call its name and its arguments as
    `JSON.stringify` writes them.
    """
    role = message.get("role")
    measure = _MEASURES.get(role) if isinstance(role, str) else None
    return 0 if measure is None else math.ceil(measure(message) / CHARS_PER_TOKEN)


def usage_tokens(message: JsonObject) -> float:
    """Tokens that the provider counted for an assistant message; 0 when it reported none.

    The total where there is one, else the sum of input, output and cache.
    """
    usage = message.get("usage")
    if message.get("role") != "assistant" or not is_object(usage):
        return 0
    parts = ("input", "output", "cacheRead", "cacheWrite")
    return _number(usage.get("totalTokens")) or sum(_number(usage.get(part)) for part in parts)


def _content_chars(content: Json) -> int:
    if isinstance(content, str):
        return utf16_length(content)
    chars = 0
    for part in array_or_empty(content):
        if not is_object(part):
            continue
        if part.get("type") == "text":
            chars += _chars(part.get("text"))
        elif part.get("type") == "image":
            chars += IMAGE_CHARS
    return chars


def _message_chars(message: JsonObject) -> int:
    return _content_chars(message.get("content"))


def _assistant_chars(message: JsonObject) -> int:
    chars = 0
    for part in array_or_empty(message.get("content")):
        if not is_object(part):
            continue
        kind = part.get("type")
        if kind == "text":
            chars += _chars(part.get("text"))
        elif kind == "thinking":
            chars += _chars(part.get("thinking"))
        elif kind == "toolCall":
            chars += _chars(part.get("name"))
            if "arguments" in part:
                chars += utf16_length(stringify(part["arguments"]))
    return chars


def _bash_chars(message: JsonObject) -> int:
    return _chars(message.get("command")) + _chars(message.get("output"))


def _summary_chars(message: JsonObject) -> int:
    return _chars(message.get("summary"))


def _system_chars(message: JsonObject) -> int:
    chars = _message_chars(message) + sum(map(_chars, object_or_empty(message.get("sections")).values()))
    if message.get("toolsAdded"):
        chars += utf16_length(stringify(message["toolsAdded"]))
    return chars


_MEASURES: Final[dict[str, Callable[[JsonObject], int]]] = {
    "assistant": _assistant_chars,
    "bashExecution": _bash_chars,
    "branchSummary": _summary_chars,
    "compactionSummary": _summary_chars,
    "custom": _message_chars,
    "system": _system_chars,
    "toolResult": _message_chars,
    "user": _message_chars,
}


def _chars(value: Json) -> int:
    return utf16_length(value) if isinstance(value, str) else 0


def _number(value: Json) -> float:
    return value if is_finite_number(value) else 0
