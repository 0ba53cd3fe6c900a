"""Diagnostics as a compiler's command line prints them."""

import re
from dataclasses import dataclass

from pi_fabric.runtime.typescript.lines import LANGUAGE_BREAK, Lines

_LINE = re.compile(r"program\.ts\((\d+),(\d+)\): error TS(\d+): (.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """One diagnostic of the wrapped source, before any policy."""

    offset: int
    """Into the wrapped source."""
    code: int
    message: str
    """May have several lines, each reason below what it explains."""


def parse_printed(printed: str, source: str) -> list[Reported]:
    """Read what the compiler printed about `program.ts`; the rest is skipped.

    Args:
        printed: Standard output of a run without `--pretty`.
        source: Text of `program.ts`.
    """
    lines = Lines(source, LANGUAGE_BREAK)
    found: list[Reported] = []
    for text in printed.split("\n"):
        match = _LINE.match(text)
        if match is not None:
            line, column, code = (int(match.group(index)) for index in (1, 2, 3))
            offset = lines.offset(line - 1, column - 1)
            found.append(Reported(offset=offset, code=code, message=match.group(4).rstrip("\r")))
        elif text.startswith("  ") and found:
            last = found[-1]
            found[-1] = Reported(offset=last.offset, code=last.code, message=f"{last.message}\n{text}")
    return found
