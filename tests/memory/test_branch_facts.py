import pytest
from session_files import carries, envelope, fact, operation_fact, path, read_all

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.memory.entries import EntryReader
from pi_fabric.memory.model import Privacy
from pi_fabric.memory.operations import MAX_RESULT_BYTES

USER = fact("user", "b1", "user", text="please")
PHASE = fact("phase", "b2", "phase:0", phase="plan")
OPERATION = operation_fact("b3", provider="pi", action="bash", args={"cwd": "/x", "file": "a.py"}, error="no")
NOTE = fact("custom_message", "b4", "custom-message", customType="ext", text="noted", display=True)


def reasons_of(*entries: JsonObject) -> frozenset[str]:
    reader = EntryReader(session_file="/s", privacy=Privacy())
    for raw in entries:
        reader.read("s", raw)
    return reader.reasons


@pytest.mark.requirement("memory:facts:children")
def test_facts_are_entries_behind_the_summary_that_carries_them() -> None:
    carrier, user, phase, done = read_all(*path(carries(envelope(USER, PHASE, OPERATION))))

    assert (carrier.role, carrier.type, carrier.text) == ("branchSummary", "branch_summary", "")
    assert [(one.type, one.role, one.text) for one in (user, phase)] == [
        ("fabric_branch_fact", "branchUser", "please"),
        ("fabric_branch_fact", "fabricPhase", "fabricPhase phase plan"),
    ]
    assert (user.entry_id, user.fact_address, user.address) == ("b1/user", "b1/user", None)
    assert (phase.entry_id, phase.fact_address) == ("b2/phase:0", "b2/phase:0")
    assert (done.type, done.role, done.entry_id) == ("fabric_branch_fact", "fabricOperation", "b3/0")
    assert (done.address, done.fact_address) == ("b3/0", "b3/0")
    assert (done.ref, done.provider, done.action, done.outcome) == ("pi.bash", "pi", "bash", "failed")
    assert (done.tool_name, done.is_error, done.files) == ("bash", True, ["a.py"])


@pytest.mark.requirement("memory:facts:children")
def test_a_fact_says_who_carries_it() -> None:
    entries = read_all(*path(carries(None), carries(envelope(USER, OPERATION))))

    for one in entries[2:]:
        told = (one.carrier_entry_id, one.carrier_parent_id, one.carrier_from_id, one.parent_entry_id)
        assert told == ("e2", "e1", "b9", "e2")
        assert isinstance(one.branch_fact, dict)
        assert one.branch_fact["carrierEntryId"] == "e2"
        assert one.branch_fact["address"] == one.fact_address


@pytest.mark.requirement("memory:facts:repeated")
def test_a_fact_that_an_earlier_summary_told_is_not_told_again() -> None:
    entries = read_all(*path(carries(envelope(USER)), carries(envelope(PHASE, USER))))

    assert [
        (one.fact_address, one.carrier_entry_id) for one in entries if one.type == "fabric_branch_fact"
    ] == [
        ("b1/user", "e1"),
        ("b2/phase:0", "e2"),
    ]


@pytest.mark.requirement("memory:facts:duplicates")
def test_an_envelope_that_tells_a_fact_twice_is_refused_as_a_whole() -> None:
    entries = path(carries(envelope(PHASE, USER, USER)))

    assert len(read_all(*entries)) == 1
    assert reasons_of(*entries) == {"duplicate_branch_fact_address", "duplicate_operation_address"}


@pytest.mark.requirement("memory:facts:malformed")
@pytest.mark.parametrize(
    "details",
    [
        None,
        {"facts": [USER]},
        envelope(USER, version=2),
        envelope(USER | {"address": "x"}),
        envelope(USER | {"more": 1}),
        envelope(USER, fact("rumour", "b", "x")),
    ],
)
def test_details_that_are_no_envelope_say_nothing_and_are_no_fault(details: Json) -> None:
    entries = path(carries(details))

    assert len(read_all(*entries)) == 1
    assert reasons_of(*entries) == frozenset()


@pytest.mark.requirement("memory:privacy:tool-output")
@pytest.mark.parametrize(("result", "output"), [("body", False), ("x" * MAX_RESULT_BYTES, True)])
def test_a_result_that_is_not_kept_is_nowhere_in_the_entry(result: str, output: bool) -> None:
    raw = carries(envelope(operation_fact("b1", result=result)))
    [_, one] = read_all(*path(raw), privacy=Privacy(tool_output=output))

    assert result not in one.text
    assert isinstance(one.branch_fact, dict)
    assert "result" not in one.branch_fact
    assert isinstance(one.operation, dict)
    assert one.operation["resultOmitted"] is True


def test_a_result_that_is_kept_is_in_text_and_fact() -> None:
    [_, one] = read_all(*path(carries(envelope(operation_fact("b1", result="body")))))

    assert '"result":"body"' in one.text
    assert isinstance(one.branch_fact, dict)
    assert one.branch_fact["result"] == "body"
