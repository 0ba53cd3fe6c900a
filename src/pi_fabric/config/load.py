"""Finding the configuration files, laying them over each other, and telling where each value came from.

Defaults, then the global file, then the project's (when it counts), then the environment. Nothing that a
file holds stops the start; whatever is not taken as written becomes a notice.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pi_fabric.base.jsonvalue import UNDEFINED, JsonObject, is_object
from pi_fabric.base.paths import agent_dir
from pi_fabric.config.environment import VARIABLES, from_environment
from pi_fabric.config.jsonfile import FileState, JsonFile, read_json_object
from pi_fabric.config.keys import value_at
from pi_fabric.config.model import KEYS, FabricConfig
from pi_fabric.config.normalize import Correction, drop_misplaced, normalize, unknown_keys
from pi_fabric.config.trust import TrustState, may_exist, stored_trust, without_widening

FILE_NAME = "fabric.json"
Layer = Literal["default", "global", "project", "environment"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Which layer decided a value."""

    layer: Layer
    file: Path | None = None
    variable: str | None = None
    """Name of the environment variable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something about the configuration that a person should know."""

    message: str
    """A whole sentence without the file."""
    file: Path | None = None

    def __str__(self) -> str:
        return f"{self.file}: {self.message}" if self.file else self.message


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFile:
    """A place where configuration is looked for."""

    layer: Layer
    path: Path
    state: FileState | Literal["untrusted"]
    """`untrusted`: it is there and does not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedConfig:
    """The configuration in force."""

    config: FabricConfig
    trust: TrustState
    origins: Mapping[str, Origin]
    """By dotted key; holds every key."""
    corrections: tuple[Correction, ...]
    """Values that were not taken as written."""
    notices: tuple[Notice, ...]
    """Everything else worth a line; corrections are not repeated here."""
    files: tuple[ConfigFile, ...]
    """Global first."""


@dataclass(frozen=True, slots=True)
class _Layer:
    origin: Origin
    value: JsonObject
    corrections: tuple[Correction, ...] = ()


def global_path(environ: Mapping[str, str]) -> Path:
    """Where the user's own file lies."""
    return agent_dir(environ) / FILE_NAME


def project_path(cwd: Path) -> Path:
    """Where a project's file lies."""
    return cwd / ".pi" / FILE_NAME


def load_config(*, cwd: Path, environ: Mapping[str, str], trust: TrustState | None) -> LoadedConfig:
    """Read, merge and normalize. Blocking (a handful of small files); never raises for content.

    Args:
        cwd: The project's folder.
        environ: Environment variables.
        trust: What the host says; None works it out from what Pi has stored.
    """
    notices: list[Notice] = []
    known = trust or _stored(cwd, environ, notices)
    mine, global_file = _file_layer("global", global_path(environ), notices)
    project, project_file = _project_layer(project_path(cwd), known, mine.value, notices)
    layers = [mine, project, *_environment_layers(environ, notices)]
    result = normalize(_merged(layers))
    corrections = [fault for layer in layers for fault in layer.corrections]
    corrections += [_located(fault, layers) for fault in result.corrections]
    return LoadedConfig(
        config=result.config,
        trust=known,
        origins={key.name: _origin(key.path, layers) for key in KEYS},
        corrections=tuple(corrections),
        notices=tuple(notices),
        files=(global_file, project_file),
    )


def merge(base: JsonObject, over: JsonObject) -> JsonObject:
    """Lay one object over another: objects deep, lists and scalars replaced."""
    merged = dict(base)
    for name, value in over.items():
        below = merged.get(name)
        merged[name] = merge(below, value) if is_object(below) and is_object(value) else value
    return merged


def _stored(cwd: Path, environ: Mapping[str, str], notices: list[Notice]) -> TrustState:
    trust = stored_trust(cwd, environ)
    for file in trust.unusable:
        text = f"{file.problem}; the project counts as not trusted."
        notices.append(Notice(message=text, file=file.path))
    return trust.state


def _file_layer(layer: Layer, path: Path, notices: list[Notice]) -> tuple[_Layer, ConfigFile]:
    file = read_json_object(path)
    notices += [Notice(message=text, file=path) for text in _remarks(file)]
    value, misplaced = drop_misplaced(file.value)
    corrections = tuple(replace(fault, file=path) for fault in misplaced)
    origin = Origin(layer=layer, file=path)
    return _Layer(origin, value, corrections), ConfigFile(layer=layer, path=path, state=file.state)


def _project_layer(
    path: Path, trust: TrustState, below: JsonObject, notices: list[Notice]
) -> tuple[_Layer, ConfigFile]:
    if trust == "untrusted":
        state = "untrusted" if may_exist(path) else "absent"
        if state == "untrusted":
            text = "not read, because the project is not trusted. Type /trust in Pi to trust it."
            notices.append(Notice(message=text, file=path))
        return _Layer(Origin(layer="project", file=path), {}), ConfigFile(
            layer="project", path=path, state=state
        )
    layer, file = _file_layer("project", path, notices)
    if trust == "stored":
        return layer, file
    value, left_out = without_widening(layer.value, normalize(below).config)
    if left_out:
        names = ", ".join(key.name for key in left_out)
        text = f"left out, because nobody has decided to trust this project: {names}. Type /trust in Pi."
        notices.append(Notice(message=text, file=path))
    return replace(layer, value=value), file


def _environment_layers(environ: Mapping[str, str], notices: list[Notice]) -> Iterator[_Layer]:
    value, unusable = from_environment(environ)
    notices += [Notice(message=f"{name} is neither true nor false; it is ignored.") for name in unusable]
    for variable, path in VARIABLES.items():
        part = value_at(value, path)
        if part is not UNDEFINED:
            for name in reversed(path):
                part = {name: part}
            yield _Layer(Origin(layer="environment", variable=variable), part)


def _remarks(file: JsonFile) -> Iterator[str]:
    if file.state == "unusable":
        yield f"{file.problem}. The file is ignored and left as it is."
    for repair in file.repairs:
        yield f"{repair}."
    listed, more = unknown_keys(file.value)
    for unknown in listed:
        hint = f" Did you mean {unknown.suggestion}?" if unknown.suggestion else ""
        yield f"{unknown.key} is no known key; it is ignored.{hint}"
    if more:
        yield f"{more} more keys are not known; they are ignored."


def _merged(layers: Sequence[_Layer]) -> JsonObject:
    merged: JsonObject = {}
    for layer in layers:
        merged = merge(merged, layer.value)
    return merged


def _origin(path: tuple[str, ...], layers: Sequence[_Layer]) -> Origin:
    for layer in reversed(layers):
        if value_at(layer.value, path) is not UNDEFINED:
            return layer.origin
    return Origin(layer="default")


def _located(fault: Correction, layers: Sequence[_Layer]) -> Correction:
    return replace(fault, file=_origin(fault.path, layers).file)
