"""What a provider is built from; each takes what it needs and nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pi_fabric.config import FabricConfig
from pi_fabric.protocol.host import HostPorts
from pi_fabric.protocol.regex import RegexPort


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Where a Fabric was opened; the same for as long as it is open."""

    ports: HostPorts
    """What the host offers."""
    config: FabricConfig
    """Settings in force."""
    environ: Mapping[str, str]
    """Tells the home and agent folders."""
    cwd: Path
    """Working folder of the programs' calls."""
    regex: RegexPort | None = None
    """Runs patterns; None where nothing can."""
