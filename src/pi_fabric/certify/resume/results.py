"""What a benchmark found, as values; rendering is elsewhere."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Literal, TypeAlias

from pi_fabric.certify.resume.arms import ARM_NAMES, ArmName
from pi_fabric.certify.resume.rates import Interval, Paired, paired, wilson_95
from pi_fabric.certify.resume.schedule import Slot

Ending: TypeAlias = Literal["settled", "refused", "crashed", "timed-out"]
"""How a run ended: by itself, with something that Pi or a model would not do, with the end of Pi, or at
its time limit."""
Stopped: TypeAlias = Literal["budget", "interrupted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One arm on one fixture, once."""

    slot: Slot
    ending: Ending
    reasons: tuple[str, ...]
    """Why it did not pass; none when it did."""
    tokens: Mapping[str, int]
    usd: float
    is_cost_complete: bool
    tool_calls: int
    nested_calls: int
    recall_calls: int
    wall_ms: int
    """Pi's starts, compaction and resume; not the scoring."""
    summary_bytes: int | None
    """None without a compaction."""

    @property
    def has_passed(self) -> bool:
        """True when the repository is as it should be and the run ended by itself."""
        return not self.reasons

    @property
    def total_tokens(self) -> int:
        """Of every kind."""
        return sum(self.tokens.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmFigures:
    """All runs of one arm."""

    arm: ArmName
    runs: int
    passes: int
    interval: Interval | None
    """Wilson 95 % of the pass rate; None without runs."""
    tokens: float | None
    """This and what follows: the median of a run; None without runs."""
    usd: float | None
    tool_calls: float | None
    recall_calls: float | None
    wall_ms: float | None
    summary_bytes: float | None

    @property
    def rate(self) -> float | None:
        """Part that passed; None without runs."""
        return self.passes / self.runs if self.runs else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Versus:
    """One arm against another."""

    arm: ArmName
    other: ArmName
    paired: Paired


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One benchmark."""

    provider: str
    model: str
    key_env: str
    """The name alone."""
    pi_version: str
    fabric_version: str
    pi_vcc: str
    """File name of the extension; "" without one."""
    fixtures: Mapping[str, str]
    """Titles by name."""
    arms: tuple[ArmName, ...]
    repeats: int
    seed: int
    timeout_s: float
    max_usd: float
    spent_usd: float
    """Of every run, of one that was interrupted too."""
    stopped: Stopped | None
    """Why runs are missing; None when all were made."""
    runs: Sequence[Run]
    """In the order in which they were made."""
    not_run: Sequence[Slot]
    left_behind: str = ""
    """The temporary folder, when it could not be removed."""

    @property
    def is_cost_complete(self) -> bool:
        """False when Pi did not record what some summary cost."""
        return all(run.is_cost_complete for run in self.runs)

    def figures(self) -> tuple[ArmFigures, ...]:
        """One row for each arm."""
        return tuple(self._figures_of(arm) for arm in self.arms)

    def versus(self) -> tuple[Versus, ...]:
        """Each arm against the baseline, then the others against each other."""
        ordered: list[ArmName] = [arm for arm in ARM_NAMES if arm in self.arms]
        return tuple(self._versus(later, earlier) for earlier, later in combinations(ordered, 2))

    def _figures_of(self, arm: ArmName) -> ArmFigures:
        runs = [run for run in self.runs if run.slot.arm == arm]
        passes = sum(run.has_passed for run in runs)
        return ArmFigures(
            arm=arm,
            runs=len(runs),
            passes=passes,
            interval=wilson_95(passes, len(runs)),
            tokens=_median([run.total_tokens for run in runs]),
            usd=_median([run.usd for run in runs]),
            tool_calls=_median([run.tool_calls for run in runs]),
            recall_calls=_median([run.recall_calls for run in runs]),
            wall_ms=_median([run.wall_ms for run in runs]),
            summary_bytes=_median([run.summary_bytes for run in runs if run.summary_bytes is not None]),
        )

    def _versus(self, arm: ArmName, other: ArmName) -> Versus:
        passed = {run.slot: run.has_passed for run in self.runs}
        pairs = [
            (has_passed, passed[slot._replace(arm=other)])
            for slot, has_passed in passed.items()
            if slot.arm == arm and slot._replace(arm=other) in passed
        ]
        return Versus(arm=arm, other=other, paired=paired(pairs))


def _median(values: Sequence[float]) -> float | None:
    return median(values) if values else None
