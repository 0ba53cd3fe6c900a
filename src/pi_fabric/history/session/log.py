"""One session file as it is on the disk: header, entries, tree, faults.

Entries are the objects of the file; unknown types and fields stay as they are. Formats 1 and 2 are read as
format 3.
"""

from array import array
from dataclasses import dataclass
from pathlib import Path

from pi_fabric.base.jsonl import Record
from pi_fabric.base.jsonvalue import JsonObject, is_object, text_or_empty
from pi_fabric.history.session.faults import FaultLog, Faults
from pi_fabric.history.session.migration import Migration, counted, version_of, version_without_header
from pi_fabric.history.session.sharing import share_words
from pi_fabric.history.session.tree import Tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What a session says of itself."""

    id: str
    version: int
    """The format as written in the file; entries are always given in format 3."""
    timestamp: str
    """ISO 8601; empty when the header has none."""
    cwd: str
    """Folder that the session is about; empty when the header has none."""
    parent_session: str | None
    """Path of the file that this one was forked from."""


class Session:
    """A session that grows line by line; made by `read_session` and `SessionFollower`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.header: Header | None = None
        """None when it cannot be read: the session is then known by its path alone."""
        self.entries: list[JsonObject] = []
        """In order of the file, without the header; read-only for callers."""
        self.tree = Tree()
        self._lines = array("Q")
        self._offsets = array("Q")
        self._position = 0
        self._migration: Migration | None = None
        self._line_faults = FaultLog()
        self._faults: Faults | None = None

    @property
    def faults(self) -> Faults:
        """What is wrong with the file so far; linear in the entries after each change."""
        if self._faults is None:
            self._faults = self._collect_faults()
        return self._faults

    def branch(self) -> list[JsonObject]:
        """The branch that Pi resumes, root first."""
        return self.tree.path_to(self.tree.leaf_id)

    def add(self, record: Record) -> None:
        """Take in the next line of the file."""
        self._faults = None
        if record.problem is not None:
            self._line_faults.add(record.problem, record.line, record.offset)
            return
        value = record.value
        if not is_object(value):
            self._line_faults.add("not-an-object", record.line, record.offset)
        elif value.get("type") == "session":
            self._add_header(value, record)
        else:
            self._add_entry(value, record)
        self._position += counted(value)

    def _add_header(self, value: JsonObject, record: Record) -> None:
        session_id = value.get("id")
        if self.header is not None or not isinstance(session_id, str):
            # One that names no session leaves the header unread, which is told by itself.
            if self.header is not None:
                self._line_faults.add("extra-header", record.line, record.offset)
            return
        parent = value.get("parentSession")
        self.header = Header(
            id=session_id,
            version=version_of(value),
            timestamp=text_or_empty(value.get("timestamp")),
            cwd=text_or_empty(value.get("cwd")),
            parent_session=parent if isinstance(parent, str) else None,
        )

    def _add_entry(self, entry: JsonObject, record: Record) -> None:
        if self._migration is None:
            version = self.header.version if self.header else version_without_header(entry)
            self._migration = Migration(version)
        self._migration.apply(entry, self._position)
        share_words(entry)
        entry_id = entry.get("id")
        is_known = isinstance(entry_id, str) and entry_id in self.tree.by_id
        if not self.tree.add(entry):
            self._line_faults.add("unlinked", record.line, record.offset)
        elif is_known:
            self._line_faults.add("duplicate-id", record.line, record.offset)
        self.entries.append(entry)
        self._lines.append(record.line)
        self._offsets.append(record.offset)

    def _collect_faults(self) -> Faults:
        log = FaultLog(self._line_faults.faults())
        if self.header is None:
            log.add("no-header", 1, 0)
        by_id = self.tree.by_id
        cycles = {id(entry) for entry in self.tree.cycle_entries()}
        for index, entry in enumerate(self.entries):
            parent = entry.get("parentId")
            if isinstance(parent, str) and parent and parent not in by_id:
                log.add("missing-parent", self._lines[index], self._offsets[index])
            if id(entry) in cycles:
                log.add("cycle", self._lines[index], self._offsets[index])
        return log.faults()
