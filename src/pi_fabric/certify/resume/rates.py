"""The two figures that small samples allow: an interval for a rate, and what pairs say."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

Interval: TypeAlias = tuple[float, float]

# The 97.5 % point of the normal distribution.
_Z: Final = 1.959963984540054


def wilson_95(passes: int, runs: int) -> Interval | None:
    """The Wilson 95 % interval of a rate; None without runs.

    Args:
        passes: From 0 to `runs`.
        runs: 0 or more.
    """
    if runs == 0:
        return None
    rate = passes / runs
    spread = _Z * math.sqrt(rate * (1 - rate) / runs + _Z**2 / (4 * runs**2))
    centre, scale = rate + _Z**2 / (2 * runs), 1 + _Z**2 / runs
    # At the ends the exact bound is 0 or 1, which rounding would miss.
    low = 0.0 if passes == 0 else (centre - spread) / scale
    high = 1.0 if passes == runs else (centre + spread) / scale
    return low, high


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """How one arm did against another where both ran the same repeat of the same fixture."""

    wins: int
    """It passed and the other failed."""
    losses: int
    ties: int
    """Both passed or both failed."""

    @property
    def pairs(self) -> int:
        """How many there are."""
        return self.wins + self.losses + self.ties

    def rate(self, count: int) -> float | None:
        """A count as a part of the pairs; None without pairs."""
        return count / self.pairs if self.pairs else None


def paired(outcomes: Iterable[tuple[bool, bool]]) -> Paired:
    """Count pairs of (it passed, the other passed)."""
    found = list(outcomes)
    wins = sum(ours and not theirs for ours, theirs in found)
    losses = sum(theirs and not ours for ours, theirs in found)
    return Paired(wins=wins, losses=losses, ties=len(found) - wins - losses)
