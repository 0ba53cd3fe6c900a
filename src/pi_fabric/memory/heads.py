"""What the headers of session files say, each read once for as long as its file stays the same."""

from collections.abc import Mapping
from typing import Final

from pi_fabric.memory.catalogue import Head, Row
from pi_fabric.memory.discovery import Found
from pi_fabric.memory.source import opened, read_head
from pi_fabric.memory.stamp import Stamp

_NO_HEAD: Final = Head(None, "")


class Heads:
    """Reads headers, and remembers them; blocking."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Stamp | None, Head]] = {}

    def of(self, found: Found, rows: Mapping[str, Row]) -> Head:
        """The header of a file.

        Args:
            found: The file.
            rows: Sessions that have been read already, by path.
        """
        known = self._known.get(found.path)
        if known is not None and known[0] == found.stamp:
            return known[1]
        row = rows.get(found.path)
        head = row.head if row is not None and row.stamp == found.stamp else _read(found)
        self._known[found.path] = (found.stamp, head)
        return head


def _read(found: Found) -> Head:
    try:
        with opened(found.path) as stream:
            return read_head(stream, found.kind)
    except OSError:
        return _NO_HEAD
