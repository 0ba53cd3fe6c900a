from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.jsonl import read_records
from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.history.content import text_of
from pi_fabric.history.session import Tree
from pi_fabric.history.session.claude import ClaudeTranslator, claude_root, translate_claude
from pi_fabric.history.session.translation import MAX_ENTRIES_BEFORE_HEADER

PUBLIC = Path(__file__).parents[4] / "shared" / "sessions" / "public"
ASKED_AT = "2026-01-02T03:04:05.000Z"


def record(uuid: str, parent: str | None, kind: str, content: Json, **fields: Json) -> JsonObject:
    message: JsonObject = {"role": kind, "content": content}
    if "message_id" in fields:
        message["id"] = fields.pop("message_id")
    base: JsonObject = {"type": kind, "uuid": uuid, "parentUuid": parent, "message": message}
    return {**base, "sessionId": "s1", "cwd": "/work", "timestamp": ASKED_AT, **fields}


def asked(uuid: str, parent: str | None, text: str, **fields: Json) -> JsonObject:
    return record(uuid, parent, "user", text, **fields)


def answered(uuid: str, parent: str | None, *blocks: JsonObject, **fields: Json) -> JsonObject:
    return record(uuid, parent, "assistant", list(blocks), **fields)


def text(words: str) -> JsonObject:
    return {"type": "text", "text": words}


def call(call_id: str, name: str = "Bash", **arguments: Json) -> JsonObject:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id: str, content: Json, **fields: Json) -> JsonObject:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}


def entries(*log: Json) -> list[JsonObject]:
    return list(translate_claude(log))[1:]


def links(found: list[JsonObject]) -> list[tuple[str, str | None]]:
    return [(entry["id"], entry["parentId"]) for entry in found]


def branch(found: list[JsonObject]) -> list[str]:
    tree = Tree(found)
    return [entry["id"] for entry in tree.path_to(tree.leaf_id)]


def spoken(found: list[JsonObject]) -> list[tuple[str, str]]:
    """Role or type, and text, of each entry."""
    return [
        (entry["message"]["role"], text_of(entry["message"]["content"]))
        if entry["type"] == "message"
        else (entry.get("customType", entry["type"]), text_of(entry.get("content")))
        for entry in found
    ]


@pytest.mark.requirement("memory:logs:shape")
@pytest.mark.requirement("memory:logs:claude-messages")
def test_a_conversation_is_given_as_pi_would_have_written_it() -> None:
    log = [
        asked("u1", None, "list the files"),
        answered(
            "a1", "u1", {"type": "thinking", "thinking": "ls will do", "signature": "x"}, message_id="m1"
        ),
        answered("a2", "a1", call("t1", command="ls"), message_id="m1"),
        record("u2", "a2", "user", [result("t1", [text("a.txt"), {"type": "image", "source": {}}])]),
        answered("a3", "u2", text("One file."), message_id="m2"),
    ]

    header, *found = translate_claude(log)

    assert header == {"type": "session", "version": 3, "id": "s1", "timestamp": ASKED_AT, "cwd": "/work"}
    assert links(found) == [("u1", None), ("a1", "u1"), ("a2", "a1"), ("u2", "a2"), ("a3", "u2")]
    assert {entry["timestamp"] for entry in found} == {ASKED_AT}
    assert [entry["message"] for entry in found] == [
        {"role": "user", "content": [text("list the files")]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "ls will do"}]},
        {
            "role": "assistant",
            "content": [{"type": "toolCall", "id": "t1", "name": "Bash", "arguments": {"command": "ls"}}],
        },
        {
            "role": "toolResult",
            "toolCallId": "t1",
            "toolName": "Bash",
            "content": [text("a.txt")],
            "isError": False,
        },
        {"role": "assistant", "content": [text("One file.")]},
    ]


@pytest.mark.requirement("memory:logs:claude-messages")
def test_results_and_words_of_one_record_are_entries_of_their_own_in_order() -> None:
    mixed = [result("t1", "one"), result("t2", "two", is_error=True), text("stop"), {"type": "image"}]

    found = entries(answered("a1", None, call("t1"), call("t2", "Read")), record("u1", "a1", "user", mixed))

    assert links(found)[1:] == [("u1", "a1"), ("u1/1", "u1"), ("u1/2", "u1/1")]
    assert spoken(found)[1:] == [("toolResult", "one"), ("toolResult", "two"), ("user", "stop")]
    assert [entry["message"]["toolName"] for entry in found[1:3]] == ["Bash", "Read"]
    assert links(entries(answered("a1", None, call("t1"), call("t2")), *_after(mixed)))[-1] == ("u2", "u1/2")


def _after(mixed: Json) -> list[JsonObject]:
    return [record("u1", "a1", "user", mixed), asked("u2", "u1", "go on")]


@pytest.mark.requirement("memory:logs:claude-messages")
def test_what_is_streamed_or_written_twice_is_given_once() -> None:
    found = entries(
        asked("u1", None, "hi"),
        answered("a1", "u1", text("Hello."), message_id="m1"),
        answered("a2", "a1", text("Hello."), text("What now?"), message_id="m1"),
        answered("a2", "a1", text("Hello."), text("What now?"), message_id="m1"),
        answered("a3", "u1", text("Hello."), message_id="m1"),
        asked("u1", None, "hi"),
        asked("u2", "a3", "hi"),
    )

    assert spoken(found) == [
        ("user", "hi"),
        ("assistant", "Hello."),
        ("assistant", "What now?"),
        ("user", "hi"),
    ]
    assert branch(found) == ["u1", "a1", "a2", "u2"]


@pytest.mark.requirement("memory:logs:total")
def test_a_uuid_with_another_content_gets_an_id_of_its_own() -> None:
    found = entries(
        asked("u1", None, "one"),
        asked("u1", "u1", "two"),
        asked("u1~2", "u1", "three"),
        asked("u1", "u1", "four"),
    )

    assert links(found) == [("u1", None), ("u1~2", "u1"), ("u1~2~2", "u1~2"), ("u1~3", "u1~2")]


@pytest.mark.requirement("memory:logs:claude-branches")
def test_skipped_records_hand_their_place_on_and_a_rewind_stays_a_branch() -> None:
    found = entries(
        asked("u1", None, "one"),
        {"type": "system", "subtype": "api_error", "uuid": "x1", "parentUuid": "u1"},
        {"type": "attachment", "uuid": "x2", "parentUuid": "x1", "attachment": {"type": "file"}},
        answered("a1", "x2", text("first")),
        asked("u2", "a1", "two"),
        asked("u3", "a1", "two, but better"),
    )

    assert links(found) == [("u1", None), ("a1", "u1"), ("u2", "a1"), ("u3", "a1")]


@pytest.mark.requirement("memory:logs:claude-branches")
def test_results_of_parallel_calls_are_all_on_the_branch() -> None:
    found = entries(
        asked("u1", None, "write two"),
        answered("a1", "u1", call("t1"), message_id="m1"),
        answered("a2", "a1", call("t2"), message_id="m1"),
        record("r1", "a1", "user", [result("t1", "one")]),
        record("r2", "a2", "user", [result("t2", "two")]),
        answered("a3", "r1", text("Both."), message_id="m2"),
    )

    assert branch(found) == ["u1", "a1", "a2", "r1", "r2", "a3"]


@pytest.mark.requirement("memory:logs:claude-branches")
def test_a_lost_parent_is_the_entry_before_of_the_same_agent() -> None:
    found = entries(
        asked("u0", "of another file", "a branch begins"),
        asked("s1", None, "look", isSidechain=True, agentId="f00d"),
        answered("a1", "lost", text("main")),
        answered("s2", "lost too", text("side"), isSidechain=True, agentId="f00d"),
        {"type": "user", "uuid": "u2", "message": {"content": "no parent named"}},
    )

    assert links(found) == [("u0", None), ("s1", None), ("a1", "u0"), ("s2", "s1"), ("u2", "a1")]


@pytest.mark.requirement("memory:logs:claude-sidechain")
def test_a_sub_agent_is_a_branch_of_its_own_and_never_the_leaf() -> None:
    side: JsonObject = {"isSidechain": True}
    log = [
        asked("u1", None, "research"),
        answered("a1", "u1", call("t1", "Task", prompt="look")),
        asked("s1", None, "look", **side),
        answered("s2", "s1", text("found"), **side),
    ]

    found = entries(*log)

    assert branch(found) == ["u1", "a1", "a1/leaf"]
    assert found[-1]["type"] == "custom"
    assert links(found)[2:4] == [("s1", None), ("s2", "s1")]
    ended = entries(*log, record("r1", "a1", "user", [result("t1", "found")]))
    assert branch(ended) == ["u1", "a1", "r1"]


@pytest.mark.requirement("memory:logs:claude-sidechain")
def test_a_sub_agents_own_log_ends_where_it_ends_and_has_its_own_name() -> None:
    side: JsonObject = {"isSidechain": True, "agentId": "f00d"}

    header, *found = translate_claude(
        [asked("s1", None, "look", **side), answered("s2", "s1", text("x"), **side)]
    )

    assert header["id"] == "agent-f00d"
    assert branch(found) == ["s1", "s2"]


@pytest.mark.requirement("memory:logs:claude-compaction")
def test_a_compact_boundary_and_its_summary_are_a_compaction() -> None:
    facts = {"preTokens": 120000, "preservedSegment": {"headUuid": "a1", "tailUuid": "a1"}}
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "b1", "parentUuid": None}

    found = entries(
        asked("u1", None, "one"),
        answered("a1", "u1", text("two")),
        {**boundary, "logicalParentUuid": "a1", "compactMetadata": facts},
        asked("c1", "b1", "What happened so far.", isCompactSummary=True),
        asked("u2", "c1", "three"),
        {**boundary, "uuid": "b2", "logicalParentUuid": "in another file"},
        asked("c2", "b2", "All of it.", isCompactSummary=True),
    )

    assert branch(found) == ["u1", "a1", "c1", "u2", "c2"]
    first, second = (entry for entry in found if entry["type"] == "compaction")
    assert (first["summary"], first["tokensBefore"], first["firstKeptEntryId"]) == (
        "What happened so far.",
        120000,
        "a1",
    )
    assert (second["tokensBefore"], second["firstKeptEntryId"]) == (0, "c2")


@pytest.mark.requirement("memory:logs:own-words")
@pytest.mark.parametrize(
    ("said", "role"),
    [
        (asked("u", None, "words"), "user"),
        (asked("u", None, "<command-name>/init</command-name>"), "user"),
        (asked("u", None, "words", origin={"kind": "human"}), "user"),
        (asked("u", None, "words", origin={"kind": "peer", "from": "x"}), "claude:notice"),
        (asked("u", None, "Caveat", isMeta=True), "claude:meta"),
        (asked("u", None, "<local-command-stdout>x</local-command-stdout>"), "claude:output"),
        (asked("u", None, "words", isSidechain=True), "claude:subagent-prompt"),
        ({"type": "summary", "summary": "Files were listed", "leafUuid": "elsewhere"}, "claude:summary"),
        ({"type": "system", "subtype": "away_summary", "content": "Done so far"}, "claude:recap"),
        (
            {"type": "system", "subtype": "local_command", "content": "<local-command-stdout>x"},
            "claude:output",
        ),
        ({"type": "ai-title", "aiTitle": "A name"}, "session_info"),
    ],
)
def test_only_what_the_user_typed_is_the_users(said: JsonObject, role: str) -> None:
    assert [speaker for speaker, _ in spoken(entries(said))] == [role]


@pytest.mark.requirement("memory:logs:own-words")
@pytest.mark.parametrize(("mode", "role"), [("prompt", "user"), ("task-notification", "claude:meta")])
def test_what_was_said_while_the_model_worked_is_kept(mode: str, role: str) -> None:
    attachment = {"type": "queued_command", "prompt": [{"type": "image"}, text("wait")], "commandMode": mode}

    found = entries({"type": "attachment", "uuid": "q1", "parentUuid": None, "attachment": attachment})

    assert spoken(found) == [(role, "wait")]


@pytest.mark.requirement("memory:logs:errors")
@pytest.mark.parametrize(
    ("block", "fields", "is_error"),
    [
        ({"is_error": True}, {}, True),
        ({}, {"toolUseResult": {"is_error": True}}, True),
        ({"is_error": False}, {"toolUseResult": "Error: x"}, False),
        ({"is_error": "true"}, {}, False),
    ],
)
def test_a_result_is_an_error_when_a_field_says_so(
    block: JsonObject, fields: JsonObject, is_error: bool
) -> None:
    (found,) = entries(record("u1", None, "user", [result("t1", "Error: failed", **block)], **fields))

    assert found["message"]["isError"] is is_error
    assert found["message"]["toolName"] == ""


def test_why_an_answer_ended_is_told_where_the_log_tells_it() -> None:
    stopped = answered("a1", None, text("x"))
    stopped["message"]["stop_reason"] = "max_tokens"

    found = entries(
        stopped,
        answered("a2", "a1", text("y"), isApiErrorMessage=True),
        answered("a3", "a2", text("z"), isAbortedMidStream=True),
    )

    assert [entry["message"]["stopReason"] for entry in found] == ["length", "error", "aborted"]


def test_a_provider_tools_result_within_an_answer_is_an_entry_of_its_own() -> None:
    search = {"type": "server_tool_use", "id": "t1", "name": "web_search", "input": {"query": "x"}}

    found = entries(
        answered("a1", None, search, {"type": "web_search_tool_result", "tool_use_id": "t1"}, text("found"))
    )

    assert links(found) == [("a1", None), ("a1/1", "a1"), ("a1/2", "a1/1")]
    assert found[1]["message"]["toolName"] == "web_search"


@pytest.mark.requirement("memory:logs:total")
@pytest.mark.parametrize(
    "state",
    [
        {"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}},
        {"type": "queue-operation", "operation": "enqueue", "content": "wait"},
        {"type": "progress", "uuid": "p", "data": {"message": {"content": "x"}}},
        {"type": "system", "subtype": "turn_duration", "uuid": "p", "content": "x"},
        {"type": "attachment", "uuid": "p", "attachment": {"type": "skill_listing", "content": "x"}},
        {"type": "last-prompt", "lastPrompt": "x"},
        {"type": "custom-title", "customTitle": ""},
        {"type": "summary"},
        {"type": ["user"], "message": {"content": "x"}},
        {"silly": "this"},
        asked("u", None, "", isCompactSummary=True),
        answered("a", None, {"type": "redacted_thinking", "data": "x"}, {"type": "thinking"}),
        "text",
        [1],
        None,
    ],
)
def test_state_and_the_unknown_give_nothing(state: Json) -> None:
    assert entries(state) == []


def test_a_title_that_is_written_again_is_given_once() -> None:
    title = {"type": "ai-title", "aiTitle": "A name"}

    assert [entry["name"] for entry in entries(title, title, {**title, "aiTitle": "Another"})] == [
        "A name",
        "Another",
    ]


@pytest.mark.requirement("memory:logs:cwd")
def test_the_first_folder_named_is_the_sessions_and_the_header_waits_for_it() -> None:
    log = [
        {"type": "summary", "summary": "Before"},
        {"type": "mode", "sessionId": "s1", "cwd": 7},
        asked("u1", None, "hi", timestamp="no time"),
        asked("u2", "u1", "hi", cwd="/elsewhere", sessionId="s2"),
    ]

    header, *found = translate_claude(log)

    assert (header["id"], header["cwd"], header["timestamp"]) == ("s1", "/work", "")
    assert [entry["id"] for entry in found] == ["00000001", "u1", "u2"]


@pytest.mark.requirement("memory:logs:cwd")
def test_a_log_that_names_nothing_is_not_held_back() -> None:
    taken = 0

    def log() -> Iterator[JsonObject]:
        nonlocal taken
        while True:
            taken += 1
            yield {"type": "user", "message": {"content": "hi"}}

    header = next(translate_claude(log()))

    assert header == {"type": "session", "version": 3, "timestamp": "", "cwd": ""}
    assert taken == MAX_ENTRIES_BEFORE_HEADER


@pytest.mark.requirement("memory:logs:roots")
@pytest.mark.parametrize(
    ("environ", "root"),
    [
        ({"CLAUDE_CONFIG_DIR": "/c", "HOME": "/h"}, Path("/c/projects")),
        ({"CLAUDE_CONFIG_DIR": "", "HOME": "/h"}, Path("/h/.claude/projects")),
        ({"USERPROFILE": "/p"}, Path("/p/.claude/projects")),
        ({}, None),
    ],
)
def test_the_logs_lie_below_the_agents_home(environ: dict[str, str], root: Path | None) -> None:
    assert claude_root(environ) == root


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
NAMES: st.SearchStrategy[Json] = st.sampled_from(["", "a", "b", "a/1", "a~2", None]) | JSON
KINDS = st.sampled_from(["text", "thinking", "tool_use", "tool_result", "image"])
BLOCKS = st.fixed_dictionaries(
    {"type": KINDS | JSON},
    optional={
        "text": st.sampled_from(["x", "y"]) | JSON,
        "thinking": JSON,
        "id": NAMES,
        "tool_use_id": NAMES,
        "name": JSON,
        "input": JSON,
        "content": JSON,
        "is_error": JSON,
    },
)
CONTENTS = JSON | st.lists(BLOCKS | JSON, max_size=4)
RECORDS = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "system", "attachment", "summary", "ai-title"]) | JSON},
    optional={
        "uuid": NAMES,
        "parentUuid": NAMES,
        "logicalParentUuid": NAMES,
        "subtype": st.sampled_from(["compact_boundary", "local_command", "away_summary"]),
        "message": st.fixed_dictionaries({"content": CONTENTS}, optional={"id": NAMES, "stop_reason": JSON})
        | JSON,
        "attachment": st.fixed_dictionaries({"type": st.just("queued_command"), "prompt": CONTENTS}) | JSON,
        "compactMetadata": st.fixed_dictionaries({"preTokens": JSON, "preservedSegment": JSON}) | JSON,
        "isSidechain": st.booleans() | JSON,
        "agentId": NAMES,
        "isCompactSummary": st.booleans(),
        "timestamp": st.just(ASKED_AT) | JSON,
        "cwd": JSON,
        "sessionId": JSON,
        "summary": JSON,
        "aiTitle": JSON,
        "content": JSON,
        "origin": JSON,
        "toolUseResult": JSON,
    },
)


@pytest.mark.requirement("memory:logs:total")
@pytest.mark.requirement("memory:logs:shape")
@given(st.lists(RECORDS | JSON, max_size=12))
def test_any_json_gives_a_tree(log: list[Json]) -> None:
    header, *found = translate_claude(log)

    assert header["type"] == "session"
    assert_a_tree(found)
    assert list(translate_claude(log)) == [header, *found]


def assert_a_tree(found: list[JsonObject]) -> None:
    known: set[str | None] = {None}
    for entry in found:
        assert entry["parentId"] in known
        assert entry["id"] not in known
        known.add(entry["id"])
    assert Tree(found).cycle_entries() == []


@pytest.mark.requirement("memory:logs:total")
def test_real_logs_are_translated_whole() -> None:
    if not PUBLIC.is_dir():
        pytest.skip(f"no public session logs at {PUBLIC}")
    for path in sorted(PUBLIC.glob("claude-*.jsonl")):
        translator = ClaudeTranslator()
        found: list[JsonObject] = []
        with path.open("rb") as stream:
            for line in read_records(stream):
                given_entries = translator.entries(line.value)
                assert len(given_entries) <= 4, f"{path.name} line {line.line}"
                found += given_entries
        assert_a_tree([*found, *translator.closing()])
        assert found, path.name
