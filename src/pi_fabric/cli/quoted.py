"""What somebody else wrote, within a line of ours."""

from typing import Final

from pi_fabric.base.bounds import clip_bytes
from pi_fabric.base.printable import printable

# Leaves room for a few words of ours in 80 columns.
MAX_QUOTED_BYTES: Final = 70
MAX_MISTYPED_BYTES: Final = 20
"""Of what somebody typed in the place of a number or a word: the start tells which one it was."""


def one_line(text: str, max_bytes: int = MAX_QUOTED_BYTES) -> str:
    """Text from elsewhere, short and on one line, that cannot steer a terminal."""
    return clip_bytes(printable(text), max_bytes)
