"""The two sides of a cut: what is kept, and calls and their results."""

from collections.abc import Sequence
from typing import Final

from pi_fabric.base.jsonvalue import JsonObject

KEEPS_NOTHING: Final = ""


def first_kept_is_known(first_kept_id: str, branch: Sequence[JsonObject]) -> bool:
    """True when a cut keeps nothing, or from an entry that is on the branch."""
    return first_kept_id == KEEPS_NOTHING or any(entry["id"] == first_kept_id for entry in branch)


def context_after(facts: JsonObject) -> list[str]:
    """What a context must hold after a compaction: its entry, then what it keeps, in order."""
    kept_id = facts["firstKeptEntryId"]
    branch = [entry["id"] for entry in facts["branch"] if entry["type"] != "compaction"]
    kept = [] if kept_id == KEEPS_NOTHING or kept_id not in branch else branch[branch.index(kept_id) :]
    return [facts["compactionId"], *kept]


def split_pairs(first_kept_id: str, branch: Sequence[JsonObject]) -> list[str]:
    """Ids of calls that a cut separates from one of their results; `branch` as the driver outlines it."""
    if first_kept_id == KEEPS_NOTHING:
        return []
    cut = next((at for at, entry in enumerate(branch) if entry["id"] == first_kept_id), len(branch))
    sides: dict[str, set[bool]] = {}
    for at, entry in enumerate(branch):
        answered = [entry["answers"]] if entry["answers"] else []
        for call_id in (*entry["calls"], *answered):
            sides.setdefault(call_id, set()).add(at >= cut)
    return sorted(call_id for call_id, found in sides.items() if len(found) > 1)
