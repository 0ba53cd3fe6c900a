import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from told_sessions import ANY_ENTRIES, edited, note, operation, path, ran, says, sections, shown, user

from pi_fabric.base.bounds import json_bytes, utf8_bytes
from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.compaction.assemble import assemble, told_until
from pi_fabric.compaction.branch_summary import BranchEvent, BranchSummary, compile_branch_summary
from pi_fabric.compaction.outcome import Declined
from pi_fabric.compaction.qa import check
from pi_fabric.compaction.request import PI_VCC_SENTINEL, REQUEST_PREFIX
from pi_fabric.history.events.branch_reader import read_branch_details
from pi_fabric.history.events.normalize import normalize

TOLD = path([user("try it"), *edited("src/a.ts", "c1", is_error=True), says("no luck")])


def summarized(entries: list[JsonObject] = TOLD, **fields: Json) -> BranchSummary:
    outcome = compile_branch_summary(BranchEvent(entries=entries, **fields))
    assert isinstance(outcome, BranchSummary)
    return outcome


@pytest.mark.requirement("summary:branch:details")
def test_the_record_names_the_source_and_the_leaf_and_carries_facts():
    details = summarized(old_leaf_id="e4").details
    assert details["source"] == {
        "firstEntryId": "e1",
        "lastEntryId": "e4",
        "entryCount": 4,
        "oldLeafId": "e4",
    }
    assert [fact["address"] for fact in details["facts"]] == ["e1/user", "e2/call:c1"]
    assert details["sections"] == ["[Session Goal]", "[Outstanding Context]", "[Current Status]"]
    assert details["omittedFacts"] == 0
    assert read_branch_details(details) is not None


@pytest.mark.requirement("summary:branch:request")
def test_a_request_is_shown_and_recorded_also_the_sentinel():
    found = summarized(custom_instructions=PI_VCC_SENTINEL)
    assert f"[Compaction Request]\n{PI_VCC_SENTINEL}\n\n" in found.summary
    assert found.details["request"] == {"text": PI_VCC_SENTINEL, "sourceBytes": 10, "truncated": False}


@pytest.mark.requirement("summary:branch:not-ours")
@pytest.mark.parametrize(
    "event",
    [
        BranchEvent(entries=TOLD, wants_summary=False),
        BranchEvent(entries=TOLD, replaces_instructions=True, custom_instructions=REQUEST_PREFIX),
        BranchEvent(entries=[]),
        BranchEvent(entries=path([{"type": "compaction", "summary": "text"}])),
    ],
)
def test_what_is_not_ours_is_left_to_others(event: BranchEvent):
    assert compile_branch_summary(event) is None


@pytest.mark.requirement("summary:branch:refused")
def test_a_broken_request_is_refused_and_told():
    outcome = compile_branch_summary(BranchEvent(entries=TOLD, custom_instructions=REQUEST_PREFIX))
    assert isinstance(outcome, Declined)
    assert outcome.cause == "instruction:malformed-json"
    assert outcome.notice is not None


@pytest.mark.requirement("summary:branch:facts")
def test_a_failure_of_a_branch_that_was_left_is_resolved_on_the_next():
    left = summarized()
    summary: JsonObject = {
        "type": "branch_summary",
        "id": "s1",
        "summary": left.summary,
        "details": left.details,
    }
    assert shown(path([summary]), "outstanding") == ['- [e2/call:c1] edit src/a.ts failed: "ok"']
    after = path([summary, *edited("src/a.ts", "d1")])
    assert shown(after, "outstanding") == ["- [e2/call:c1] edit src/a.ts: resolved in e2"]
    assert [line.text for line in sections(after)["goal"].lines] == ["> try it"]


@pytest.mark.requirement("summary:branch:told-once")
def test_who_comes_back_to_a_branch_is_not_told_again_what_is_on_it():
    program = ran("p1", [operation("mesh.put", "failed")], phases=["try"])
    first = path([user("try it"), *edited("src/a.ts", "c1", is_error=True), note("n", "mind"), program])
    aside = [
        {"type": "branch_summary", "id": "s1", "summary": "x", "details": summarized(first).details},
        {**user("other way"), "id": "s2"},
    ]
    back = {"type": "branch_summary", "id": "s3", "summary": "x", "details": summarized(path(aside)).details}
    entries = path([*first, back, user("go on")])
    assert shown(entries, "goal") == ["> try it", "- [s2] other way", "- [e7] go on"]
    assert shown(entries, "activity") == ["- [e5/phase:0] phase try", "- [e5/0] mesh.put failed"]
    assert shown(entries, "outstanding") == [
        '- [e2] edit src/a.ts failed: "ok"',
        "- [e5/0] mesh.put failed",
    ]
    assert [line.split("]")[0] for line in shown(entries, "earlierTurns")] == ["- [e1", "- [e4", "- [s2"]
    events = normalize(entries)
    assert check(assemble(events, timestamp=told_until(entries, events)).text, entries).is_complete


@pytest.mark.requirement("summary:robustness:total")
@given(st.lists(ANY_ENTRIES, max_size=12))
@settings(max_examples=80, deadline=None)
def test_any_json_objects_as_entries_give_a_bounded_outcome(entries: list[JsonObject]):
    outcome = compile_branch_summary(BranchEvent(entries=entries))
    if isinstance(outcome, BranchSummary):
        assert utf8_bytes(outcome.summary) <= 32 * 1_024
        assert json_bytes(outcome.details) <= 128 * 1_024
        assert read_branch_details(outcome.details) is not None
        json.dumps(outcome.details)
