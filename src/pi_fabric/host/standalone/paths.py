"""Paths as a program writes them: relative to the call's folder, `~` for home.

Blocking; tools call this from worker threads.
"""

import difflib
import os
import stat
import unicodedata
from itertools import islice
from pathlib import Path

from pi_fabric.host.standalone.call import ToolCall

# Looking for a near name must not read a folder of a million entries.
MAX_NAMES_COMPARED = 10_000

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def resolve(call: ToolCall, given: str) -> Path:
    """Make `given` absolute; symbolic links stay as they are.

    Raises:
        ToolFailed: If it is empty or holds a NUL character, which no file name can.
    """
    if not given:
        raise call.failed("the path is empty; name a file or folder")
    if "\0" in given:
        raise call.failed(f"the path {given!r} holds a NUL character, which no file name can")
    try:
        path = Path(given).expanduser()
    except RuntimeError as error:
        raise call.failed(f"{given}: the home folder is not known; write the whole path") from error
    return call.cwd / path


def look_up(call: ToolCall, path: Path, given: str) -> os.stat_result:
    """Stat `path`, following links.

    Raises:
        ToolFailed: If it is missing (names the nearest existing name) or cannot be reached.
    """
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise call.failed(f"{given} does not exist{_nearest(path)}") from error
    except OSError as error:
        raise call.failed(f"{given}: {reason(error)}") from error


def kind(mode: int) -> str:
    """What a thing that is not a regular file is, in words."""
    return _KINDS.get(stat.S_IFMT(mode), "something else than a file")


def shown_name(name: str) -> str:
    """A name as one line of text: bytes that are not UTF-8 become U+FFFD, line ends are escaped."""
    text = os.fsencode(name).decode("utf-8", "replace")
    return text.replace("\n", "\\n").replace("\r", "\\r")


def reason(error: OSError) -> str:
    """The system's words for an error, without the number and the path."""
    return (error.strerror or str(error)).lower()


def _nearest(path: Path) -> str:
    if path.is_symlink():
        return f"; it is a link to {path.readlink()}, which is not there"
    missing = _first_missing(path)
    folder = missing.parent
    if not folder.is_dir():
        return f"; {folder} is not a folder"
    name = _nearest_name(folder, missing.name)
    if name:
        return f"; did you mean {name}?"
    return f" in {folder}" if missing == path else f"; there is no folder {missing}"


def _first_missing(path: Path) -> Path:
    for parent in path.parents:
        if os.path.lexists(parent):
            break
        path = parent
    return path


def _nearest_name(folder: Path, wanted: str) -> str | None:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in islice(entries, MAX_NAMES_COMPARED)]
    except OSError:
        return None
    # Accents may be written as one character or two; such a pair looks the same and must come first.
    folded = {unicodedata.normalize("NFC", name).casefold(): name for name in names}
    close = difflib.get_close_matches(unicodedata.normalize("NFC", wanted).casefold(), folded, 1)
    return folded[close[0]] if close else None
