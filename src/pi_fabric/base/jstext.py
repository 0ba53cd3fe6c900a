r"""Text rules of JavaScript, where Python's differ.

Whitespace is what `\s` and `trim` mean there: U+FEFF counts, U+0085 and U+001C to U+001F do not. Lengths
are UTF-16 units; a cut never falls inside a surrogate pair but one unit earlier.
"""

import re
from typing import Final

from pi_fabric.base.bounds import ELLIPSIS, take_last_units, take_units
from pi_fabric.base.jsonvalue import utf16_length

WHITESPACE: Final = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""Every character that JavaScript trims."""

_RUN = re.compile(f"[{WHITESPACE}]+")


def trim(text: str) -> str:
    """`text` without whitespace at its ends."""
    return text.strip(WHITESPACE)


def trim_start(text: str) -> str:
    """`text` without whitespace at its start."""
    return text.lstrip(WHITESPACE)


def is_blank(text: str) -> bool:
    """True when `text` holds nothing but whitespace."""
    return not trim(text)


def collapse(text: str) -> str:
    """`text` on one line: each run of whitespace is one space, the ends have none."""
    return _RUN.sub(" ", text).strip(" ")


def first_line(text: str) -> str:
    """The first line that is not blank, up to its line feed; its end is kept as it is."""
    return trim_start(text).partition("\n")[0]


def truncate(text: str, max_units: int) -> str:
    """`text` on one line of at most `max_units` UTF-16 units, ending in an ellipsis when cut.

    Args:
        text: Any string; collapsed first.
        max_units: Bound on the result, ellipsis included; at least 1.
    """
    line = collapse(text)
    if utf16_length(line) <= max_units:
        return line
    return take_units(line, max_units - 1) + ELLIPSIS


def truncate_start(text: str, max_units: int) -> str:
    """As `truncate`, but what is cut is the start: of a path, the end tells most."""
    line = collapse(text)
    if utf16_length(line) <= max_units:
        return line
    return ELLIPSIS + take_last_units(line, max_units - 1)


def unit_order(text: str) -> bytes:
    """Sort key that orders texts by their UTF-16 units, as JavaScript compares strings."""
    return text.encode("utf-16-be", "surrogatepass")
