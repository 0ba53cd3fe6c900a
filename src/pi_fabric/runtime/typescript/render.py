"""Show a refusal to whoever wrote the program."""

import unicodedata
from collections.abc import Sequence
from typing import Final

from pi_fabric.runtime.typescript.lines import Lines
from pi_fabric.runtime.typescript.model import Diagnostic

# What a terminal shows in one row.
MAX_COLUMNS: Final = 80
_MARK: Final = "…"

_UNTERMINATED: Final = frozenset({1002, 1160, 1161})
# The parser stopped right behind a quote: text that was meant to be inside a string stands outside it.
_EXPECTED_OTHER: Final = frozenset({1003, 1005, 1127, 1128, 1136, 1351, 1434, 1435, 1443})
_QUOTES: Final = "'\"`"

NAMED_STRINGS_HINT: Final = (
    "If this is text that belongs inside a string, send it unescaped in the argument\n"
    "`strings`, as {name: text}, and write π.name in the program."
)


def render(diagnostic: Diagnostic, code: str) -> str:
    """Write `line:column message`; for a syntax error also the source line and a caret below it.

    Args:
        diagnostic: In positions of `code`.
        code: Submitted text.
    """
    title = f"{diagnostic.line}:{diagnostic.column} {diagnostic.message}"
    if not diagnostic.is_syntax:
        return title
    lines = Lines(code)
    text = lines.text_of(diagnostic.line - 1)
    before = lines.offset(diagnostic.line - 1, diagnostic.column - 1) - lines.offset(diagnostic.line - 1, 0)
    shown, caret = _window(text, before)
    return f"{title}\n{shown}\n{' ' * caret}^"


def recovery_hint(problems: Sequence[Diagnostic], code: str) -> str | None:
    """What helps when the text of a payload broke the program's syntax; None for every other refusal.

    Args:
        problems: Of one refusal.
        code: Submitted text.
    """
    lines = Lines(code)
    for problem in problems:
        if problem.is_syntax and _breaks_string(problem, code, lines):
            return NAMED_STRINGS_HINT
    return None


def _breaks_string(problem: Diagnostic, code: str, lines: Lines) -> bool:
    if problem.code in _UNTERMINATED:
        return True
    offset = lines.offset(problem.line - 1, problem.column - 1)
    return problem.code in _EXPECTED_OTHER and offset > 0 and code[offset - 1] in _QUOTES


def _window(text: str, position: int) -> tuple[str, int]:
    """The part of a line around a position, and the caret's column in it.

    What would move the caret or speak to the terminal is shown as a blank or a dot.
    """
    first = max(0, position - MAX_COLUMNS // 2)
    visible = [_visible(char) for char in text[first : first + MAX_COLUMNS]]
    caret = min(position - first, len(visible))
    before, after = visible[:caret], visible[caret:]
    is_cut_left = first > 0
    while _width(before) > MAX_COLUMNS // 2 - 1:
        before.pop(0)
        is_cut_left = True
    left = (_MARK if is_cut_left else "") + "".join(before)
    room = MAX_COLUMNS - _width(left)
    is_cut_right = first + len(visible) < len(text)
    while after and _width(after) + is_cut_right > room:
        after.pop()
        is_cut_right = True
    return left + "".join(after) + (_MARK if is_cut_right else ""), _width(left)


def _visible(char: str) -> str:
    if char == "\t":
        return " "
    return char if char.isprintable() else "·"


def _width(chars: Sequence[str]) -> int:
    """Columns in a terminal: two for wide characters, none for those that combine with the one before."""
    return sum(_char_width(char) for char in chars)


def _char_width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1
