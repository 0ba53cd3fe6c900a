"""Changing keys in a configuration file without losing anything else that is in it."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

from filelock import FileLock, Timeout

from pi_fabric.base.errors import ConfigError, StoreError
from pi_fabric.base.files import write_atomic
from pi_fabric.base.jsonvalue import UNDEFINED, Json, JsonObject, is_object
from pi_fabric.config.jsonfile import JsonFile, read_json_object
from pi_fabric.config.keys import Key
from pi_fabric.config.model import KEYS

# A rewrite takes milliseconds; a lock held longer than this belongs to something that hangs.
LOCK_WAIT_S = 5.0
_KEYS = {key.name: key for key in KEYS}
_INDENT = re.compile(r"\n([ \t]+)\S")


def update_file(path: Path, changes: Mapping[str, Json]) -> None:
    """Set keys in a configuration file, under a lock and in one step. Blocking.

    Unknown keys, the order of keys, the indentation and the line ends stay. A missing file is made.

    Args:
        path: The file, which need not exist.
        changes: Dotted key to its new value; UNDEFINED removes the key.

    Raises:
        ConfigError: If a key is unknown or its value would be corrected, or if the present file cannot be
            read exactly; the file is then left as it is.
        StoreError: If another process keeps the file locked, or it cannot be written.
    """
    for name, value in changes.items():
        _check(path, name, value)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_name(f".{path.name}.lock"), timeout=LOCK_WAIT_S):
            _rewrite(path, changes)
    except Timeout:
        raise StoreError(path, "another process keeps it locked; try again") from None
    except OSError as error:
        raise StoreError(path, f"cannot be written: {error.strerror or error}") from error


def _check(path: Path, name: str, value: Json) -> None:
    key = _KEYS.get(name)
    if key is None:
        raise ConfigError(path, "is no known key", pointer=name)
    if value is UNDEFINED:
        return
    faults = key.kind.read(value).faults
    if faults:
        raise ConfigError(path, f"{faults[0].reason}; it takes: {key.kind.hint}", pointer=name)


def _rewrite(path: Path, changes: Mapping[str, Json]) -> None:
    present = read_json_object(path)
    value = present.to_rewrite()
    for name, new in changes.items():
        value = _changed(value, _KEYS[name], new)
    write_atomic(path, _formatted(value, present))


def _changed(value: JsonObject, key: Key, new: Json) -> JsonObject:
    top = dict(value)
    holder = top
    *sections, last = key.path
    for section in sections:
        below = holder.get(section)
        if not is_object(below) and new is UNDEFINED:
            return value
        holder[section] = dict(below) if is_object(below) else {}
        holder = holder[section]
    if new is UNDEFINED:
        holder.pop(last, None)
    else:
        holder[last] = new
    return top


def _formatted(value: JsonObject, present: JsonFile) -> bytes:
    found = _INDENT.search(present.text)
    text = json.dumps(value, indent=found.group(1) if found else 2, ensure_ascii=False) + "\n"
    if "\r\n" in present.text:
        text = text.replace("\n", "\r\n")
    return text.encode()
