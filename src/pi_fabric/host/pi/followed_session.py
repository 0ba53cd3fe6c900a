"""The session file as Pi appends to it: decoded and normalized before anybody asks for a summary.

Pi names entries by their ids. What the file does not have yet, or has in another order, is asked for; a
branch is never guessed.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from operator import is_not
from pathlib import Path
from typing import Final

from pi_fabric.base.errors import FabricError
from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.history.events import Normalizer
from pi_fabric.history.events.model import Event
from pi_fabric.history.session import SessionFollower

# Decoded and normalized a session takes about five times its size in memory, for as long as Pi runs. One
# that is larger is left to Pi.
MAX_FOLLOWED_BYTES: Final = 256 * 1024 * 1024


class BranchEvents:
    """The events of one branch, kept from one look to the next: only what has come on top is normalized."""

    def __init__(self) -> None:
        self._entries: list[JsonObject] = []
        self._start_anew()

    def follow(self, entries: Sequence[JsonObject]) -> None:
        """Bring the events level with a branch; another branch is normalized from its start."""
        known = len(self._entries)
        # Entries of one session are the same objects each time.
        if len(entries) < known or any(map(is_not, self._entries, entries)):
            self._start_anew()
            known = 0
        for entry in entries[known:]:
            self._events += self._normalizer.add(entry)
            self._ends.append(len(self._events))
        self._entries = list(entries)

    def before(self, position: int) -> Sequence[Event]:
        """The events of the first `position` entries, in order."""
        return self._events[: self._ends[position - 1]] if position else []

    def _start_anew(self) -> None:
        self._normalizer = Normalizer()
        self._events: list[Event] = []
        self._ends: list[int] = []


class FollowedSession:
    """One session file and the events of its branch. Blocking, and for one caller at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.events = BranchEvents()
        self._follower = SessionFollower(path, max_bytes=MAX_FOLLOWED_BYTES)

    @property
    def entry_count(self) -> int:
        """How many entries of the file have been read so far."""
        return len(self._follower.session.entries)

    def catch_up(self, leaf_id: str | None = None) -> None:
        """Take in what Pi has appended.

        Args:
            leaf_id: Also normalize the branch that ends here; None and an unknown id normalize nothing.

        Raises:
            StoreError: If the file exists and cannot be read.
            LimitReached: If it is too large to follow.
        """
        self._follower.catch_up()
        if branch := self._follower.session.tree.path_to(leaf_id):
            self.events.follow(branch)

    def stretch(self, ids: Sequence[str]) -> list[JsonObject] | None:
        """The stretch of the tree that consists of just these entries, after catching up.

        None when there is none in the file, or it cannot be read. Cheaper than looking for each entry, and
        in this order by what the file says itself.
        """
        if not ids:
            return []
        with suppress(FabricError):
            self._follower.catch_up()
            path = self._follower.session.tree.path_to(ids[-1])[-len(ids) :]
            if [entry["id"] for entry in path] == ids:
                return path
        return None

    def find(self, ids: Sequence[str]) -> Mapping[str, JsonObject]:
        """The entries of the file among `ids`, after catching up; none when it cannot be read."""
        with suppress(FabricError):
            self.catch_up()
            by_id = self._follower.session.tree.by_id
            return {entry_id: by_id[entry_id] for entry_id in ids if entry_id in by_id}
        return {}


def join_branch(
    ids: Sequence[str], on_disk: Mapping[str, JsonObject], sent: Mapping[str, JsonObject]
) -> tuple[list[JsonObject], list[str]]:
    """Put a branch together from the file and from what Pi sent.

    Args:
        ids: Of the branch, root first.
        on_disk: Entries of the file by id.
        sent: Entries that Pi sent itself; they count for more than the file.

    Returns:
        The branch, and the ids whose entries are still wanted: those that are nowhere, or all when the
        file links them in another order. The branch is to be used only when nothing is wanted.
    """
    wanted = [entry_id for entry_id in ids if entry_id not in sent and entry_id not in on_disk]
    if wanted:
        return [], wanted
    branch = [sent.get(entry_id) or on_disk[entry_id] for entry_id in ids]
    is_linked = all(entry.get("parentId") == parent for entry, parent in zip(branch[1:], ids, strict=False))
    if is_linked or len(sent) == len(ids):
        return branch, []
    return [], list(ids)
