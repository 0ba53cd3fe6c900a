"""Paths that a call names: found by the names of its arguments, never by looking at prose."""

import re
from collections.abc import Iterator

from pi_fabric.base.jsonvalue import Json, is_array, is_object, ordered_keys
from pi_fabric.base.jstext import trim
from pi_fabric.history.events.file_tools import file_tool_of, path_argument

_PATH_KEY = re.compile(r"(?:file|path)s?\Z", re.IGNORECASE)


def named_paths(arguments: Json) -> list[str]:
    """Every text under a key that ends in `file`, `path` or their plural, at any depth; each once."""
    return _unique(_walk(arguments))


def traced_paths(ref: str, arguments: Json) -> list[str]:
    """The path of an operation of a trace: only the core file tools have one, by their exact name."""
    if not ref.startswith("pi.") or file_tool_of(ref) is None or not is_object(arguments):
        return []
    found = path_argument(arguments)
    return [] if found is None else _unique(iter([found[1]]))


def _walk(arguments: Json) -> Iterator[str]:
    # A stack and no recursion: arguments nest as deep as JSON may.
    pending: list[tuple[Json, bool]] = [(arguments, False)]
    while pending:
        value, is_path = pending.pop()
        if isinstance(value, str):
            if is_path:
                yield value
        elif is_object(value):
            keys = ordered_keys(value)
            pending.extend((value[key], _PATH_KEY.search(key) is not None) for key in reversed(keys))
        elif is_array(value):
            pending.extend((item, is_path) for item in reversed(value))


def _unique(paths: Iterator[str]) -> list[str]:
    trimmed = (trim(path) for path in paths)
    return list(dict.fromkeys(path for path in trimmed if path))
