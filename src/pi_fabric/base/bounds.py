"""Cut text to a bound without splitting a character.

Three units, never mixed: `bytes` are UTF-8 (a lone surrogate counts as the three of U+FFFD), `units` are
UTF-16 as JavaScript counts a string's length, and nothing is ever cut inside a scalar: where a bound
falls inside one, the cut lies before it.
"""

from collections.abc import Callable
from typing import Final

from pi_fabric.base.jsonvalue import Json, stringify, utf16_length

ELLIPSIS: Final = "…"

# A cut moves to a line end when one lies within this part of what is kept.
_LINE_END_SHARE = 4
# UTF-8: continuation bytes are 10xxxxxx.
_CONTINUATION_MASK, _CONTINUATION = 0xC0, 0x80


def utf8_bytes(text: str) -> int:
    """Size of `text` in UTF-8 bytes."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-8", "surrogatepass"))


def json_bytes(value: Json) -> int:
    """Size of `JSON.stringify(value)` in UTF-8 bytes; an escaped lone surrogate counts six."""
    return len(stringify(value).encode())


def clip_bytes(text: str, max_bytes: int, *, marker: str = ELLIPSIS) -> str:
    """Cut `text` to at most `max_bytes` of UTF-8, ending in `marker` when something was cut.

    The work is bounded by `max_bytes`, not by the text.

    Args:
        text: Any string; lone surrogates count three bytes and are kept.
        max_bytes: Bound on the whole result, marker included; zero and below give "".
        marker: What a cut text ends in; a bound with no room beyond it gives "".
    """
    if len(text) <= max_bytes and utf8_bytes(text) <= max_bytes:
        return text
    room = max_bytes - len(marker.encode())
    if room <= 0:
        return ""
    data = text[: room + 1].encode("utf-8", "surrogatepass")
    end = room
    while end and data[end] & _CONTINUATION_MASK == _CONTINUATION:
        end -= 1
    return data[:end].decode("utf-8", "surrogatepass") + marker


def take_units(text: str, max_units: int) -> str:
    """The longest start of `text` with at most `max_units` UTF-16 units."""
    bound = max(0, max_units)
    start = text[:bound]
    # A character has at most two units, so at least half the excess in characters must go.
    while (excess := utf16_length(start) - bound) > 0:
        start = start[: len(start) - (excess + 1) // 2]
    return start


def take_last_units(text: str, max_units: int) -> str:
    """The longest end of `text` with at most `max_units` UTF-16 units."""
    bound = max(0, max_units)
    end = text[max(0, len(text) - bound) :]
    while (excess := utf16_length(end) - bound) > 0:
        end = end[(excess + 1) // 2 :]
    return end


def head_and_tail(text: str, max_units: int, marker: Callable[[int], str]) -> str:
    """Keep both ends of `text` and say what is missing between them.

    Cuts prefer line ends, when that costs at most a quarter of the head or the tail; the marker is then a
    line of its own.

    Args:
        text: Any string.
        max_units: Bound on the whole result in UTF-16 units, marker included.
        marker: Gives the words between the ends for the number of units left out.

    Returns:
        `text` itself when it fits; only its start when there is no room for the marker.
    """
    total = utf16_length(text)
    if total <= max_units:
        return text
    # The marker for everything is as long as any other can get.
    room = max_units - utf16_length(marker(total))
    if room <= 0:
        return take_units(text, max_units)
    head = _to_line_end(take_units(text, room - room // 2))
    tail = _from_line_end(take_last_units(text, room // 2))
    return f"{head}{marker(total - utf16_length(head) - utf16_length(tail))}{tail}"


def _to_line_end(head: str) -> str:
    end = head.rfind("\n", len(head) - len(head) // _LINE_END_SHARE)
    return head if end < 0 else head[: end + 1]


def _from_line_end(tail: str) -> str:
    start = tail.find("\n", 0, len(tail) // _LINE_END_SHARE)
    return tail if start < 0 else tail[start:]
