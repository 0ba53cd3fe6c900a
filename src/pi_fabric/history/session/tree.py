"""The tree that the entries of a session form.

An entry is a node when it has a text for an id and a text or null for a parent. Of several with one id the
last in the file counts. Every walk ends, whatever the parents say.
"""

from collections.abc import Iterable

from pi_fabric.base.jsonvalue import JsonObject


class Tree:
    """Entries by id, their children, and the way to the root; grows as entries arrive."""

    def __init__(self, entries: Iterable[JsonObject] = ()) -> None:
        self.by_id: dict[str, JsonObject] = {}
        """Read-only for callers; in order of the file."""
        self.leaf_id: str | None = None
        """The last node in the file, which is where Pi resumes; None without nodes."""
        self._children: dict[str | None, list[JsonObject]] | None = None
        for entry in entries:
            self.add(entry)

    def add(self, entry: JsonObject) -> bool:
        """Take in the next entry of the file; False when it is no node."""
        if not is_node(entry):
            return False
        self.by_id[entry["id"]] = entry
        self.leaf_id = entry["id"]
        self._children = None
        return True

    def children(self, entry_id: str | None) -> list[JsonObject]:
        """The entries whose parent is `entry_id`, in order of the file; None gives the roots."""
        if self._children is None:
            self._children = {}
            for entry in self.by_id.values():
                self._children.setdefault(entry["parentId"] or None, []).append(entry)
        return list(self._children.get(entry_id, ()))

    def path_to(self, leaf_id: str | None) -> list[JsonObject]:
        """The branch that ends at `leaf_id`, root first.

        A parent that is not in the file ends it, and so does one that is on it already.

        Args:
            leaf_id: An entry's id; None and an unknown id give an empty branch.
        """
        path: dict[str, JsonObject] = {}
        at = leaf_id
        while at and at not in path and (entry := self.by_id.get(at)) is not None:
            path[at] = entry
            at = entry["parentId"]
        return list(reversed(path.values()))

    def cycle_entries(self) -> list[JsonObject]:
        """One entry of each cycle of parents: the one through which a walk first comes back."""
        done: set[str] = set()
        found: list[JsonObject] = []
        for start in self.by_id:
            walk: dict[str, None] = {}
            at: str | None = start
            while at and at not in done and at not in walk and at in self.by_id:
                walk[at] = None
                at = self.by_id[at]["parentId"]
            if at and at in walk:
                found.append(self.by_id[at])
            done.update(walk)
        return found


def is_node(entry: JsonObject) -> bool:
    """True when an entry can be part of a branch."""
    if "parentId" not in entry or not isinstance(entry.get("id"), str):
        return False
    parent = entry["parentId"]
    return parent is None or isinstance(parent, str)
