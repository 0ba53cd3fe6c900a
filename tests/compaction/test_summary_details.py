import copy

import pytest
from hypothesis import given
from told_sessions import JSON_VALUES

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.compaction.details import recorded_version

RANGE = {"first": "a", "last": "b"}
V1: JsonObject = {
    "compactor": "fabric",
    "version": 1,
    "sections": ["[Session Goal]"],
    "summarizedEntryRange": RANGE,
    "sourceEntryCount": 2,
    "firstKeptEntryId": "e3",
    "timestamp": "t",
}
OMITTED = dict.fromkeys(("goal", "files", "outstanding", "earlierTurns", "transcript", "preserve"), 0)
BUDGET_FIELDS = (
    "contextWindow",
    "targetContextRatio",
    "targetContextTokens",
    "reserveTokens",
    "keepRecentTokens",
    "rawTokensBefore",
    "tokenScale",
    "fixedOverheadTokens",
    "retainedRawTokens",
    "projectedTokensAfter",
)
V2: JsonObject = {
    "compactor": "fabric",
    "version": 2,
    "sections": [],
    "coverage": {"cumulativeSourceRange": RANGE, "liveCutRange": RANGE},
    "counts": {
        "branchEntries": 1,
        "cumulativeSourceEntries": 1,
        "sourceEvents": 1,
        "liveCutEntries": 1,
        "priorFabricV1": 0,
        "priorFabricV2": 0,
    },
    "omittedCounts": OMITTED,
    "instructionPolicy": {
        "mode": "none",
        "canonicalized": False,
        "truncated": False,
        "sourceBytes": 0,
        "preserveCount": 0,
        "omittedPreserveCount": 0,
    },
    "stableAddresses": {
        "firstKeptEntryId": "",
        "cumulativeSourceRange": RANGE,
        "recall": "session-entry-id-range",
    },
    "timestamp": "t",
}


def changed(record: JsonObject, where: str, value: Json) -> JsonObject:
    """A copy with another value at a dotted path."""
    copied = copy.deepcopy(record)
    *outer, last = where.split(".")
    inner = copied
    for key in outer:
        inner = inner[key]
    inner[last] = value
    return copied


@pytest.mark.requirement("summary:details:versions")
def test_both_versions_are_recognized():
    assert recorded_version(V1) == 1
    assert recorded_version(V2) == 2
    assert (
        recorded_version({**V2, "budget": {"strategy": "adaptive", **dict.fromkeys(BUDGET_FIELDS, 1.5)}}) == 2
    )


@pytest.mark.requirement("summary:details:versions")
@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("omittedCounts.activity", 3),
        ("omittedCounts.commits", 1),
        ("instructionPolicy.mode", "malformed-typed-prefix"),
        ("more", {"from": "a later release"}),
    ],
)
def test_records_of_other_releases_are_recognized(where: str, value: Json):
    assert recorded_version(changed(V2, where, value)) == 2


@pytest.mark.requirement("summary:details:versions")
@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("compactor", "other"),
        ("version", 3),
        ("version", True),
        ("omittedCounts.commits", "1"),
        ("omittedCounts.goal", None),
        ("counts.sourceEvents", -1),
        ("counts.sourceEvents", 1.5),
        ("instructionPolicy.mode", "zzz"),
        ("stableAddresses.recall", "other"),
        ("coverage", {}),
        ("timestamp", 5),
        ("budget", {"strategy": "adaptive"}),
        ("budget", None),
        ("stableAddresses.recall", "\ud800"),
        ("\ud800", 1),
    ],
)
def test_anything_else_is_no_record_of_ours(where: str, value: Json):
    assert recorded_version(changed(V2, where, value)) is None


def test_the_first_version_needs_a_timestamp():
    assert recorded_version({key: value for key, value in V1.items() if key != "timestamp"}) is None


@given(JSON_VALUES)
def test_any_json_is_judged(value: Json):
    assert recorded_version(value) is None
