from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from told_sessions import JSON_VALUES, path, says, user

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.compaction.branch_summary import BranchEvent, compile_branch_summary
from pi_fabric.compaction.compile import CompactionEvent, compile_summary
from pi_fabric.compaction.host_event import read_branch_event, read_compaction_event
from pi_fabric.config.model import CompactionConfig

TOLD = path([user("goal"), says("ok"), user("next")])
SETTINGS = CompactionConfig(target_context_ratio=0.5, fill="tail")


class Watched(dict[str, Json]):
    """An object that knows which of its fields were looked at."""

    def __init__(self, fields: JsonObject) -> None:
        super().__init__(fields)
        self.seen: set[str] = set()

    def get(self, key: str, default: Json = None) -> Json:  # pyright: ignore[reportIncompatibleMethodOverride]
        """As in a dictionary."""
        self.seen.add(key)
        return super().get(key, default)

    def __getitem__(self, key: str) -> Json:
        self.seen.add(key)
        return super().__getitem__(key)

    def __iter__(self) -> Iterator[str]:
        self.seen.update(self.keys())
        return super().__iter__()


@pytest.mark.requirement("summary:host:compaction")
def test_the_event_before_a_compaction_is_read():
    settings_ = {"reserveTokens": 1, "keepRecentTokens": 2}
    raw: JsonObject = {
        "branchEntries": [*TOLD, None, 5],
        "preparation": {"tokensBefore": 9, "settings": settings_},
        "customInstructions": "mind",
        "reason": "overflow",
    }
    assert read_compaction_event(raw, context_window=100, settings=SETTINGS) == CompactionEvent(
        entries=TOLD,
        tokens_before=9,
        settings=settings_,
        context_window=100,
        target_ratio=0.5,
        fill="tail",
        custom_instructions="mind",
        reason="overflow",
    )


@pytest.mark.requirement("summary:source:poison")
def test_the_previous_summary_is_never_looked_at():
    preparation = Watched({"tokensBefore": 9, "settings": {}, "previousSummary": "POISON"})
    raw: JsonObject = {"branchEntries": TOLD, "preparation": preparation}
    compile_summary(read_compaction_event(raw, context_window=None, settings=SETTINGS))
    assert preparation.seen == {"tokensBefore", "settings"}


@pytest.mark.requirement("summary:host:branch")
def test_the_event_before_a_branch_is_left_is_read():
    preparation: JsonObject = {
        "entriesToSummarize": TOLD,
        "oldLeafId": "e3",
        "customInstructions": "mind",
        "replaceInstructions": True,
        "userWantsSummary": True,
    }
    assert read_branch_event({"preparation": preparation}) == BranchEvent(
        entries=TOLD,
        old_leaf_id="e3",
        custom_instructions="mind",
        replaces_instructions=True,
        wants_summary=True,
    )


@pytest.mark.requirement("summary:robustness:total")
@given(JSON_VALUES, JSON_VALUES, JSON_VALUES)
@settings(deadline=None)
def test_any_event_is_read_and_answered(entries: Json, preparation: Json, other: Json):
    raw: JsonObject = {
        "branchEntries": entries,
        "preparation": preparation,
        "customInstructions": other,
        "reason": other,
    }
    compile_summary(read_compaction_event(raw, context_window=other, settings=SETTINGS))
    compile_branch_summary(read_branch_event(raw))
