"""From any JSON value to a usable configuration. Total: nothing that a file may hold stops the start."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import psutil

from pi_fabric.base.jsonvalue import (
    UNDEFINED,
    Json,
    JsonObject,
    is_finite_number,
    is_number,
    is_object,
    stringify,
)
from pi_fabric.base.nearest import nearest
from pi_fabric.base.printable import printable
from pi_fabric.config.keys import Key, Section, camel_case, members, plain
from pi_fabric.config.kinds import Fault
from pi_fabric.config.model import GIB, ExecutorConfig, FabricConfig

S = TypeVar("S", bound=Section)
# WASM32 counts bytes in 32 bits: 4 GiB itself does not fit.
QUICKJS_MAX_BYTES = 4 * GIB - 1
# A bad value is shown as far as it helps to recognise it.
SHOWN_CHARS = 40
# A file of another program may hold thousands.
MAX_LISTED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """A value that was not taken as written."""

    path: tuple[str, ...]
    given: str
    """The bad value as JSON, cut to 40 characters."""
    used: str | None
    """What counts instead as JSON, cut to 40 characters; None when the entry is left out."""
    reason: str
    file: Path | None = None
    """The file that holds the value; None when it came from elsewhere."""

    @property
    def key(self) -> str:
        """Dotted path of the value, fit to be shown."""
        return dotted(self.path)

    @property
    def message(self) -> str:
        """A whole sentence without the file."""
        outcome = "it is left out" if self.used is None else f"{self.used} is used"
        return f"{self.key}: {self.given} {self.reason}; {outcome}"

    def __str__(self) -> str:
        return f"{self.file}: {self.message}" if self.file else self.message


@dataclass(frozen=True, slots=True, kw_only=True)
class Normalized:
    """A configuration with what was changed to get it."""

    config: FabricConfig
    corrections: tuple[Correction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownKey:
    """A key that means nothing to this version."""

    path: tuple[str, ...]
    suggestion: str | None
    """The nearest key in the same section."""

    @property
    def key(self) -> str:
        """Dotted path, fit to be shown."""
        return dotted(self.path)


def normalize(value: Json, *, ram_bytes: int | None = None) -> Normalized:
    """Read one merged configuration.

    Args:
        value: Any JSON value; one that is not an object counts as an empty one.
        ram_bytes: Memory that bounds `executor.memoryLimitBytes`; None asks the machine.
    """
    placed, corrections = drop_misplaced(value)
    log = list(corrections)
    config = _read(FabricConfig, placed, (), log)
    executor = _executor(config, ram_bytes or psutil.virtual_memory().total, log)
    return Normalized(config=replace(config, executor=executor), corrections=tuple(log))


def drop_misplaced(value: Json) -> tuple[JsonObject, tuple[Correction, ...]]:
    """Remove what stands where an object must stand, so that it counts as empty.

    Done for each file before merging: a project's `"approvals": 5` must not wipe out global approvals.
    """
    log: list[Correction] = []
    if not is_object(value):
        return {}, (correction((), Fault(given=value, used={}, reason="is not an object")),)
    return _placed(FabricConfig, value, (), log), tuple(log)


def unknown_keys(value: JsonObject) -> tuple[tuple[UnknownKey, ...], int]:
    """Keys of one file that no section declares.

    Returns:
        The first ten, each with the nearest name beside it, and how many more there are.
    """
    found = list(_unknown(FabricConfig, value, ()))
    listed = (UnknownKey(path=path, suggestion=_nearest(path, known)) for path, known in found[:MAX_LISTED])
    return tuple(listed), max(0, len(found) - MAX_LISTED)


def correction(path: tuple[str, ...], fault: Fault) -> Correction:
    """A kind's fault as a person reads it, with the whole path."""
    used = None if fault.used is UNDEFINED else show(plain(fault.used))
    return Correction(path=path + fault.path, given=show(fault.given), used=used, reason=fault.reason)


def dotted(path: tuple[str, ...]) -> str:
    """A path for people: names that a file chose are cut, and control characters in them escaped."""
    return ".".join(_cut(printable(part)) for part in path)


def show(value: Json) -> str:
    """A value as JSON on one line, at most 40 characters; numbers past JavaScript's range stay visible."""
    if is_number(value) and not is_finite_number(value):
        return "a number too large" if value > 0 else "a number too small"
    return _cut(printable(stringify(value)))


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS else f"{text[: SHOWN_CHARS - 1]}…"


def _placed(
    kind: type[Section], value: JsonObject, prefix: tuple[str, ...], log: list[Correction]
) -> JsonObject:
    kept = dict(value)
    for name, needs in _objects(kind):
        if name not in value:
            continue
        path = (*prefix, name)
        if not is_object(value[name]):
            del kept[name]
            log.append(correction(path, Fault(given=value[name], used={}, reason="is not an object")))
        elif needs is not None:
            kept[name] = _placed(needs, value[name], path, log)
    return kept


def _objects(kind: type[Section]) -> Iterator[tuple[str, type[Section] | None]]:
    for name, member in members(kind):
        if not isinstance(member, Key):
            yield camel_case(name), member
        elif member.kind.is_map:
            yield member.path[0], None


def _read(kind: type[S], value: JsonObject, prefix: tuple[str, ...], log: list[Correction]) -> S:
    given: dict[str, object] = {}
    for name, member in members(kind):
        json_key = member.path[0] if isinstance(member, Key) else camel_case(name)
        if json_key not in value:
            continue
        path = (*prefix, json_key)
        if isinstance(member, Key):
            reading = member.kind.read(value[json_key])
            log += [correction(path, fault) for fault in reading.faults]
            given[name] = reading.value
        else:
            given[name] = _read(member, value[json_key], path, log)
    return kind(**given)


def _executor(config: FabricConfig, ram_bytes: int, log: list[Correction]) -> ExecutorConfig:
    """Apply the two rules that need more than one key."""
    executor = config.executor
    if config.schema.mode == "enforce" and executor.runtime != "quickjs":
        fault = Fault(
            given=executor.runtime, used="quickjs", reason='is no sandbox, and schema.mode is "enforce"'
        )
        log.append(correction(("executor", "runtime"), fault))
        executor = replace(executor, runtime="quickjs")
    ceiling = min(QUICKJS_MAX_BYTES, ram_bytes) if executor.runtime == "quickjs" else ram_bytes
    if executor.memory_limit_bytes > ceiling:
        fault = Fault(given=executor.memory_limit_bytes, used=ceiling, reason="is above the maximum")
        log.append(correction(("executor", "memoryLimitBytes"), fault))
        executor = replace(executor, memory_limit_bytes=ceiling)
    return executor


def _unknown(
    kind: type[Section], value: JsonObject, prefix: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Sequence[str]]]:
    known = {
        (member.path[0] if isinstance(member, Key) else camel_case(name)): member
        for name, member in members(kind)
    }
    for name, item in value.items():
        member = known.get(name)
        if member is None:
            yield (*prefix, name), list(known)
        elif not isinstance(member, Key) and is_object(item):
            yield from _unknown(member, item, (*prefix, name))


def _nearest(path: tuple[str, ...], known: Sequence[str]) -> str | None:
    *prefix, name = path
    found = nearest(name[:SHOWN_CHARS], known)
    return ".".join((*prefix, *found)) if found else None
