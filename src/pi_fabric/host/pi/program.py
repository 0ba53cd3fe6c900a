"""Finds the Pi that the user runs, and reads which version it is, without running it."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pi_fabric.config.jsonfile import read_json_object

FLOOR = (0, 80, 6)
"""The oldest Pi that is supported."""
PIPELINE = (0, 99, 0)
"""From here on Pi runs nested calls through its own pipeline, hooks included."""
PACKAGE = "@earendil-works/pi-coding-agent"
# Parts that must be of the agent's own version before 1.0, whatever its ranges admit.
PARTS = ("pi-ai", "pi-agent-core", "pi-tui")


@dataclass(frozen=True, slots=True, kw_only=True)
class PiProgram:
    """One installed Pi."""

    executable: Path
    folder: Path
    """Of the package."""
    version: str
    parts: Mapping[str, str]
    """Versions of the parts that it would load, by name; a missing one is absent."""

    @property
    def number(self) -> tuple[int, ...]:
        """The version as numbers, without a pre-release mark."""
        plain = self.version.split("-")[0].split("+")[0]
        return tuple(int(part) if part.isdigit() else 0 for part in plain.split("."))

    @property
    def strays(self) -> list[str]:
        """Parts of another version that this Pi would crash with at its start."""
        if self.number >= (1, 0, 0):
            return []
        return [f"{name} {found}" for name, found in self.parts.items() if found != self.version]


def find_pi(search_path: str | None) -> PiProgram | None:
    """The `pi` on PATH; None when there is none or it is something else. Blocking.

    Args:
        search_path: Value of PATH, or one folder; None takes the process's own.
    """
    found = shutil.which("pi", path=search_path)
    return None if found is None else inspect(Path(found))


def inspect(executable: Path) -> PiProgram | None:
    """Read the package that an executable belongs to; None when it is not Pi. Blocking."""
    for folder in executable.resolve().parents:
        name, version = _name_and_version(folder)
        if name == PACKAGE:
            return PiProgram(executable=executable, folder=folder, version=version, parts=_parts_of(folder))
    return None


def _parts_of(folder: Path) -> dict[str, str]:
    # Node's own search: the package's node_modules first, then those of the folders above.
    parts: dict[str, str] = {}
    for name in PARTS:
        for place in (folder, *folder.parents):
            found, version = _name_and_version(place / "node_modules" / "@earendil-works" / name)
            if found:
                parts[name] = version
                break
    return parts


def _name_and_version(folder: Path) -> tuple[str, str]:
    package = read_json_object(folder / "package.json").value
    return str(package.get("name", "")), str(package.get("version", ""))
