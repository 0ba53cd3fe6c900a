"""Lines and columns of a text, columns in UTF-16 units.

Who counts lines does not agree with who else does: an editor, the language server and QuickJS end a line
at LF, CR or CRLF; the compiler's command line and its source maps also at U+2028 and U+2029. Offsets are
the neutral ground between them.
"""

import re
from bisect import bisect_right
from typing import Final

from pi_fabric.base.bounds import take_units
from pi_fabric.base.jsonvalue import utf16_length

EDITOR_BREAK: Final = re.compile(r"\r\n?|\n")
LANGUAGE_BREAK: Final = re.compile("\r\n?|[\n\u2028\u2029]")


class Lines:
    """Converts between offsets into a text and its lines and columns, all from 0."""

    def __init__(self, text: str, line_break: re.Pattern[str] = EDITOR_BREAK) -> None:
        self._text = text
        self._starts = [0, *(match.end() for match in line_break.finditer(text))]
        self._ends = [*(match.start() for match in line_break.finditer(text)), len(text)]

    def __len__(self) -> int:
        """Number of lines; an empty text has one."""
        return len(self._starts)

    def text_of(self, line: int) -> str:
        """The line without its break; empty for a line that does not exist."""
        if not 0 <= line < len(self._starts):
            return ""
        return self._text[self._starts[line] : self._ends[line]]

    def offset(self, line: int, column: int) -> int:
        """Offset of a position; what lies outside comes to the nearest end of the line or text."""
        if line < 0:
            return 0
        if line >= len(self._starts):
            return len(self._text)
        return self._starts[line] + len(take_units(self.text_of(line), max(column, 0)))

    def offset_of_byte(self, line: int, byte: int) -> int:
        """Offset of a position whose column counts UTF-8 bytes; inside a character, that character's."""
        start = self.offset(line, 0)
        prefix = self.text_of(line).encode("utf-8", "surrogatepass")[: max(byte, 0)]
        return start + len(prefix.decode("utf-8", "ignore"))

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset; within a break counts as the end of its line."""
        bounded = min(max(offset, 0), len(self._text))
        line = bisect_right(self._starts, bounded) - 1
        end = min(bounded, self._ends[line])
        return line, utf16_length(self._text[self._starts[line] : end])
