"""What is compared. An arm is a row of `ARMS`; everything else about the runs is the same."""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from pi_fabric.compaction.request import PI_VCC_SENTINEL

ArmName: TypeAlias = Literal["baseline", "fabric", "pi-vcc", "pi"]
Author: TypeAlias = Literal["fabric", "extension", "model"]
"""Who wrote a summary: Fabric, another extension, or Pi's model."""

ARM_NAMES: Final[tuple[ArmName, ...]] = get_args(ArmName)
BASELINE: Final[ArmName] = "baseline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One way to come back to a task."""

    name: ArmName
    meaning: str
    author: Author | None = None
    """Who must have written the summary; None resumes without a compaction."""
    instructions: str | None = None
    """What `compact` is told; None sends none."""
    engine: Literal["fabric", "pi"] = "fabric"
    """`compaction.engine` of Fabric, which is loaded in every arm so that all have the same tools."""
    loads_pi_vcc: bool = False


ARMS: Final[dict[ArmName, Arm]] = {
    "baseline": Arm(name="baseline", meaning="the full context, not compacted"),
    "fabric": Arm(name="fabric", meaning="compacted by Fabric, without a model", author="fabric"),
    "pi-vcc": Arm(
        name="pi-vcc",
        meaning="compacted by pi-vcc",
        author="extension",
        instructions=PI_VCC_SENTINEL,
        loads_pi_vcc=True,
    ),
    "pi": Arm(name="pi", meaning="compacted by Pi's own model", author="model", engine="pi"),
}
