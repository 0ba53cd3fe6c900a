"""What the projections read: the events, and the operations that they tell of, made once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pi_fabric.compaction.operations import Performed, operations_of
from pi_fabric.compaction.section import Section
from pi_fabric.history.events.model import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One branch, seen twice."""

    events: Sequence[Event]
    operations: Sequence[Performed]

    @classmethod
    def of(cls, events: Sequence[Event]) -> "Source":
        """The source of `events`."""
        return cls(events=events, operations=operations_of(events))


Projection: TypeAlias = Callable[[Source], Section]
"""Pure: the same source gives the same section."""
