"""What the projections read: the events of one branch, sorted once for all of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pi_fabric.compaction.operations import Pairing, Performed
from pi_fabric.compaction.retold import retold
from pi_fabric.compaction.section import Section
from pi_fabric.history.events.model import CustomMessage, Event, FabricPhase, UserText


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One branch. A long one has a hundred thousand events, so they are looked through once."""

    events: Sequence[Event]
    """All of them; the other fields leave out what is told again."""
    users: Sequence[UserText]
    turn_starts: Sequence[int]
    """Positions among the events of the messages that open a turn: the user's and the extensions'."""
    phases: Sequence[FabricPhase]
    operations: Sequence[Performed]
    entry_count: int
    """Entries of the branch that told something."""

    @classmethod
    def of(cls, events: Sequence[Event]) -> "Source":
        """The source of `events`."""
        users: list[UserText] = []
        turn_starts: list[int] = []
        phases: list[FabricPhase] = []
        entry_ids: set[str] = set()
        pairing = Pairing()
        again = retold(events)
        for position, event in enumerate(events):
            entry_ids.add(event.source_entry_id)
            if event.index in again:
                continue
            if isinstance(event, UserText):
                users.append(event)
                turn_starts.append(position)
            elif isinstance(event, CustomMessage):
                turn_starts.append(position)
            elif isinstance(event, FabricPhase):
                phases.append(event)
            else:
                pairing.add(event)
        return cls(
            events=events,
            users=users,
            turn_starts=turn_starts,
            phases=phases,
            operations=pairing.operations(),
            entry_count=len(entry_ids),
        )


Projection: TypeAlias = Callable[[Source], Section]
"""Pure: the same source gives the same section."""
