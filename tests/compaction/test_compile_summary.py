import dataclasses
import json
import math
import random
import sys
from collections.abc import Sequence

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from told_sessions import (
    ANY_ENTRIES,
    ENTRIES,
    JSON_VALUES,
    calls,
    edited,
    marker,
    note,
    path,
    returns,
    says,
    user,
)

from pi_fabric.base.bounds import utf8_bytes
from pi_fabric.base.jsonvalue import Json, JsonObject, is_array, is_object, utf16_length
from pi_fabric.compaction.compile import CompactionEvent, compile_summary
from pi_fabric.compaction.details import recorded_version
from pi_fabric.compaction.outcome import Compiled, Declined
from pi_fabric.compaction.render import HEADERS, MAX_BLOCK_BYTES, MAX_FOOTER_BYTES, MAX_SUMMARY_BYTES, RULE
from pi_fabric.history.events.model import Event
from pi_fabric.history.events.normalize import normalize

PREFIX = "__pi_fabric_compact_request_v1__:"
TOLD = [
    user("fix it\nplease"),
    *edited("src/a.ts", "c1", is_error=True),
    *edited("src/a.ts", "c2"),
    says("done"),
    user("next"),
    says("at it"),
]
# Where a summary is compiled in a process of its own.
SCRIPT = """
import json, sys
from pi_fabric.compaction.compile import CompactionEvent, compile_summary
event = CompactionEvent(entries=json.loads(sys.stdin.read()), tokens_before=1000)
compiled = compile_summary(event)
sys.stdout.buffer.write(json.dumps([compiled.summary, compiled.details]).encode())
"""


def outcome_of(entries: Sequence[JsonObject], fields: JsonObject) -> Compiled | Declined:
    arguments: JsonObject = {"tokens_before": 1_000, **fields}
    return compile_summary(CompactionEvent(entries=entries, **arguments))


def compiled(entries: Sequence[JsonObject], **fields: Json) -> Compiled:
    outcome = outcome_of(entries, fields)
    assert isinstance(outcome, Compiled)
    return outcome


def declined(entries: Sequence[JsonObject], **fields: Json) -> Declined:
    outcome = outcome_of(entries, fields)
    assert isinstance(outcome, Declined)
    return outcome


def shuffled(value: Json, chance: random.Random) -> Json:
    """The same JSON with the keys of entries, messages and details in another order; arguments stay."""
    if is_array(value):
        return [shuffled(item, chance) for item in value]
    if not is_object(value):
        return value
    keys = list(value)
    chance.shuffle(keys)
    return {key: value[key] if key == "arguments" else shuffled(value[key], chance) for key in keys}


@pytest.mark.requirement("summary:sections:order")
def test_sections_come_in_order_with_the_request_after_the_goal():
    found = compiled(path(TOLD), custom_instructions="mind the tests")
    headers = [block.split("\n")[0] for block in found.summary.split("\n\n")]
    named = [
        "[Session Goal]",
        "[Compaction Request]",
        "[Files And Changes]",
        "[Outstanding Context]",
        "[Current Status]",
    ]
    assert headers == [*named, RULE, RULE]
    assert found.details["sections"] == named


@pytest.mark.requirement("summary:details:v2")
def test_the_record_says_what_the_summary_covers():
    found = compiled(path(TOLD))
    assert found.first_kept_entry_id == "e7"
    assert found.tokens_before == 1_000
    assert found.details == {
        "compactor": "fabric",
        "version": 2,
        "sections": ["[Session Goal]", "[Files And Changes]", "[Outstanding Context]", "[Current Status]"],
        "coverage": {
            "cumulativeSourceRange": {"first": "e1", "last": "e6"},
            "liveCutRange": {"first": "e1", "last": "e6"},
        },
        "counts": {
            "branchEntries": 8,
            "cumulativeSourceEntries": 6,
            "sourceEvents": 6,
            "liveCutEntries": 6,
            "priorFabricV1": 0,
            "priorFabricV2": 0,
        },
        "omittedCounts": {
            "goal": 0,
            "files": 0,
            "activity": 0,
            "outstanding": 0,
            "earlierTurns": 0,
            "transcript": 0,
            "preserve": 0,
        },
        "instructionPolicy": {
            "mode": "none",
            "canonicalized": False,
            "sourceBytes": 0,
            "truncated": False,
            "preserveCount": 0,
            "omittedPreserveCount": 0,
        },
        "stableAddresses": {
            "firstKeptEntryId": "e7",
            "cumulativeSourceRange": {"first": "e1", "last": "e6"},
            "recall": "session-entry-id-range",
        },
        "timestamp": "2025-01-01T00:00:06.000Z",
    }
    assert recorded_version(found.details) == 2


@pytest.mark.requirement("summary:details:range")
def test_entries_that_tell_nothing_are_not_in_the_source_range():
    silent = {"type": "message", "message": {"role": "assistant", "content": None}}
    found = compiled(path([user("goal"), silent, user("kept")]))
    assert found.details["coverage"]["cumulativeSourceRange"] == {"first": "e1", "last": "e1"}
    assert found.details["coverage"]["liveCutRange"] == {"first": "e1", "last": "e2"}
    assert found.details["timestamp"] == "2025-01-01T00:00:01.000Z"


@pytest.mark.requirement("summary:details:markers")
def test_earlier_records_of_ours_are_counted_by_version():
    details = compiled(path(TOLD)).details
    entries = path(
        [
            user("goal"),
            marker("s", "", details=details),
            marker("s", "", details={"compactor": "other"}),
            user("x"),
        ]
    )
    counts = compiled(entries).details["counts"]
    assert (counts["priorFabricV1"], counts["priorFabricV2"]) == (0, 1)


@pytest.mark.requirement("summary:budget:projected")
def test_the_record_projects_what_is_in_use_afterwards():
    turns = [entry for number in range(40) for entry in (user(f"t{number}"), says("x" * 4_000))]
    found = compiled(path(turns), context_window=60_000, target_ratio=0.65, tokens_before=50_000)
    budget = found.details["budget"]
    raw = budget["retainedRawTokens"] + math.ceil(utf16_length(found.summary) / 4)
    projected = math.ceil(budget["fixedOverheadTokens"] + raw * budget["tokenScale"])
    assert budget["projectedTokensAfter"] == projected
    assert projected <= budget["targetContextTokens"]
    assert found.first_kept_entry_id in {entry["id"] for entry in path(turns)}


@pytest.mark.requirement("summary:declined:causes")
def test_there_are_four_causes_for_no_compaction():
    assert declined([]).cause == "empty-live-window"
    assert declined(path([{"type": "branch_summary", "summary": "text", "fromId": "x"}])).cause == (
        "no-source-events"
    )
    small = {"context_window": 4_000, "target_ratio": 0.65, "tokens_before": 5_000}
    assert declined(path(TOLD), **small).cause == "over-target"
    refused = declined(path(TOLD), custom_instructions=PREFIX + "{")
    assert refused.cause == "instruction:malformed-json"
    assert refused.notice
    assert len(refused.notice) <= 80


@pytest.mark.requirement("summary:request:lines")
def test_a_typed_request_is_shown_line_by_line():
    request = PREFIX + json.dumps({"version": 1, "instructions": " a  b ", "preserve": ["x", "y\nz"]})
    found = compiled(path(TOLD), custom_instructions=request)
    assert "[Compaction Request]\na b\n- x [preserve:0]\n- y z [preserve:1]\n\n" in found.summary
    assert found.details["instructionPolicy"]["mode"] == "typed-v1"


@pytest.mark.requirement("summary:bounds:middle-out")
def test_lines_of_a_request_that_do_not_fit_are_counted():
    facts = [f"fact {number} {'x' * 700}" for number in range(16)]
    request = PREFIX + json.dumps({"version": 1, "instructions": "keep these", "preserve": facts})
    block = compiled(path(TOLD), custom_instructions=request).summary.split("\n\n")[1].split("\n")
    assert [line[:8] for line in block if "fact" in line] == ["- fact 0", "- fact 1", "- fact 1", "- fact 1"]
    assert block[4] == "… 12 more, line 4 to line 15"


@pytest.mark.requirement("summary:determinism:bytes")
@given(st.lists(ENTRIES, max_size=20), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_the_order_of_keys_changes_no_byte(entries: list[JsonObject], chance: random.Random):
    branch = path(entries)
    event = CompactionEvent(entries=branch, tokens_before=1_000)
    again = CompactionEvent(entries=shuffled(branch, chance), tokens_before=1_000)
    assert compile_summary(event) == compile_summary(again)


@pytest.mark.requirement("summary:determinism:bytes")
@pytest.mark.anyio
async def test_a_new_process_with_another_hash_seed_gives_the_same_bytes():
    entries = path(
        [*TOLD, *(entry for n in range(60) for entry in edited(f"src/{n}.ts", f"d{n}")), user("x")]
    )
    found = compiled(entries)
    with anyio.fail_after(30):
        for seed in ("1", "2"):
            process = await anyio.run_process(
                [sys.executable, "-c", SCRIPT],
                input=json.dumps(entries).encode(),
                env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            )
            assert json.loads(process.stdout) == [found.summary, found.details]


@pytest.mark.requirement("summary:robustness:total")
@given(st.lists(ANY_ENTRIES, max_size=12), JSON_VALUES, JSON_VALUES)
@settings(max_examples=150, deadline=None)
def test_any_json_objects_as_entries_give_an_outcome(
    entries: list[JsonObject], window: Json, given_settings: Json
):
    event = CompactionEvent(
        entries=entries,
        tokens_before=1_000,
        context_window=window,
        target_ratio=0.65,
        settings=given_settings,
    )
    outcome = compile_summary(event)
    if isinstance(outcome, Compiled):
        assert utf8_bytes(outcome.summary) <= MAX_SUMMARY_BYTES
        json.dumps(outcome.details)
        outcome.summary.encode()


@pytest.mark.requirement("summary:bounds:blocks")
@given(st.lists(ENTRIES, min_size=1, max_size=60))
@settings(max_examples=60, deadline=None)
def test_no_block_nor_line_nor_the_whole_exceeds_its_bound(entries: list[JsonObject]):
    outcome = compile_summary(CompactionEvent(entries=path(entries), tokens_before=1_000))
    if isinstance(outcome, Declined):
        return
    limits = {HEADERS[name]: limit for name, limit in MAX_BLOCK_BYTES.items()}
    blocks = outcome.summary.split("\n\n")
    assert utf8_bytes(outcome.summary) <= MAX_SUMMARY_BYTES
    assert utf8_bytes(blocks[-1]) <= MAX_FOOTER_BYTES
    for block in blocks[:-1]:
        header, *lines = block.split("\n")
        assert utf8_bytes(block) <= limits[header]
        assert all(utf8_bytes(line) <= 1_024 for line in lines)


@pytest.mark.requirement("summary:bounds:saturated")
def test_a_source_that_fills_every_block_stays_within_32_kib():
    wide = "目標設定と検証😀" * 60
    entries: list[JsonObject] = []
    for number in range(60):
        entries += [user(f"{number} {wide}"), *edited(f"源/{number}/{wide[:60]}", f"c{number}")]
        entries += [calls("web", f"w{number}", q=number), returns("web", f"w{number}", wide, is_error=True)]
        entries += [note("型", wide), says(wide)]
    found = compiled(path(entries), custom_instructions=wide * 8)
    assert 20 * 1_024 < utf8_bytes(found.summary) <= MAX_SUMMARY_BYTES


@pytest.mark.requirement("summary:source:poison")
def test_there_is_no_room_for_the_previous_summary():
    assert {field.name for field in dataclasses.fields(CompactionEvent)} == {
        "entries",
        "tokens_before",
        "settings",
        "context_window",
        "target_ratio",
        "fill",
        "custom_instructions",
        "reason",
    }


@pytest.mark.requirement("summary:source:poison")
@given(st.lists(ENTRIES, min_size=1, max_size=12), st.integers(0, 12))
@settings(max_examples=40, deadline=None)
def test_no_text_of_a_stored_summary_reaches_the_output(entries: list[JsonObject], at: int):
    poison = "POISON_991"
    stored: list[JsonObject] = [
        marker(poison, "none", details={"text": poison}),
        {"type": "branch_summary", "summary": poison, "fromId": "x", "details": {"summary": poison}},
        {"type": "message", "message": {"role": "compactionSummary", "summary": poison, "content": poison}},
        {"type": "message", "message": {"role": "branchSummary", "summary": poison, "content": poison}},
        {"type": "custom", "customType": "x", "data": poison},
    ]
    branch = path([*entries[:at], *stored, *entries[at:], user("kept")])
    outcome = compile_summary(CompactionEvent(entries=branch, tokens_before=1_000))
    if isinstance(outcome, Compiled):
        assert poison not in outcome.summary
        assert poison not in json.dumps(outcome.details)


def test_events_that_the_caller_has_are_not_made_anew():
    branch = path(TOLD)
    ends: list[int] = []

    def events_before(end: int) -> list[Event]:
        ends.append(end)
        return normalize(branch[:end])

    event = CompactionEvent(entries=branch, tokens_before=1_000)
    assert compile_summary(event, events_before=events_before) == compile_summary(event)
    assert ends == [6]


@pytest.mark.requirement("summary:budget:overflow")
def test_after_an_overflow_the_window_is_smaller_than_it_says():
    turns = [entry for number in range(60) for entry in (user(f"t{number}"), says("x" * 4_000))]
    fields: dict[str, Json] = {"context_window": 100_000, "target_ratio": 0.85, "tokens_before": 70_000}
    threshold = compiled(path(turns), reason="threshold", **fields)
    overflow = compiled(path(turns), reason="overflow", **fields)
    kept = [found.details["budget"]["retainedRawTokens"] for found in (threshold, overflow)]
    assert kept[1] < kept[0]
