"""Kinds `compaction_events` (entries as typed events) and `branch_details` (what the reader accepts)."""

from kinds.compare import differences
from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.history.events import read_branch_details


def check_branch_details(case: JsonObject) -> list[str]:
    """Compare whether the reader accepts the value."""
    accepted = read_branch_details(case["input"]["value"]) is not None
    return differences(case["output"]["accepted"], accepted, "accepted")
