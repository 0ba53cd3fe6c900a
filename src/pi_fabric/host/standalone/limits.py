"""How much a tool returns at most, and how sizes are told.

The two bounds are Pi's, so that a program sees the same amount with and without it: more than this in
one result is rarely read by a model and is paid for at every later turn.
"""

import math
from collections.abc import Iterable
from typing import Final

MAX_LINES: Final = 2_000
MAX_BYTES: Final = 50 * 1024
# A matching line is shown for its neighbourhood; minified files have lines of megabytes.
MAX_LINE_UNITS: Final = 500


def size(count: int) -> str:
    """A number of bytes in the unit a person would choose, such as `1.5 MB`; 1 KB is 1,024 bytes."""
    if count < 1024:
        return counted(count, "byte")
    units = ("KB", "MB", "GB", "TB")
    step = min(int(math.log(count, 1024)), len(units))
    return f"{count / 1024**step:.1f} {units[step - 1]}".replace(".0 ", " ")


def counted(number: int, noun: str) -> str:
    """`1 line`, `2 lines`, `12,345 lines`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def join_within(lines: Iterable[str], max_bytes: int = MAX_BYTES) -> tuple[str, int]:
    """Join whole lines while they fit `max_bytes` of UTF-8; returns the text and how many fitted."""
    kept: list[str] = []
    used = -1
    for line in lines:
        used += len(line.encode("utf-8", "replace")) + 1
        if used > max_bytes:
            break
        kept.append(line)
    return "\n".join(kept), len(kept)
