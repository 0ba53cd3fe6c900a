"""Collect what a program prints, within bounds."""

from pi_fabric.base.bounds import take_units
from pi_fabric.base.jsonvalue import utf16_length

# What a result's file may hold of the logs beyond those that the result shows.
MAX_HELD_CHARS = 8 * 1024 * 1024


class LogBuffer:
    """Lines that a program printed: all of them up to 8 Mi characters, and the view that is reported.

    Args:
        max_chars: Bound on the reported lines together, in UTF-16 units; newlines are not counted.
    """

    def __init__(self, max_chars: int) -> None:
        self._max_chars = max_chars
        self._held = _Bounded(max(max_chars, MAX_HELD_CHARS))
        self._shown = _Bounded(max_chars)

    @property
    def lines(self) -> list[str]:
        """What the result reports: cut at the bound, with one line more that says so."""
        return self._shown.marked()

    @property
    def everything(self) -> list[str]:
        """What the result's text is made of; cut, and said to be, only beyond 8 Mi characters."""
        return self._held.marked()

    def add(self, line: str) -> None:
        """Append one line; keeps nothing of it once the bounds are reached."""
        self._shown.add(line)
        self._held.add(line)


class _Bounded:
    """Lines up to a number of characters; the one that crosses it is cut, later ones are counted."""

    def __init__(self, max_chars: int) -> None:
        self._max_chars = max_chars
        self._lines: list[str] = []
        self._room = max_chars
        self._is_full = False
        self._dropped = 0

    def add(self, line: str) -> None:
        if self._is_full:
            self._dropped += 1
            return
        size = utf16_length(line)
        # Empty lines cost no characters, so the same bound holds for their number.
        if size <= self._room and len(self._lines) < self._max_chars:
            self._room -= size
            self._lines.append(line)
            return
        self._is_full = True
        start = take_units(line, self._room)
        if start:
            self._lines.append(start)
        else:
            self._dropped += 1

    def marked(self) -> list[str]:
        if not self._is_full:
            return list(self._lines)
        dropped = f"; later lines dropped: {self._dropped}" if self._dropped else ""
        return [*self._lines, f"[logs cut at {self._max_chars} characters{dropped}]"]
