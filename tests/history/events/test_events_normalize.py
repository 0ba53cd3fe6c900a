import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.jsonvalue import UNDEFINED, Json, JsonObject
from pi_fabric.history.events import Normalizer, normalize
from pi_fabric.history.events.model import (
    AssistantText,
    BashRan,
    CustomMessage,
    Event,
    FabricOperation,
    FabricPhase,
    Thinking,
    ToolCalled,
    ToolResulted,
    UserText,
)


def message(role: str, content: Json = UNDEFINED, *, id: str = "e1", **more: Json) -> JsonObject:
    body: JsonObject = {"role": role, **more}
    if content is not UNDEFINED:
        body["content"] = content
    return {"type": "message", "id": id, "parentId": None, "message": body}


def called(call_id: str, name: str, args: Json, *, id: str = "e1") -> JsonObject:
    return message("assistant", [{"type": "toolCall", "id": call_id, "name": name, "arguments": args}], id=id)


def resulted(call_id: str, name: str, text: str = "", *, id: str = "e2", **more: Json) -> JsonObject:
    return message("toolResult", text, id=id, toolCallId=call_id, toolName=name, **more)


def only(entry: Json) -> Event:
    (event,) = normalize([entry])
    return event


@pytest.mark.requirement("events:message:text")
@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("as it is ", "as it is "),
        (
            [{"type": "text", "text": "a"}, {"type": "image", "data": "AA"}, {"type": "text", "text": "b"}],
            "a\nb",
        ),
        ([None, 5, {"type": "text"}, {"type": "text", "text": 5}], ""),
        ([], ""),
        (None, ""),
        ({"text": "x"}, ""),
    ],
)
def test_a_user_says_the_text_parts_of_its_content(content: Json, text: str) -> None:
    assert only(message("user", content)) == UserText(entry_id="e1", source_entry_id="e1", index=1, text=text)


@pytest.mark.requirement("events:message:assistant")
def test_each_typed_part_of_an_answer_is_an_event_in_its_order() -> None:
    parts: Json = [
        None,
        5,
        {"type": "text"},
        {"type": "thinking", "thinking": "secret"},
        {"type": "toolCall", "id": "c", "name": "ls"},
        {"type": "toolCall", "name": "without id", "arguments": {}},
        {"type": "toolCall", "id": "without name", "arguments": {}},
        {"type": "toolCall", "id": "d", "name": "ls", "arguments": ["no object"]},
        {"type": "text", "text": ""},
    ]

    assert normalize([message("assistant", parts)]) == [
        Thinking(entry_id="e1", source_entry_id="e1", index=1),
        ToolCalled(entry_id="e1", source_entry_id="e1", index=2, tool_call_id="c", name="ls", args={}),
        ToolCalled(entry_id="e1", source_entry_id="e1", index=3, tool_call_id="d", name="ls", args={}),
        AssistantText(entry_id="e1", source_entry_id="e1", index=4, text=""),
    ]


@pytest.mark.parametrize("content", ["words", None, {}])
def test_an_answer_without_a_list_of_parts_says_nothing(content: Json) -> None:
    assert normalize([message("assistant", content)]) == []


@pytest.mark.requirement("events:message:thinking")
@pytest.mark.parametrize(
    ("part", "is_empty"),
    [
        ({"thinking": "secret plan"}, False),
        ({"thinking": " \n\ufeff"}, True),
        ({"thinking": ""}, True),
        ({"thinking": None}, True),
        ({}, True),
    ],
)
def test_a_thought_is_an_event_without_its_text(part: JsonObject, is_empty: bool) -> None:
    event = only(message("assistant", [{"type": "thinking", **part}]))

    assert event == Thinking(entry_id="e1", source_entry_id="e1", index=1, is_empty=is_empty)
    assert "secret" not in repr(event)


@pytest.mark.requirement("events:message:result")
def test_a_result_keeps_the_id_of_its_call_and_its_text() -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]

    assert only(message("toolResult", parts, toolCallId="c", toolName="ls", isError=True)) == ToolResulted(
        entry_id="e1",
        source_entry_id="e1",
        index=1,
        tool_call_id="c",
        tool_name="ls",
        is_error=True,
        text="one\ntwo",
    )


@pytest.mark.parametrize("is_error", ["yes", 1, None])
def test_only_true_makes_a_result_a_failure(is_error: Json) -> None:
    event = only(message("toolResult", isError=is_error))

    assert event == ToolResulted(
        entry_id="e1", source_entry_id="e1", index=1, tool_call_id="", tool_name="", is_error=False, text=""
    )


@pytest.mark.requirement("events:bash:result")
def test_a_result_of_bash_is_a_command_that_ran() -> None:
    entries = [
        called("c", "bash", {"command": " make  all "}),
        resulted("c", "bash", "no rule", isError=True),
    ]

    assert normalize(entries)[1] == BashRan(
        entry_id="e2",
        source_entry_id="e2",
        index=2,
        tool_call_id="c",
        command=" make  all ",
        is_error=True,
        exit_code=None,
        error="no rule",
    )


def test_what_a_command_printed_is_not_kept_when_it_succeeded() -> None:
    ran = normalize([called("c", "bash", {"command": "ls"}), resulted("c", "bash", "files")])[1]

    assert isinstance(ran, BashRan)
    assert (ran.is_error, ran.error) == (False, None)


def test_a_command_that_fails_in_silence_has_no_error_text() -> None:
    ran = normalize([called("c", "bash", {"command": "false"}), resulted("c", "bash", "", isError=True)])[1]

    assert isinstance(ran, BashRan)
    assert (ran.is_error, ran.error) == (True, None)


def command_of(entries: list[JsonObject]) -> str:
    (ran,) = (event for event in normalize(entries) if isinstance(event, BashRan))
    return ran.command


@pytest.mark.requirement("events:bash:pairing")
def test_a_command_is_that_of_the_call_with_the_same_id() -> None:
    calls = [called("a", "bash", {"command": "first"}), called("b", "bash", {"command": "second"})]

    assert command_of([*calls, resulted("a", "bash")]) == "first"
    assert command_of([*calls, resulted("b", "bash")]) == "second"


@pytest.mark.requirement("events:bash:pairing")
@pytest.mark.parametrize(
    "entries",
    [
        [resulted("c", "bash")],
        [called("other", "bash", {"command": "x"}), resulted("c", "bash")],
        [resulted("c", "bash"), called("c", "bash", {"command": "too late"})],
        [called("c", "bash", {"cmd": "x"}), resulted("c", "bash")],
        [called("c", "bash", {"command": 5}), resulted("c", "bash")],
    ],
)
def test_a_command_without_an_earlier_call_that_names_it_is_unknown(entries: list[JsonObject]) -> None:
    assert command_of(entries) == ""


def test_a_call_of_a_turn_that_failed_is_a_call() -> None:
    call = called("c", "bash", {"command": "ls"})
    call["message"] |= {"stopReason": "error", "errorMessage": "overloaded"}

    assert command_of([call, resulted("c", "bash")]) == "ls"


def test_of_calls_with_the_same_id_the_newest_counts() -> None:
    entries = [called("c", "bash", {"command": "old"}), called("c", "bash", {"command": "new"})]

    assert command_of([*entries, resulted("c", "bash")]) == "new"


@pytest.mark.requirement("events:bash:user")
@pytest.mark.parametrize(
    ("given", "exit_code", "error"),
    [
        ({"output": "bad", "exitCode": 2}, 2, "bad"),
        ({"output": "", "exitCode": 2}, 2, None),
        ({"output": "fine", "exitCode": 0}, 0, None),
        ({"output": "cancelled", "cancelled": True}, None, None),
        ({"output": "x", "exitCode": "1"}, None, None),
        ({"output": "x", "exitCode": True}, None, None),
        ({"output": None, "exitCode": -1.5}, -1.5, None),
    ],
)
def test_a_command_of_the_users_fails_by_a_number_that_is_not_zero(
    given: JsonObject, exit_code: float | None, error: str | None
) -> None:
    assert only(message("bashExecution", command="ls", **given)) == BashRan(
        entry_id="e1",
        source_entry_id="e1",
        index=1,
        tool_call_id="",
        command="ls",
        is_error=bool(exit_code),
        exit_code=exit_code,
        error=error,
    )


@pytest.mark.requirement("events:bash:hidden")
def test_a_command_that_the_user_keeps_from_the_model_is_no_event() -> None:
    assert normalize([message("bashExecution", command="ls", excludeFromContext=True)]) == []
    assert len(normalize([message("bashExecution", command="ls", excludeFromContext=False)])) == 1


@pytest.mark.requirement("events:prose:never")
@pytest.mark.parametrize(
    "entry",
    [
        {"type": "compaction", "id": "e1", "summary": "PROSE", "details": {"compactor": "fabric"}},
        {"type": "branch_summary", "id": "e1", "summary": "PROSE"},
        {"type": "branch_summary", "id": "e1", "summary": "PROSE", "details": {"facts": ["PROSE"]}},
        message("compactionSummary", summary="PROSE"),
        message("branchSummary", summary="PROSE"),
        message("custom", "PROSE", customType="note", display=True),
        message("system", "PROSE"),
        message("someday", "PROSE"),
        {"type": "custom", "id": "e1", "customType": "state", "data": "PROSE"},
        {"type": "someday", "id": "e1", "message": {"role": "user", "content": "PROSE"}},
    ],
)
def test_summaries_and_unknown_kinds_are_no_source(entry: JsonObject) -> None:
    assert normalize([entry]) == []


@pytest.mark.requirement("events:custom:typed")
def test_a_message_of_an_extension_is_kept_with_its_type() -> None:
    entry: JsonObject = {
        "type": "custom_message",
        "id": "e1",
        "customType": "note",
        "content": [{"type": "text", "text": "a"}, {"type": "image", "data": "AA", "mimeType": "image/png"}],
        "display": False,
        "details": {"b": 1, "a": None},
    }

    event = only(entry)
    assert event == CustomMessage(
        entry_id="e1",
        source_entry_id="e1",
        index=1,
        custom_type="note",
        text="a",
        display=False,
        details={"a": None, "b": 1},
    )


TRACE: JsonObject = {
    "kind": "pi-fabric.execution",
    "version": 1,
    "outcome": "succeeded",
    "phases": ["look"],
    "operations": [{"type": "call", "sequence": 4, "ref": "pi.ls", "args": {}, "outcome": "succeeded"}],
    "counts": {"droppedValues": 0, "truncatedValues": 0, "redactedValues": 0, "droppedOperations": 0},
}


@pytest.mark.requirement("events:nested:trace")
def test_a_program_is_its_result_and_then_what_its_trace_tells() -> None:
    result, phase, operation = normalize([resulted("c", "fabric_exec", "done", details={"trace": TRACE})])

    assert isinstance(result, ToolResulted)
    assert isinstance(phase, FabricPhase)
    assert isinstance(operation, FabricOperation)
    assert (phase.address, phase.phase) == ("e2/phase:0", "look")
    assert (operation.address, operation.source) == ("e2/4", "trace")
    assert [event.index for event in (result, phase, operation)] == [1, 2, 3]


@pytest.mark.requirement("events:nested:outer-tool")
def test_a_trace_in_the_result_of_another_tool_counts_for_nothing() -> None:
    assert len(normalize([resulted("c", "other", details={"trace": TRACE})])) == 1


FACTS: JsonObject = {
    "kind": "pi-fabric.branch-summary",
    "version": 1,
    "source": {"firstEntryId": "b1", "lastEntryId": "b4", "entryCount": 4, "oldLeafId": "b4"},
    "facts": [
        {"kind": "user", "entryId": "b1", "subordinal": "user", "address": "b1/user", "text": "goal"},
        {
            "kind": "customMessage",
            "entryId": "b2",
            "subordinal": "custom-message",
            "address": "b2/custom-message",
            "customType": "t",
            "text": "x",
            "display": True,
        },
        {"kind": "phase", "entryId": "b3", "subordinal": "phase:0", "address": "b3/phase:0", "phase": "look"},
        {
            "kind": "operation",
            "entryId": "b4",
            "subordinal": "call:c",
            "address": "b4/call:c",
            "ref": "edit",
            "action": "edit",
            "tool": "edit",
            "args": {"path": "f"},
            "outcome": "failed",
            "error": "no such text",
        },
    ],
    "omittedFacts": 0,
    "sections": [],
    "request": {"text": "", "sourceBytes": 0, "truncated": False},
}


@pytest.mark.requirement("events:branch:facts")
def test_the_facts_of_a_branch_summary_are_events_of_the_entries_they_name() -> None:
    entry: JsonObject = {"type": "branch_summary", "id": "e9", "summary": "PROSE", "details": FACTS}

    user, custom, phase, operation = normalize([message("user", "first"), entry])[1:]
    assert user == UserText(entry_id="b1", source_entry_id="e9", index=2, text="goal")
    assert custom == CustomMessage(
        entry_id="b2", source_entry_id="e9", index=3, custom_type="t", text="x", display=True
    )
    assert phase == FabricPhase(
        entry_id="b3", source_entry_id="e9", index=4, subordinal="phase:0", phase="look"
    )
    assert operation == FabricOperation(
        entry_id="b4",
        source_entry_id="e9",
        index=5,
        subordinal="call:c",
        ref="edit",
        action="edit",
        tool="edit",
        args={"path": "f"},
        outcome="failed",
        error="no such text",
        source="branch",
    )


def test_an_entry_without_an_id_is_no_event() -> None:
    entry = message("user", "who am I")
    entry["id"] = None

    assert normalize([entry]) == []


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(
        ["message", "user", "assistant", "toolResult", "bashExecution", "text", "bash", "fabric_exec", "c"]
    ),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["type", "id", "message", "role", "content", "details", "toolName", "trace", "audits"]
            )
            | st.text(max_size=4),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)
parts = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "thinking", "toolCall", "image"])},
    optional={
        "text": anything,
        "id": st.just("c") | anything,
        "name": st.just("bash"),
        "arguments": anything,
    },
)
messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "toolResult", "bashExecution"])},
    optional={
        "content": st.lists(parts | anything, max_size=3) | anything,
        "toolName": st.sampled_from(["bash", "fabric_exec", "ls"]),
        "toolCallId": st.just("c"),
        "details": anything | st.just({"trace": TRACE}),
        "exitCode": anything,
        "isError": st.booleans(),
    },
)
entries = st.fixed_dictionaries(
    {"type": st.sampled_from(["message", "custom_message", "branch_summary"]), "id": st.text(max_size=3)},
    optional={
        "message": messages | anything,
        "details": st.just(FACTS) | anything,
        "customType": st.just("t"),
        "content": st.text() | anything,
        "display": st.booleans(),
    },
)


@pytest.mark.requirement("events:normalize:total")
@given(st.lists(entries | anything, max_size=6))
def test_any_json_is_normalized_and_numbered_without_gaps(branch: list[Json]) -> None:
    events = normalize(branch)

    assert [event.index for event in events] == list(range(1, len(events) + 1))


@pytest.mark.requirement("events:normalize:incremental")
@given(st.lists(entries | anything, max_size=6))
def test_entry_by_entry_gives_the_same_events(branch: list[Json]) -> None:
    normalizer = Normalizer()

    # Compared as text: NaN, which JSON as read leniently may hold, does not equal itself.
    joined = [event for entry in branch for event in normalizer.add(entry)]
    assert repr(joined) == repr(normalize(branch))
