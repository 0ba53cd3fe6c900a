"""What a row of the bench is, and what running it gives."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass

# Odd, so that the median is a sample; enough to see a spread, few enough to stay short.
SAMPLES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure with its target."""

    name: str
    """As typed on the command line."""
    target: str
    """The target in words, with what it is compared to."""
    limit: float
    """Value that the median must not exceed."""
    unit: str
    measure: Callable[[], float]
    """Takes one sample, in `unit`. Called `samples` times; what is warm stays warm between."""
    breakdown: Callable[[], str] | None = None
    """Where the time or memory goes; asked after the samples."""
    samples: int = SAMPLES
    """Fewer where a sample takes long or is always the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A measured row."""

    row: Row
    samples: tuple[float, ...]

    @property
    def median(self) -> float:
        """The figure that counts."""
        return statistics.median(self.samples)

    @property
    def is_ok(self) -> bool:
        """True when the target is met."""
        return self.median <= self.row.limit


def run_row(row: Row) -> Outcome:
    """Measure one row."""
    return Outcome(row=row, samples=tuple(row.measure() for _ in range(row.samples)))
