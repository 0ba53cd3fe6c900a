"""A list of checks with what they found, for a report that must be able to fail."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pi_fabric.base.jsonvalue import Json, JsonObject

# Of one check in the report; the first failures tell what is wrong.
_SHOWN_FAILURES = 5


@dataclass(slots=True)
class Check:
    """One thing that must hold, every time it is looked at."""

    name: str
    passed: int = 0
    failed: int = 0
    failures: list[str] = field(default_factory=list[str])
    """The first of them."""

    @property
    def holds(self) -> bool:
        """True when it was looked at and never failed."""
        return self.passed > 0 and not self.failed

    def to_json(self) -> JsonObject:
        """The check as it is reported."""
        record: JsonObject = {"name": self.name, "passed": self.passed, "failed": self.failed}
        return record if not self.failures else record | {"failures": self.failures}


@dataclass(slots=True)
class Phase:
    """A part of the certification: its checks, its figures, and how long it took."""

    name: str
    checks: dict[str, Check] = field(default_factory=dict[str, Check])
    figures: JsonObject = field(default_factory=dict[str, Json])
    seconds: float = 0.0
    problem: str = ""
    """Why it could not be carried out to its end."""

    def require(self, *names: str) -> None:
        """Announce checks, so that one that is never looked at counts as failed."""
        for name in names:
            self.checks.setdefault(name, Check(name))

    def see(self, name: str, holds: bool, failure: str = "") -> bool:
        """Note one look at a check; returns what was seen."""
        check = self.checks.setdefault(name, Check(name))
        if holds:
            check.passed += 1
        else:
            check.failed += 1
            if len(check.failures) < _SHOWN_FAILURES:
                check.failures.append(failure or "it does not hold")
        return holds

    @property
    def holds(self) -> bool:
        """True when every check was looked at and held."""
        return not self.problem and bool(self.checks) and all(check.holds for check in self.checks.values())

    def to_json(self) -> JsonObject:
        """The phase as it is reported."""
        record: JsonObject = {
            "name": self.name,
            "passed": self.holds,
            "seconds": round(self.seconds, 3),
            "figures": self.figures,
            "checks": [check.to_json() for check in self.checks.values()],
        }
        return record | {"problem": self.problem} if self.problem else record


def slope(values: Sequence[float]) -> float:
    """Least-squares slope of values over their places; 0 for fewer than two."""
    count = len(values)
    if count < 2:
        return 0.0
    middle, mean = (count - 1) / 2, sum(values) / count
    spread = sum((place - middle) ** 2 for place in range(count))
    return sum((place - middle) * (value - mean) for place, value in enumerate(values)) / spread
