"""Which functions of Pi are driven, and that they are those of the version that is installed."""

from typing import Final

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.certify.checks import Phase

CHECKS: Final = (
    "the version that runs is the one that is installed",
    "every function that is driven is there, in the known shape",
)
# How many parameters they take; `prepareCompaction` is no public one, so that nothing else holds Pi to it.
PARAMETERS: Final = {"prepareCompaction": 2, "shouldCompact": 3}


def know_functions(phase: Phase, info: JsonObject, version: str) -> None:
    """Check what the driver tells of Pi against the `version` of the installed package."""
    phase.require(*CHECKS)
    phase.see(CHECKS[0], info["version"] == version, f"{info['version']} and not {version}")
    for name, shape in info["exports"].items():
        is_known = shape["isFound"] and shape["parameters"] == PARAMETERS.get(name, shape["parameters"])
        phase.see(CHECKS[1], is_known, f"{name} takes {shape['parameters']} parameters")
    phase.figures["functions"] = len(info["exports"])
