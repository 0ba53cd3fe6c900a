"""Which of many things are shown: the earliest and the latest, with one line for what lies between."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pi_fabric.compaction.section import Line, omission

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample(Generic[T]):
    """A collection in three parts, in order."""

    head: Sequence[T]
    omitted: Sequence[T]
    tail: Sequence[T]


def sample(items: Sequence[T], cap: int) -> Sample[T]:
    """Keep at most `cap` items: the greater half from the start, the rest from the end."""
    if len(items) <= cap:
        return Sample(head=items, omitted=(), tail=())
    head, tail = cap - cap // 2, len(items) - cap // 2
    return Sample(head=items[:head], omitted=items[head:tail], tail=items[tail:])


def sampled_lines(items: Sequence[T], cap: int, line: Callable[[T], Line]) -> tuple[list[Line], int]:
    """The lines of a sample, and how many items its omission stands for.

    Args:
        items: In the order of their telling.
        cap: Items shown at most.
        line: The line of one item; also asked for the ends of what is left out, for their addresses.
    """
    parts = sample(items, cap)
    lines = [line(one) for one in parts.head]
    if parts.omitted:
        lines.append(left_out([line(parts.omitted[0]), line(parts.omitted[-1])], len(parts.omitted)))
    return lines + [line(one) for one in parts.tail], len(parts.omitted)


def left_out(ends: Sequence[Line], count: int) -> Line:
    """The omission of `count` things between the first and the last of `ends`."""
    return omission(count, ends[0].first or "", ends[-1].last or "")
