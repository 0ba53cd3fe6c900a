"""The seam through which patterns of a program or a person are tried on texts.

A pattern is JavaScript's and may be hostile, so it never runs in our own process. Memory asks, a sandbox
answers; they are neighbours, so they meet here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

RegexProblem: TypeAlias = Literal["invalid_regex", "regex_timeout", "regex_worker_error"]
"""The pattern is none; it took too long; what runs it failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegexMatches:
    """What came of one pattern."""

    indices: tuple[int, ...] = ()
    """Which of the texts match, ascending; none when there is a problem."""
    problem: RegexProblem | None = None
    message: str = ""
    """A sentence about the problem; empty without one."""


class RegexPort(Protocol):
    """Tries patterns in a process that can be ended at any moment."""

    async def search(self, pattern: str, texts: Sequence[str], *, timeout_ms: int) -> RegexMatches:
        """Say which texts hold a match, as `new RegExp(pattern, "iu").test(text)` does.

        The caller bounds pattern and texts; the time bounds everything else, the start of a worker
        included. A cancelled search ends its worker.

        Args:
            pattern: JavaScript's syntax with the flags `i` and `u`; lone surrogates count as U+FFFD.
            texts: Any strings.
            timeout_ms: Wall clock for the whole search.
        """
        ...
