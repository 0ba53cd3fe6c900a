"""Source maps, read as far as needed: which generated position comes from which source position."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from pi_fabric.runtime.typescript.lines import LANGUAGE_BREAK, Lines
from pi_fabric.runtime.typescript.wrapper import LINES_BEFORE

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_DIGITS = {char: value for value, char in enumerate(_ALPHABET)}
_CONTINUES = 32


@dataclass(frozen=True, slots=True)
class Segment:
    """One mapping; everything counts from 0, columns in UTF-16 units."""

    column: int
    source_line: int
    source_column: int


Mappings: TypeAlias = list[list[Segment]]
"""Segments by generated line, in the order of their columns."""


def decode_mappings(mappings: str) -> Mappings:
    """Decode the `mappings` of a source map with one source.

    Raises:
        ValueError: If a character is none of the alphabet.
    """
    lines: Mappings = []
    source_line = source_column = 0
    for group in mappings.split(";"):
        column = 0
        segments: list[Segment] = []
        for field in group.split(",") if group else ():
            deltas = list(_numbers(field))
            column += deltas[0]
            # A segment of one number says that what follows comes from no source.
            if len(deltas) >= 4:
                source_line += deltas[2]
                source_column += deltas[3]
                segments.append(Segment(column, source_line, source_column))
        lines.append(segments)
    return lines


def _numbers(field: str) -> Iterator[int]:
    value = shift = 0
    for char in field:
        digit = _DIGITS.get(char)
        if digit is None:
            raise ValueError(f"a source map holds {char!r}, which encodes no number")
        value |= (digit & (_CONTINUES - 1)) << shift
        shift += 5
        if not digit & _CONTINUES:
            yield -(value >> 1) if value & 1 else value >> 1
            value = shift = 0


class ShiftedPositions:
    """Positions of a script that is the wrapped program itself."""

    def __init__(self, code: str) -> None:
        self._code = code

    def locate(self, line: int, column: int) -> tuple[int, int] | None:
        """See `PositionMap.locate`."""
        lines = Lines(self._code)
        submitted = line - LINES_BEFORE
        if not 1 <= submitted <= len(lines):
            return None
        _, units = lines.position(lines.offset_of_byte(submitted - 1, column - 1))
        return submitted, units + 1


class MappedPositions:
    """Positions of an emitted script; the map is decoded when the first position is asked for."""

    def __init__(self, *, code: str, source: str, javascript: str, mappings: str) -> None:
        """Keep what is needed.

        Args:
            code: Submitted text.
            source: `code` as it was compiled, wrapped.
            javascript: Emitted script.
            mappings: Of the emitted script's source map.
        """
        self._code = code
        self._source = source
        self._javascript = javascript
        self._mappings = mappings

    def locate(self, line: int, column: int) -> tuple[int, int] | None:
        """See `PositionMap.locate`."""
        # The engine counts lines as an editor does, the map as the language does.
        offset = self.source_offset(self._engine_lines.offset_of_byte(line - 1, column - 1))
        if offset is None:
            return None
        source_line, source_column = self._submitted_lines.position(offset)
        submitted = source_line - LINES_BEFORE
        if not 0 <= submitted < len(Lines(self._code)):
            return None
        return submitted + 1, source_column + 1

    def source_offset(self, offset: int) -> int | None:
        """Offset in the source of an offset in the script; None in what the compiler added."""
        line, column = self._script_lines.position(offset)
        segments = self._segments_of(line)
        if not segments:
            return None
        index = bisect_right(segments, column, key=lambda segment: segment.column)
        segment = segments[max(0, index - 1)]
        source = self._source_lines.offset(segment.source_line, segment.source_column)
        # Within a segment the text is usually the same on both sides; then the position is exact.
        start = self._script_lines.offset(line, segment.column)
        inside = self._javascript[start:offset]
        return source + len(inside) if self._source.startswith(inside, source) else source

    def starts_segment(self, offset: int) -> bool:
        """True when a piece of the source begins exactly at this offset of the script."""
        line, column = self._script_lines.position(offset)
        return any(segment.column == column for segment in self._segments_of(line))

    def _segments_of(self, line: int) -> list[Segment]:
        return self._decoded[line] if line < len(self._decoded) else []

    @cached_property
    def _decoded(self) -> Mappings:
        return decode_mappings(self._mappings)

    @cached_property
    def _engine_lines(self) -> Lines:
        return Lines(self._javascript)

    @cached_property
    def _submitted_lines(self) -> Lines:
        return Lines(self._source)

    @cached_property
    def _script_lines(self) -> Lines:
        return Lines(self._javascript, LANGUAGE_BREAK)

    @cached_property
    def _source_lines(self) -> Lines:
        return Lines(self._source, LANGUAGE_BREAK)
