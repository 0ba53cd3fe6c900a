"""The configuration as one sidecar uses it, and how far Pi's word about the project goes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from pi_fabric.config.model import FabricConfig
from pi_fabric.config.trust import TrustState, stored_trust


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a session runs with; fixed until the sidecar is started anew."""

    config: FabricConfig
    trust: TrustState
    notices: tuple[str, ...] = ()
    """What the user should know about the files, a sentence each."""
    environ: Mapping[str, str] | None = None
    """Environment with the agent folder that Pi told; None for the process's own."""


LoadSettings: TypeAlias = Callable[[Path, Mapping[str, str], bool], Settings]
"""Reads the configuration for a folder that Pi calls trusted (or not). Blocking."""


def trust_state(cwd: Path, environ: Mapping[str, str], *, is_trusted: bool) -> TrustState:
    """Refine Pi's yes or no. Blocking.

    Pi calls a folder without settings of its own trusted although nobody was asked; only a stored
    decision for the folder or one above it counts as the user's own.
    """
    if not is_trusted:
        return "untrusted"
    return "stored" if stored_trust(cwd, environ).state == "stored" else "default"
