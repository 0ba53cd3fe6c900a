import pytest
from branch_envelopes import details_of

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.history.events import Fact, UserFact, facts_of, normalize, read_branch_details


def message(id: str, role: str, content: Json, **more: Json) -> JsonObject:
    return {"type": "message", "id": id, "message": {"role": role, "content": content, **more}}


def called(id: str, call_id: str, name: str, args: JsonObject) -> JsonObject:
    part = {"type": "toolCall", "id": call_id, "name": name, "arguments": args}
    return message(id, "assistant", [part])


def resulted(id: str, call_id: str, name: str, text: str = "", **more: Json) -> JsonObject:
    return message(id, "toolResult", text, toolCallId=call_id, toolName=name, **more)


def told(*entries: JsonObject) -> list[JsonObject]:
    return [fact.to_json() for fact in facts_of(normalize(entries)).facts]


@pytest.mark.requirement("events:facts:user")
def test_what_users_and_extensions_say_is_a_fact() -> None:
    note = {
        "type": "custom_message",
        "id": "e2",
        "customType": "note",
        "content": "n",
        "display": True,
        "details": {"a": 1},
    }

    assert told(message("e1", "user", "goal"), note) == [
        {"kind": "user", "entryId": "e1", "subordinal": "user", "address": "e1/user", "text": "goal"},
        {
            "kind": "customMessage",
            "entryId": "e2",
            "subordinal": "custom-message",
            "address": "e2/custom-message",
            "customType": "note",
            "text": "n",
            "display": True,
            "details": {"a": 1},
        },
    ]


@pytest.mark.requirement("events:facts:call")
def test_a_call_is_a_fact_of_its_entry_once_its_result_is_there() -> None:
    calls = [called("e1", "a", "edit", {"path": "f", "edits": [1]}), called("e2", "b", "ls", {})]

    assert told(*calls) == []
    assert told(*calls, resulted("e3", "a", "edit", "no such text", isError=True)) == [
        {
            "kind": "operation",
            "entryId": "e1",
            "subordinal": "call:a",
            "address": "e1/call:a",
            "ref": "edit",
            "action": "edit",
            "tool": "edit",
            "args": {"path": "f", "edits": [1]},
            "outcome": "failed",
            "error": "no such text",
        }
    ]


@pytest.mark.requirement("events:facts:call")
def test_facts_come_in_the_order_of_the_results() -> None:
    calls = [called("e1", "a", "read", {}), called("e2", "b", "bash", {"command": "ls", "timeout": 3})]
    facts = told(*calls, resulted("e3", "b", "bash"), resulted("e4", "a", "read"))

    assert [fact["address"] for fact in facts] == ["e2/call:b", "e1/call:a"]
    assert facts[0]["args"] == {"command": "ls", "timeout": 3}
    assert [fact["outcome"] for fact in facts] == ["succeeded", "succeeded"]


@pytest.mark.parametrize("name", ["read", "bash"])
def test_a_failure_that_says_nothing_has_no_error(name: str) -> None:
    (fact,) = told(called("e1", "a", name, {}), resulted("e2", "a", name, "", isError=True))

    assert fact["outcome"] == "failed"
    assert "error" not in fact


def test_a_result_without_its_call_is_no_fact() -> None:
    assert told(resulted("e1", "a", "read"), called("e2", "a", "read", {})) == []


@pytest.mark.requirement("events:facts:command")
def test_a_command_of_the_users_is_a_fact_of_its_own_entry() -> None:
    run = message("e1", "bashExecution", None, command="make", exitCode=2, output="no rule")

    assert told(run) == [
        {
            "kind": "operation",
            "entryId": "e1",
            "subordinal": "bash",
            "address": "e1/bash",
            "ref": "bash",
            "action": "bash",
            "tool": "bash",
            "args": {"command": "make"},
            "outcome": "failed",
            "error": "no rule",
        }
    ]


@pytest.mark.requirement("events:facts:nested")
def test_a_program_is_what_its_trace_tells_and_no_call() -> None:
    trace = {
        "kind": "pi-fabric.execution",
        "version": 1,
        "outcome": "failed",
        "phases": ["look"],
        "operations": [
            {
                "type": "call",
                "sequence": 3,
                "ref": "pi.write",
                "args": {"path": "f"},
                "outcome": "succeeded",
                "result": {"created": True},
            }
        ],
        "counts": {"droppedValues": 0, "truncatedValues": 0, "redactedValues": 0, "droppedOperations": 0},
    }
    call = called("e1", "a", "fabric_exec", {"code": "secret"})

    assert told(call, resulted("e2", "a", "fabric_exec", "secret", details={"trace": trace})) == [
        {
            "kind": "phase",
            "entryId": "e2",
            "subordinal": "phase:0",
            "address": "e2/phase:0",
            "phase": "look",
        },
        {
            "kind": "operation",
            "entryId": "e2",
            "subordinal": "3",
            "address": "e2/3",
            "ref": "pi.write",
            "provider": "pi",
            "action": "write",
            "tool": "write",
            "args": {"path": "f"},
            "outcome": "succeeded",
            "result": {"created": True},
        },
    ]


@pytest.mark.requirement("events:facts:again")
def test_the_facts_of_an_earlier_branch_summary_are_told_again_as_they_are() -> None:
    entries = [
        message("e1", "user", "goal"),
        called("e2", "a", "edit", {"path": "f"}),
        resulted("e3", "a", "edit", "why", isError=True),
    ]
    earlier = details_of(*facts_of(normalize(entries)).facts)
    summary = {"type": "branch_summary", "id": "e9", "summary": "PROSE", "details": earlier.to_json()}

    assert facts_of(normalize([summary])).facts == earlier.facts


@pytest.mark.requirement("events:facts:unique")
def test_what_two_summaries_tell_is_one_fact_in_its_first_place() -> None:
    earlier = details_of(UserFact(entry_id="b1", text="goal")).to_json()
    summary: JsonObject = {"type": "branch_summary", "summary": "PROSE", "details": earlier}
    entries = [{**summary, "id": "e1"}, message("e2", "user", "more"), {**summary, "id": "e3"}]

    assert [fact["address"] for fact in told(*entries)] == ["b1/user", "e2/user"]


@pytest.mark.requirement("events:facts:unique")
def test_of_two_results_of_one_call_the_later_counts() -> None:
    (fact,) = told(
        called("e1", "a", "read", {}),
        resulted("e2", "a", "read", "interrupted", isError=True),
        resulted("e3", "a", "read", "fine"),
    )

    assert (fact["outcome"], fact.get("error")) == ("succeeded", None)


@pytest.mark.requirement("events:facts:sample")
@pytest.mark.parametrize(("count", "omitted"), [(256, 0), (257, 1), (331, 75)])
def test_of_more_than_256_facts_the_first_and_the_last_are_kept(count: int, omitted: int) -> None:
    sample = facts_of(normalize([message(f"e{number}", "user", "t") for number in range(count)]))

    numbers = [*range(count)]
    kept = numbers if not omitted else numbers[:128] + numbers[-128:]
    assert [fact.entry_id for fact in sample.facts] == [f"e{number}" for number in kept]
    assert sample.omitted == omitted


@pytest.mark.requirement("events:facts:text")
def test_a_text_is_cut_at_2048_bytes_with_an_ellipsis() -> None:
    long = "é" * 1025
    failed = [called("e2", "a", "read", {}), resulted("e3", "a", "read", long, isError=True)]
    sample = facts_of(normalize([message("e1", "user", long), *failed]))

    cut = "é" * 1022 + "…"
    assert [fact.to_json().get("text") or fact.to_json().get("error") for fact in sample.facts] == [cut, cut]


def test_a_made_envelope_is_read_back_as_it_was_made() -> None:
    facts: tuple[Fact, ...] = (UserFact(entry_id="e1", text="goal"),)

    assert read_branch_details(details_of(*facts).to_json()) == details_of(*facts)
