"""Projections: each makes one section of the summary from the events of a branch."""

from typing import Final

from pi_fabric.compaction.projections.activity import activity
from pi_fabric.compaction.projections.earlier_turns import earlier_turns
from pi_fabric.compaction.projections.files import files
from pi_fabric.compaction.projections.goal import goal
from pi_fabric.compaction.projections.outstanding import outstanding
from pi_fabric.compaction.projections.source import Projection, Source
from pi_fabric.compaction.projections.status import status
from pi_fabric.compaction.projections.transcript import transcript

PROJECTIONS: Final[tuple[Projection, ...]] = (
    goal,
    files,
    activity,
    outstanding,
    earlier_turns,
    status,
    transcript,
)
"""In the order in which they are shown."""

__all__ = ["PROJECTIONS", "Projection", "Source"]
