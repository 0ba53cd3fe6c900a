"""The one async function around a program, so that top-level `await` and `return` work.

The wrapper opens on a line of its own and closes after one, so columns stay, and line N of the
submitted text (from 1) is line N, from 0, of the source.
"""

from typing import Final

HEADER: Final = "async function program() {"
# Checked under another name, so that a program that means a `program` of its own is told it has none;
# of the same length, so that offsets into both sources agree.
CHECKED_HEADER: Final = "async function __guest() {"
_FOOTER: Final = "\n}\n"
LINES_BEFORE: Final = 1
CHARS_BEFORE: Final = len(HEADER) + 1


def wrap(code: str) -> str:
    """The source to emit, and the script itself when there is no compiler."""
    return f"{HEADER}\n{code}{_FOOTER}"


def wrap_for_check(code: str) -> str:
    """The source to check; offsets equal those of `wrap(code)`."""
    return f"{CHECKED_HEADER}\n{code}{_FOOTER}"


def closing_offset(code: str) -> int:
    """Offset in `wrap(code)` of the brace that closes the wrapper."""
    return CHARS_BEFORE + len(code) + 1
