"""Whether a project's own configuration counts, and which keys a project may not decide by itself.

Inside Pi the host says how far the project is trusted. Elsewhere the answer is worked out from what Pi
has stored, and every doubt is decided against the project.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pi_fabric.base.jsonvalue import UNDEFINED, JsonObject
from pi_fabric.base.paths import agent_dir, home_dir
from pi_fabric.config.jsonfile import JsonFile, read_json_object
from pi_fabric.config.keys import Key, value_at
from pi_fabric.config.kinds import Word
from pi_fabric.config.model import KEYS, FabricConfig

TrustState = Literal["stored", "default", "untrusted"]
"""`stored`: the user decided for it. `default`: nobody was asked. `untrusted`: its files do not count."""

# What in `.pi` makes Pi ask before it uses a folder.
_GUARDED_ENTRIES = (
    "settings.json", "mcp.json", "extensions", "skills", "prompts", "themes", "SYSTEM.md", "APPEND_SYSTEM.md",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """How far a project is trusted."""

    state: TrustState
    unusable: tuple[JsonFile, ...] = ()
    """Files of Pi's that should have answered and could not be read."""


def stored_trust(cwd: Path, environ: Mapping[str, str]) -> Trust:
    """Work out what Pi would decide for a folder without asking anyone. Blocking.

    The nearest ancestor in Pi's `trust.json` wins. Without one, a folder that holds nothing for Pi to load
    is trusted by default, and another one as the setting `defaultProjectTrust` says; "ask" means no.
    """
    folder = agent_dir(environ)
    store = read_json_object(folder / "trust.json")
    if store.state == "unusable":
        return Trust(state="untrusted", unusable=(store,))
    place = cwd.resolve()
    decision = _nearest_decision(store.value, place)
    if decision is not None:
        return Trust(state="stored" if decision else "untrusted")
    if not needs_trust(place, environ):
        return Trust(state="default")
    settings = read_json_object(folder / "settings.json")
    always = settings.value.get("defaultProjectTrust") == "always"
    unusable = (settings,) if settings.state == "unusable" else ()
    return Trust(state="default" if always else "untrusted", unusable=unusable)


def needs_trust(place: Path, environ: Mapping[str, str]) -> bool:
    """True when Pi would load something from this folder: guarded files, or skills here or above."""
    guarded = (place / ".pi" / entry for entry in _GUARDED_ENTRIES)
    of_user = home_dir(environ).resolve() / ".agents" / "skills"
    skills = (folder / ".agents" / "skills" for folder in (place, *place.parents))
    return any(map(may_exist, guarded)) or any(may_exist(path) for path in skills if path != of_user)


def may_exist(path: Path) -> bool:
    """False only when a path is surely not there: a folder that may not be looked into may hold it."""
    try:
        return path.exists()
    except OSError:
        return True


def without_widening(project: JsonObject, base: FabricConfig) -> tuple[JsonObject, tuple[Key, ...]]:
    """Leave out what would give a project more authority than the user's own configuration does.

    Args:
        project: Content of the project's file, already without misplaced values.
        base: Configuration without the project.

    Returns:
        The rest, and the keys that were left out in the order of the file's sections.
    """
    left_out = tuple(key for key in KEYS if _widens(key, project, base))
    kept = project
    for key in left_out:
        kept = _without(kept, key.path)
    return kept, left_out


def _nearest_decision(store: JsonObject, place: Path) -> bool | None:
    for folder in (place, *place.parents):
        decision = store.get(str(folder))
        if isinstance(decision, bool):
            return decision
    return None


def _widens(key: Key, project: JsonObject, base: FabricConfig) -> bool:
    given = value_at(project, key.path)
    if given is UNDEFINED or key.widens == "never":
        return False
    if key.widens == "when_looser" and isinstance(key.kind, Word):
        words = key.kind.words
        return words.index(key.kind.read(given).value) < words.index(key.value_in(base))
    return True


def _without(value: JsonObject, path: tuple[str, ...]) -> JsonObject:
    name, *rest = path
    if not rest:
        return {key: item for key, item in value.items() if key != name}
    return value | {name: _without(value[name], tuple(rest))}
