"""Puts the extension into Pi and takes it out again.

Two files change: Pi's `settings.json` names the extension's folder, used in place, and
`fabric/python.json` names the interpreter that the extension starts. The package's own folder is never
written to.
"""

import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pi_fabric import __version__
from pi_fabric.base.errors import StoreError
from pi_fabric.base.files import write_atomic
from pi_fabric.base.jsonvalue import Json, stringify
from pi_fabric.config.jsonfile import read_json_object
from pi_fabric.host.pi.manifest import EXTENSION_DIR
from pi_fabric.host.pi.settings_file import change_packages, packages, source_of

# How the extension's folder ends in every installation of this package.
_FOLDER_TAIL = ("pi_fabric", "host", "pi", "extension")


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """What a change did."""

    settings: Path
    """Pi's settings file."""
    has_changed: bool
    """False when everything was in place already."""
    replaced: tuple[Path, ...] = ()
    """Folders of other installations of this package that were listed before."""


def settings_path(agent_dir: Path) -> Path:
    """Pi's settings file."""
    return agent_dir / "settings.json"


def python_path(agent_dir: Path) -> Path:
    """The file in which the extension finds its interpreter."""
    return agent_dir / "fabric" / "python.json"


def install(agent_dir: Path) -> Installation:
    """List the extension in Pi's settings and write down this interpreter. Blocking; idempotent.

    Raises:
        ConfigError: If `settings.json` is not what Pi could have written; nothing is changed then.
        StoreError: If a file cannot be written.
    """
    settings = settings_path(agent_dir)
    others: list[Path] = []

    def add(entries: list[Json]) -> list[Json]:
        kept = [entry for entry in entries if not _is_other(entry, agent_dir, others)]
        has_ours = any(_is_ours(entry, agent_dir) for entry in kept)
        return kept if has_ours else [*kept, str(EXTENSION_DIR)]

    has_changed = change_packages(settings, add)
    has_changed |= _write_python(python_path(agent_dir))
    return Installation(settings=settings, has_changed=has_changed, replaced=tuple(others))


def uninstall(agent_dir: Path) -> Installation:
    """Take every installation of this package out of Pi's settings. Blocking; idempotent.

    Raises:
        ConfigError: If `settings.json` is not what Pi could have written; nothing is changed then.
        StoreError: If a file cannot be written.
    """
    settings = settings_path(agent_dir)
    has_changed = settings.exists() and change_packages(
        settings, lambda entries: [entry for entry in entries if not _is_fabric(entry, agent_dir)]
    )
    has_changed |= _remove_python(python_path(agent_dir))
    return Installation(settings=settings, has_changed=has_changed)


def is_installed(agent_dir: Path) -> bool:
    """True when Pi's settings list this very installation. Blocking.

    Raises:
        ConfigError: If the file is no readable JSON object.
    """
    return any(_is_ours(entry, agent_dir) for entry in packages(settings_path(agent_dir)))


def _is_ours(entry: Json, agent_dir: Path) -> bool:
    folder = source_of(entry, agent_dir)
    return folder is not None and folder.resolve() == EXTENSION_DIR.resolve()


def _is_fabric(entry: Json, agent_dir: Path) -> bool:
    folder = source_of(entry, agent_dir)
    return folder is not None and (folder.parts[-4:] == _FOLDER_TAIL or _is_ours(entry, agent_dir))


def _is_other(entry: Json, agent_dir: Path, found: list[Path]) -> bool:
    if not _is_fabric(entry, agent_dir) or _is_ours(entry, agent_dir):
        return False
    folder = source_of(entry, agent_dir)
    assert folder is not None
    found.append(folder)
    return True


def _remove_python(path: Path) -> bool:
    try:
        path.unlink()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise StoreError(path, f"cannot be removed: {error.strerror or error}") from error
    # Whatever else may lie in the folder keeps it.
    with suppress(OSError):
        path.parent.rmdir()
    return True


def _write_python(path: Path) -> bool:
    wanted = {"python": sys.executable, "version": __version__}
    if read_json_object(path).value == wanted:
        return False
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, (stringify(wanted, indent=2) + "\n").encode())
    except OSError as error:
        raise StoreError(path, f"cannot be written: {error.strerror or error}") from error
    return True
