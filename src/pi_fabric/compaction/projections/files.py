"""Which files were touched, by what was done to them."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal

from pi_fabric.base.bounds import utf8_bytes
from pi_fabric.base.jsonvalue import Json, is_object
from pi_fabric.base.jstext import collapse, truncate_start
from pi_fabric.compaction.operations import Performed
from pi_fabric.compaction.projections.source import Source
from pi_fabric.compaction.render import MAX_LINE_BYTES
from pi_fabric.compaction.sampling import sampled_lines
from pi_fabric.compaction.section import Line, Section, item, label

Kind = Literal["Created", "Written", "Modified", "Read"]

# Per kind; the format's number.
MAX_FILES = 24
# Of a path that no line has room for: more than the longest name, in any script.
LONG_PATH_UNITS = 300
_KINDS: Final[tuple[Kind, ...]] = ("Created", "Written", "Modified", "Read")
_NAME: Final = re.compile(r"[^/\\]+")
HERE: Final = "./"


def files(source: Source) -> Section:
    """Paths of file operations that succeeded, each with the address where it was first touched so."""
    found = touched_files(source.operations)
    root = common_root([path for touched in found.values() for path in touched])
    lines = [label(f"Paths below {collapse(root)}")] if root else []
    omitted = 0
    for kind in _KINDS:
        if found[kind]:
            shown, missing = sampled_lines(list(found[kind].items()), MAX_FILES, _line_below(root))
            lines += [label(f"{kind}:"), *shown]
            omitted += missing
    return Section(name="files", lines=tuple(lines), omitted=omitted)


def touched_files(operations: Iterable[Performed]) -> dict[Kind, dict[str, str]]:
    """Per kind, paths in order and where each was first touched so; what was changed is not also read."""
    found: dict[Kind, dict[str, str]] = {kind: {} for kind in _KINDS}
    for done in operations:
        if (path := done.path) is not None and done.succeeded:
            found[_kind(done)].setdefault(path, done.address)
    changed = {path for kind in _KINDS if kind != "Read" for path in found[kind]}
    found["Read"] = {path: address for path, address in found["Read"].items() if path not in changed}
    return found


def common_root(paths: Sequence[str]) -> str:
    """The folders that all paths share, up to and with a separator.

    The name at a path's end is no folder. Empty when no segment is shared; `./` when one is, but nothing
    can be taken off: it is a name, or the paths write it differently.
    """
    segments = [_segments(path) for path in paths]
    shared = 0
    for column in zip(*segments, strict=False):
        if any(name != column[0] for name in column):
            break
        shared += 1
    if not shared:
        return ""
    folders = min(shared, *(len(names) - 1 for names in segments))
    root = _start(paths[0], folders)
    return root if folders and all(path.startswith(root) for path in paths) else HERE


def _segments(path: str) -> list[str]:
    return _NAME.findall(path)


def _start(path: str, count: int) -> str:
    """`path` up to the segment after its first `count`."""
    starts = [found.start() for found in _NAME.finditer(path)]
    return path[: starts[count]]


def _line_below(root: str) -> Callable[[tuple[str, str]], Line]:
    def line(touched: tuple[str, str]) -> Line:
        path, address = touched
        shown = path.removeprefix(root)
        whole = item(address, collapse(shown))
        if utf8_bytes(whole.text) <= MAX_LINE_BYTES:
            return whole
        return item(address, truncate_start(shown, LONG_PATH_UNITS))

    return line


def _kind(done: Performed) -> Kind:
    if done.file_tool == "edit":
        return "Modified"
    if done.file_tool == "write":
        # Only the tool can know whether the file was there before.
        return "Created" if _says_created(done.result) else "Written"
    return "Read"


def _says_created(result: Json) -> bool:
    if not is_object(result):
        return False
    details = result.get("details")
    return result.get("created") is True or (is_object(details) and details.get("created") is True)
