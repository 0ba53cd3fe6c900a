"""Lines and sections of a summary, before they are cut to size.

A line knows what it stands for, so that a cut can say how much is missing and where to find it. Text from
the source is made one line before it gets here; an address is an entry id, or an entry id with the number
of a nested call.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pi_fabric.base.jstext import collapse

SectionName = Literal["goal", "files", "activity", "outstanding", "earlierTurns", "status", "transcript"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a section."""

    text: str
    """As shown, without a line break."""
    first: str | None = None
    """Address of the first thing that the line stands for; None for a label."""
    last: str | None = None
    """Address of the last one."""
    count: int = 0
    """How many things it stands for; 0 for a label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """What one projection made of the events."""

    name: SectionName
    lines: tuple[Line, ...] = ()
    """Empty when there is nothing to tell; the section is then not shown."""
    omitted: int = 0
    """Things that its caps left out."""
    pinned: int = 0
    """Lines at its start that a cut to size leaves in place."""


def item(address: str, text: str) -> Line:
    """A line that tells of one thing, its address first so that no cut takes it."""
    return Line(text=f"- [{collapse(address)}] {text}", first=address, last=address, count=1)


def label(text: str) -> Line:
    """A line that stands for nothing itself."""
    return Line(text=text)


def omission(count: int, first: str, last: str) -> Line:
    """Says how many things are missing here, and the range that holds them."""
    start, end = collapse(first), collapse(last)
    place = f"in {start}" if start == end else f"{start} to {end}"
    return Line(text=f"… {count} more, {place}", first=first, last=last, count=count)


def merged(lines: Sequence[Line]) -> Line | None:
    """One omission in place of `lines`; None when they stand for nothing.

    What follows stays under the right label: the last one among `lines` is said again.
    """
    telling = [line for line in lines if line.count]
    if not telling:
        return None
    first, last = telling[0].first or "", telling[-1].last or ""
    gap = omission(sum(line.count for line in telling), first, last)
    labels = [line.text for line in lines if not line.count]
    return replace(gap, text=f"{gap.text}; {labels[-1]}") if labels else gap
