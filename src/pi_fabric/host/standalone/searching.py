"""What grep and find share: where they look, and what could not be looked at."""

import stat
from dataclasses import dataclass
from pathlib import Path

from pi_fabric.host.standalone.call import ToolCall
from pi_fabric.host.standalone.limits import counted
from pi_fabric.host.standalone.paths import kind, look_up, resolve

# Not trouble: a glob that fits nothing.
_NOTHING_SEARCHED = "No files were searched"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where to search; results are told relative to the folder."""

    folder: Path
    name: str
    """The only file to search; empty for the whole folder."""
    shown: str
    """The place as the program named it."""


def where(call: ToolCall, given: str) -> Place:
    """Split a path into the folder to run in and the file to search. Blocking.

    Raises:
        ToolFailed: If it is missing, or neither a folder nor a regular file.
    """
    path = resolve(call, given)
    mode = look_up(call, path, given).st_mode
    if stat.S_ISDIR(mode):
        return Place(folder=path, name="", shown=given)
    if stat.S_ISREG(mode):
        return Place(folder=path.parent, name=path.name, shown=given)
    raise call.failed(f"{given} is {kind(mode)}; only files and folders are searched")


def unreadable(complaint: str) -> str:
    """A notice about places that ripgrep could not look at; empty when it did not complain."""
    lines = [line for line in complaint.split("\n") if line and not line.startswith(_NOTHING_SEARCHED)]
    if not lines:
        return ""
    return f"\n\n[{counted(len(lines), 'place')} could not be searched, such as {lines[0]}]"
