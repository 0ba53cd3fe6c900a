"""What is wrong with a session file, counted and placed.

A fault never stops the reading; every one is counted, and the first hundred keep their places.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

FaultKind: TypeAlias = Literal[
    "no-header",
    "extra-header",
    "torn",
    "foreign",
    "too-long",
    "not-an-object",
    "unlinked",
    "duplicate-id",
    "missing-parent",
    "cycle",
]

# Enough to see the pattern; a file of nothing but faults must not fill the memory with them.
MAX_LISTED_FAULTS: Final = 100

_SENTENCES: Final[Mapping[FaultKind, str]] = {
    "no-header": "the session's header cannot be read",
    "extra-header": "a second header, left out",
    "torn": "cut off while it was written, skipped",
    "foreign": "not JSON, skipped",
    "too-long": "longer than a line may be, skipped",
    "not-an-object": "JSON but not an entry, skipped",
    "unlinked": "an entry without an id and a parent, on no branch",
    "duplicate-id": "an id that an earlier entry has too; the later one counts",
    "missing-parent": "its parent is not in the file; the branch begins here",
    "cycle": "its parents lead back to itself; the branch ends there",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that is wrong."""

    kind: FaultKind
    line: int
    """1-based."""
    offset: int
    """Of the line's first byte."""

    def __str__(self) -> str:
        """One line for a person."""
        return f"line {self.line}, byte {self.offset}: {_SENTENCES[self.kind]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """Everything that is wrong with a file."""

    counts: Mapping[FaultKind, int]
    """Only kinds that occur."""
    listed: Sequence[Fault]
    """In order of the file within the lines, then within the tree; at most a hundred."""

    @property
    def total(self) -> int:
        """How many there are, listed or not."""
        return sum(self.counts.values())


class FaultLog:
    """Collects faults; bounded by `MAX_LISTED_FAULTS`."""

    def __init__(self, base: Faults | None = None) -> None:
        self._counts: Counter[FaultKind] = Counter(base.counts if base else {})
        self._listed: list[Fault] = list(base.listed if base else ())

    def add(self, kind: FaultKind, line: int, offset: int) -> None:
        """Count a fault, and keep its place while there is room."""
        self._counts[kind] += 1
        if len(self._listed) < MAX_LISTED_FAULTS:
            self._listed.append(Fault(kind=kind, line=line, offset=offset))

    def faults(self) -> Faults:
        """What has been collected so far."""
        return Faults(counts=dict(self._counts), listed=tuple(self._listed))
