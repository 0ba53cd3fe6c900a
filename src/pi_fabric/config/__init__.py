"""Floor 1: `fabric.json`. Keys with defaults and bounds, layers, trust.

Changing a file is in `pi_fabric.config.rewrite`, which readers need not load.
"""

from pi_fabric.config.keys import Key
from pi_fabric.config.load import (
    ConfigFile,
    LoadedConfig,
    Notice,
    Origin,
    global_path,
    load_config,
    project_path,
)
from pi_fabric.config.model import KEYS, FabricConfig, Policy, ResultFormat
from pi_fabric.config.normalize import Correction, Normalized, normalize
from pi_fabric.config.trust import TrustState

__all__ = [
    "KEYS",
    "ConfigFile",
    "Correction",
    "FabricConfig",
    "Key",
    "LoadedConfig",
    "Normalized",
    "Notice",
    "Origin",
    "Policy",
    "ResultFormat",
    "TrustState",
    "global_path",
    "load_config",
    "normalize",
    "project_path",
]
