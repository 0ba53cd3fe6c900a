"""Which session files there are, and which of them a scope means.

The files are the only truth: nothing here asks the index which sessions exist.
"""

import errno
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Final

import msgspec

from pi_fabric.memory.catalogue import Head
from pi_fabric.memory.model import SourceKind
from pi_fabric.memory.stamp import Stamp, stamp_of

SUFFIX: Final = ".jsonl"
SCOPES: Final = ("session", "project", "global")
"""The words that are scopes; any other means the current session, or names one behind `SESSION_PREFIX`."""
SESSION_PREFIX: Final = "session:"
_MIN_START_CHARS: Final = 8
# Deeper than any agent nests its folders; a loop of links ends here at the latest.
_MAX_DEPTH: Final = 12


class Found(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One session file; there may be tens of thousands."""

    path: str
    kind: SourceKind
    stamp: Stamp | None
    """None for a file that is named and not there."""

    @property
    def mtime_ns(self) -> int:
        """When it was last written; nothing is older than a file that is not there."""
        return self.stamp.mtime_ns if self.stamp is not None else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A folder of sessions of one agent."""

    path: str
    kind: SourceKind = "pi"


@dataclass(slots=True, kw_only=True)
class Listing:
    """Everything that was found, newest first."""

    found: list[Found] = field(default_factory=list[Found])
    unreadable: list[str] = field(default_factory=list[str])
    """Folders that could not be listed; what is in them is not known to be gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What a scope means."""

    found: list[Found]
    """Newest first."""
    candidates: tuple[str, ...] = ()
    """Files that an id could mean when it means several; nothing is then selected."""
    hidden: tuple[str, ...] = ()
    """Folders and files that could not be looked at, and may belong here."""


def list_sessions(roots: Iterable[Root], *, without: Path | None = None) -> Listing:
    """Every session file under the roots, at any depth. Blocking.

    Args:
        roots: Where to look.
        without: A folder that holds no sessions, wherever it lies.
    """
    listing = Listing()
    passed = set[tuple[int, int]]()
    if without is not None:
        with suppress(OSError):
            passed.add(_identity(without.stat()))
    for root in roots:
        _list_folder(root.path, root.kind, listing, passed.copy(), 0)
    # Newest first, those of one moment by their paths.
    listing.found.sort(key=attrgetter("path"))
    listing.found.sort(key=attrgetter("mtime_ns"), reverse=True)
    return listing


def find_file(path: str, kind: SourceKind = "pi") -> Found:
    """A file by its path, there or not. Blocking."""
    try:
        return Found(path=path, kind=kind, stamp=stamp_of(os.stat(path)))  # noqa: PTH116 - a text, not a Path
    except (OSError, ValueError):
        return Found(path=path, kind=kind, stamp=None)


def project_folder(cwd: str) -> str:
    """The name that Pi gives the folder of a project's sessions."""
    name = re.sub(r"[/:\\]", "-", re.sub(r"^[/\\]", "", cwd))
    return f"--{name}--"


class Scopes:
    """Resolves scopes against one listing.

    Args:
        listing: Every session there is.
        roots: Where the sessions of every known agent are; Pi's first.
        cwd: The project's folder.
        session_file: The current session; None when there is none.
        head_of: What the header of a file says; may read it.
        ids_of: Other ids that a file is known by.
    """

    def __init__(
        self,
        *,
        listing: Listing,
        roots: Sequence[Root],
        cwd: str,
        session_file: str | None,
        head_of: Callable[[Found], Head],
        ids_of: Mapping[str, str],
    ) -> None:
        self._listing = listing
        self._roots = roots
        self._cwd = cwd
        self._session_file = session_file
        self._head_of = head_of
        self._ids_of = ids_of

    def select(self, scope: str) -> Selection:
        """The sessions of a scope; a word that is none means the current session."""
        name = scope.strip()
        if name == "global":
            return Selection(found=list(self._listing.found), hidden=tuple(self._listing.unreadable))
        if name == "project":
            return Selection(found=self.of_project(), hidden=self._hidden_of_project())
        if name.startswith(SESSION_PREFIX):
            return self._named(name.removeprefix(SESSION_PREFIX).strip())
        return Selection(found=self._current())

    def named(self, target: str) -> Selection:
        """The session of a path, an id or a file's name."""
        return self._named(target.strip())

    def of_project(self) -> list[Found]:
        """Sessions of the project: the folder selects, and a header that names another folder excludes.

        Where Pi has no folder of that name, and for other agents, the header alone decides.
        """
        folder, has_folder = self._project_folder()
        inside = f"{folder}{os.sep}"
        return [
            one
            for one in self._listing.found
            if (one.path.startswith(inside) and self._head_of(one).cwd in ("", self._cwd))
            or ((one.kind != "pi" or not has_folder) and self._head_of(one).cwd == self._cwd)
        ]

    def _project_folder(self) -> tuple[str, bool]:
        """Where Pi keeps the project's sessions, and whether that is there."""
        folder = os.path.join(self._roots[0].path, project_folder(self._cwd))  # noqa: PTH118
        return folder, os.path.isdir(folder)  # noqa: PTH112

    def _hidden_of_project(self) -> tuple[str, ...]:
        folder, has_folder = self._project_folder()
        inside, of_pi = f"{folder}{os.sep}", f"{self._roots[0].path}{os.sep}"
        return tuple(
            one
            for one in self._listing.unreadable
            if not (has_folder and one.startswith(of_pi)) or f"{one}{os.sep}".startswith(inside)
        )

    def _current(self) -> list[Found]:
        if self._session_file is None:
            return self.of_project()[:1]
        path = self._session_file
        return [next((one for one in self._listing.found if one.path == path), None) or find_file(path)]

    def _named(self, target: str) -> Selection:
        if target.endswith(SUFFIX):
            path = os.path.abspath(os.path.join(self._cwd, os.path.expanduser(target)))  # noqa: PTH100, PTH111, PTH118
            known = [one for one in self._listing.found if one.path in (target, path)]
            if known:
                return Selection(found=known[:1])
            one = find_file(path, self._kind_of(path))
            if one.stamp is not None:
                return Selection(found=[one])
        for find in (self._by_id, self._by_stem, self._by_start):
            matches = find(target)
            if len(matches) > 1:
                return Selection(found=[], candidates=tuple(one.path for one in matches))
            if matches:
                return Selection(found=matches)
        return Selection(found=[], hidden=tuple(self._listing.unreadable))

    def _kind_of(self, path: str) -> SourceKind:
        """Whose log a file is, by the folder it lies in: one that is named counts as asked for."""
        for root in self._roots:
            if path.startswith(f"{root.path}{os.sep}"):
                return root.kind
        return "pi"

    def _by_id(self, target: str) -> list[Found]:
        return [
            one
            for one in self._listing.found
            if self._ids_of.get(one.path) == target or self._head_of(one).session_id == target
        ]

    def _by_stem(self, target: str) -> list[Found]:
        # Pi names a file by time and id; a fork may have another id in its header.
        name = target.removesuffix(SUFFIX)
        stems = ((one, Path(one.path).stem) for one in self._listing.found)
        return [one for one, stem in stems if name in (stem, stem.rpartition("_")[2])]

    def _by_start(self, target: str) -> list[Found]:
        """By the start of an id; a short one would be met by chance."""
        if len(target) < _MIN_START_CHARS:
            return []
        found = self._listing.found
        ids = ((one, self._ids_of.get(one.path) or self._head_of(one).session_id) for one in found)
        return [one for one, session_id in ids if session_id is not None and session_id.startswith(target)]


def newest(found: Sequence[Found], count: int) -> frozenset[str]:
    """Paths of the `count` sessions that were written last."""
    return frozenset(one.path for one in found[:count])


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _list_folder(
    folder: str, kind: SourceKind, listing: Listing, seen: set[tuple[int, int]], depth: int
) -> None:
    try:
        identity = _identity(os.stat(folder))  # noqa: PTH116
        if identity in seen:
            return
        if depth > _MAX_DEPTH:
            listing.unreadable.append(folder)
            return
        seen.add(identity)
        with os.scandir(folder) as entries:
            # A folder counts under its own name; a link to it that came first would take its place.
            inside = sorted(entries, key=lambda entry: (entry.is_symlink(), entry.name))
    except FileNotFoundError:
        return
    except OSError:
        listing.unreadable.append(folder)
        return
    for entry in inside:
        try:
            if entry.name.endswith(SUFFIX) and entry.is_file():
                entry.path.encode()
                listing.found.append(Found(path=entry.path, kind=kind, stamp=stamp_of(entry.stat())))
            elif entry.is_dir():
                _list_folder(entry.path, kind, listing, seen, depth + 1)
        except (OSError, UnicodeEncodeError) as error:
            if isinstance(error, OSError) and error.errno == errno.ELOOP:
                # A link that leads to itself hides nothing.
                continue
            # Gone since it was listed, or with a name that no text can hold.
            if entry.is_symlink() or os.path.lexists(entry.path):
                listing.unreadable.append(entry.path)
