"""Which tools work on files, and where their arguments name the file."""

from typing import Final

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.base.jstext import is_blank

FILE_TOOLS: Final = frozenset({"read", "edit", "write", "grep", "find", "ls"})
"""Tools whose path is an address; called bare by the model or as `pi.NAME` by a program."""

_CORE_PROVIDER: Final = "pi."
# A path goes by any of these names; the first that is there counts.
_PATH_KEYS: Final = ("path", "file", "dir")


def file_tool_of(ref: str) -> str | None:
    """Name of the file tool that `ref` calls; None when it is not one."""
    name = ref.removeprefix(_CORE_PROVIDER)
    return name if name in FILE_TOOLS else None


def path_argument(args: JsonObject) -> tuple[str, str] | None:
    """The argument that names the path, and the path as given; None when there is none or it is blank."""
    key = next((key for key in _PATH_KEYS if args.get(key) is not None), None)
    path = None if key is None else args[key]
    return (key, path) if key is not None and isinstance(path, str) and not is_blank(path) else None
