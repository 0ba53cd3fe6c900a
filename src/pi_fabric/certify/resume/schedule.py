"""The order of the runs: paired and shuffled, and the same for the same seed on every machine."""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from pi_fabric.certify.resume.arms import ArmName


class Slot(NamedTuple):
    """One run to be made."""

    fixture: str
    repeat: int
    """From 1."""
    arm: ArmName


def schedule(
    fixtures: Sequence[str], arms: Sequence[ArmName], *, repeats: int, seed: int
) -> tuple[Slot, ...]:
    """Plan every run.

    Each repeat of a fixture runs all arms in a row, in an order of its own, so that what changes over
    time at a provider meets every arm. Repeats come outermost: whenever a run is stopped, the fixtures
    have been run equally often, but for one.

    Args:
        fixtures: Names, in their order within a repeat.
        arms: Each at most once; their order here changes nothing.
        repeats: How often.
        seed: Any integer; another one gives another order.
    """
    return tuple(
        slot
        for repeat in range(1, repeats + 1)
        for fixture in fixtures
        for slot in sorted((Slot(fixture, repeat, arm) for arm in arms), key=lambda slot: _rank(slot, seed))
    )


def _rank(slot: Slot, seed: int) -> bytes:
    # A hash and no generator: the order does not depend on Python's version.
    return hashlib.sha256(f"{seed}\0{slot.fixture}\0{slot.repeat}\0{slot.arm}".encode()).digest()
