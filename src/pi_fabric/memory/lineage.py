"""Which lines of a session file make up its active branch, and the fingerprint of that choice.

As Pi resumes a file: the last line that is a node is the leaf, of several lines with one id the last
counts, and parents are followed from the leaf. What the live host reports goes before what the file says.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from pi_fabric.base.jsonvalue import Json, JsonObject, is_object, stringify
from pi_fabric.history.session.tree import is_node
from pi_fabric.memory.model import Branches

INVALID_PARENTS = "invalid_parent_graph"


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveBranch:
    """What the host says is the active branch right now."""

    ids: tuple[str, ...]
    """Root first."""
    leaf_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """A choice of lines."""

    leaf_id: str | None
    ordinals: tuple[int, ...] | None
    """Which lines, root first; None for all of them."""
    fingerprint: str
    reasons: frozenset[str] = frozenset()


class Lines:
    """Takes in the lines of a file one after the other and knows how they hang together.

    A line counts when it is JSON and no header, whether it is a node or not.
    """

    def __init__(self) -> None:
        self.count = 0
        """Ordinal of the next line."""
        self._nodes: dict[str, tuple[str | None, int]] = {}
        self._leaf_id: str | None = None

    def add(self, value: Json) -> int | None:
        """Take in a line's value; its ordinal, or None for a header."""
        if is_object(value):
            if value.get("type") == "session":
                return None
            if is_node(value):
                self._add_node(value)
        self.count += 1
        return self.count - 1

    def lineage(self, branches: Branches, live: LiveBranch | None = None) -> Lineage:
        """The lines that `branches` selects.

        Args:
            branches: "all" takes every line, in order of the file.
            live: The host's branch; ids that are not in the file are skipped, the fingerprint covers all.
        """
        if branches == "all":
            return ALL_LINES
        if live is not None:
            found = (self._nodes.get(one) for one in live.ids)
            return Lineage(
                leaf_id=live.leaf_id,
                ordinals=tuple(node[1] for node in found if node is not None),
                fingerprint=fingerprint("active", live.leaf_id, live.ids),
            )
        ids, ordinals, is_valid = self._walk()
        return Lineage(
            leaf_id=self._leaf_id,
            ordinals=tuple(ordinals),
            fingerprint=fingerprint("active", self._leaf_id, ids),
            reasons=frozenset() if is_valid else frozenset((INVALID_PARENTS,)),
        )

    def _add_node(self, entry: JsonObject) -> None:
        # An empty parent is none, as where Pi reads its file.
        self._nodes[entry["id"]] = (entry["parentId"], self.count)
        self._leaf_id = entry["id"]

    def _walk(self) -> tuple[list[str], list[int], bool]:
        path: dict[str, int] = {}
        at = self._leaf_id
        while at is not None and at not in path and (node := self._nodes.get(at)) is not None:
            path[at] = node[1]
            at = node[0]
        return list(reversed(path)), list(reversed(path.values())), at is None or at not in path


def fingerprint(branches: Branches, leaf_id: str | None, ids: Sequence[str]) -> str:
    """SHA-256 over the choice itself."""
    chosen: JsonObject = {"branches": branches, "leafId": leaf_id, "ids": list(ids)}
    return hashlib.sha256(stringify(chosen).encode()).hexdigest()


ALL_LINES = Lineage(leaf_id=None, ordinals=None, fingerprint=fingerprint("all", None, ()))
"""Every line; the same for every file."""
