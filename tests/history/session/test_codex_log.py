import json
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn, SupportsIndex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.jsonl import read_records
from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.history.content import text_of
from pi_fabric.history.session import Tree
from pi_fabric.history.session.codex import CodexTranslator, codex_root, translate_codex

PUBLIC = Path(__file__).parents[4] / "shared" / "sessions" / "public"
AT = "2026-01-02T03:04:05.000Z"
META: JsonObject = {"id": "s1", "cwd": "/work", "timestamp": AT}
ENVIRONMENT = "<environment_context>\n  <cwd>/found</cwd>\n</environment_context>"


def line(kind: str, payload: JsonObject) -> JsonObject:
    return {"timestamp": AT, "type": kind, "payload": payload}


def item(kind: str, **fields: Json) -> JsonObject:
    return line("response_item", {"type": kind, **fields})


def said(role: str, *texts: str) -> JsonObject:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": text} for text in texts])


def event(kind: str, **fields: Json) -> JsonObject:
    return line("event_msg", {"type": kind, **fields})


def entries(*log: Json) -> list[JsonObject]:
    return list(translate_codex(log))[1:]


def text(words: str) -> JsonObject:
    return {"type": "text", "text": words}


def links(found: list[JsonObject]) -> list[tuple[str, str | None]]:
    return [(entry["id"], entry["parentId"]) for entry in found]


def spoken(found: list[JsonObject]) -> list[tuple[str, str]]:
    """Role or type, and text, of each entry."""
    return [
        (entry["message"]["role"], text_of(entry["message"]["content"]))
        if entry["type"] == "message"
        else (entry.get("customType", entry["type"]), text_of(entry.get("content")))
        for entry in found
    ]


@pytest.mark.requirement("memory:logs:shape")
@pytest.mark.requirement("memory:logs:codex-items")
def test_a_rollout_is_given_as_pi_would_have_written_it() -> None:
    log = [
        line("session_meta", META),
        line("turn_context", {"cwd": "/elsewhere", "model": "gpt-x"}),
        event("user_message", message="list the files"),
        said("user", "list the files"),
        event("agent_reasoning", text="ls will do"),
        item("reasoning", summary=[{"type": "summary_text", "text": "ls will do"}], encrypted_content="x"),
        item("function_call", name="shell", arguments='{"command":["ls"]}', call_id="c1"),
        event("exec_command_end", call_id="c1", exit_code=0, aggregated_output="a.txt"),
        item("function_call_output", call_id="c1", output="a.txt"),
        event("agent_message", message="One file."),
        said("assistant", "One file."),
    ]

    header, *found = translate_codex(log)

    assert header == {"type": "session", "version": 3, "id": "s1", "timestamp": AT, "cwd": "/work"}
    assert links(found) == [
        ("00000004", None),
        ("00000006", "00000004"),
        ("00000007", "00000006"),
        ("00000009", "00000007"),
        ("0000000b", "00000009"),
    ]
    assert {entry["timestamp"] for entry in found} == {AT}
    called = {"type": "toolCall", "id": "c1", "name": "shell", "arguments": {"command": ["ls"]}}
    assert [entry["message"] for entry in found] == [
        {"role": "user", "content": [text("list the files")]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "ls will do"}], "model": "gpt-x"},
        {"role": "assistant", "content": [called], "model": "gpt-x"},
        {
            "role": "toolResult",
            "toolCallId": "c1",
            "toolName": "shell",
            "content": [text("a.txt")],
            "isError": False,
        },
        {"role": "assistant", "content": [text("One file.")], "model": "gpt-x"},
    ]


@pytest.mark.requirement("memory:logs:codex-items")
@pytest.mark.requirement("memory:logs:cwd")
def test_the_oldest_rollouts_have_their_items_as_lines() -> None:
    exec_action = {"type": "exec", "command": ["ls"], "working_directory": "/found", "env": None}
    log: list[Json] = [
        {"id": "s0", "timestamp": AT, "instructions": None, "git": {}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": ENVIRONMENT}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "list"}]},
        {"type": "local_shell_call", "call_id": "c1", "status": "completed", "action": exec_action},
        {"type": "function_call_output", "call_id": "c1", "output": "a.txt"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
    ]

    header, *found = translate_codex(log)

    assert (header["id"], header["cwd"], header["timestamp"]) == ("s0", "/found", AT)
    assert spoken(found) == [
        ("codex:environment", ENVIRONMENT),
        ("user", "list"),
        ("assistant", ""),
        ("toolResult", "a.txt"),
        ("assistant", "Done."),
    ]
    arguments = {"command": ["ls"], "working_directory": "/found"}
    assert found[2]["message"]["content"][0]["arguments"] == arguments
    assert found[3]["message"]["toolName"] == "local_shell"


@pytest.mark.requirement("memory:logs:codex-items")
@pytest.mark.parametrize(
    ("made", "name", "arguments"),
    [
        (
            item("custom_tool_call", call_id="c", name="apply_patch", input="*** Begin"),
            "apply_patch",
            {"input": "*** Begin"},
        ),
        (item("function_call", call_id="c", name="f", arguments="{not json"), "f", {"input": "{not json"}),
        (item("function_call", call_id="c", name="f", arguments=None), "f", {}),
        (item("tool_search_call", call_id="c", arguments={"query": "x"}), "tool_search", {"query": "x"}),
        (
            item("web_search_call", id="c", action={"type": "search", "query": "x", "url": None}),
            "web_search",
            {"query": "x"},
        ),
        (
            item("image_generation_call", id="c", revised_prompt="a cat", result="iVBOR"),
            "image_generation",
            {"prompt": "a cat"},
        ),
    ],
)
def test_every_call_is_a_call(made: JsonObject, name: str, arguments: JsonObject) -> None:
    (found,) = entries(made)

    assert found["message"]["content"] == [
        {"type": "toolCall", "id": "c", "name": name, "arguments": arguments}
    ]


@pytest.mark.requirement("memory:logs:codex-items")
@pytest.mark.parametrize(
    "output",
    [
        "one\ntwo",
        [
            {"type": "input_text", "text": "one"},
            {"type": "input_image", "image_url": "x"},
            {"type": "input_text", "text": "two"},
        ],
        {"type": "input_text", "text": "one\ntwo"},
        {"content": "one\ntwo", "success": True},
        json.dumps({"output": "one\ntwo", "metadata": {"exit_code": 0}}),
    ],
)
def test_every_shape_of_output_gives_its_text(output: Json) -> None:
    (found,) = entries(item("custom_tool_call_output", call_id="c", output=output))

    assert text_of(found["message"]["content"]) == "one\ntwo"
    assert (found["message"]["toolName"], found["message"]["isError"]) == ("", False)


def test_an_output_that_is_json_of_the_tools_own_stays_as_it_is() -> None:
    own = '{"output": "x", "rows": 3}'

    assert spoken(entries(item("function_call_output", call_id="c", output=own))) == [("toolResult", own)]


@pytest.mark.requirement("memory:logs:errors")
@pytest.mark.parametrize(
    ("output", "events", "is_error"),
    [
        (json.dumps({"output": "x", "metadata": {"exit_code": 2}}), [], True),
        (json.dumps({"output": "x", "metadata": {"exit_code": "2"}}), [], False),
        ({"content": "x", "success": False}, [], True),
        ("x", [event("exec_command_end", call_id="c", exit_code=1)], True),
        ("x", [event("patch_apply_end", call_id="c", success=False)], True),
        ("x", [event("mcp_tool_call_end", call_id="c", result={"Err": "refused"})], True),
        ("x", [event("mcp_tool_call_end", call_id="c", result={"Ok": {"isError": True}})], True),
        ("x", [event("exec_command_end", call_id="other", exit_code=1)], False),
        ("Process exited with code 1\nError: failed", [], False),
    ],
)
def test_an_output_is_an_error_when_a_field_says_so(output: Json, events: list[Json], is_error: bool) -> None:
    (found,) = entries(*events, item("function_call_output", call_id="c", output=output))

    assert found["message"]["isError"] is is_error


@pytest.mark.requirement("memory:logs:own-words")
@pytest.mark.parametrize(
    ("made", "speakers"),
    [
        (said("user", "do it"), ["user"]),
        (said("user", ENVIRONMENT), ["codex:environment"]),
        (
            said("user", "# AGENTS.md instructions for /work\n<INSTRUCTIONS>x</INSTRUCTIONS>"),
            ["codex:instructions"],
        ),
        (said("user", " <USER_INSTRUCTIONS>x"), ["codex:instructions"]),
        (said("user", "<turn_aborted>x</turn_aborted>"), ["codex:notice"]),
        (
            said("user", "<skill>x</skill>", ENVIRONMENT, "do it", "now"),
            ["codex:instructions", "codex:environment", "user"],
        ),
        (said("developer", "be brief"), ["codex:instructions"]),
        (
            item("agent_message", author="a", content=[{"type": "input_text", "text": "done"}]),
            ["codex:agent-message"],
        ),
    ],
)
def test_only_what_the_user_typed_is_the_users(made: JsonObject, speakers: list[str]) -> None:
    found = entries(made)

    assert [speaker for speaker, _ in spoken(found)] == speakers
    assert [entry["id"] for entry in found] == ["00000001", "00000001/1", "00000001/2"][: len(speakers)]


class Unread(list[Json]):
    """A history that may not be looked at."""

    def __iter__(self) -> NoReturn:
        raise AssertionError("the history was read")

    def __getitem__(self, index: SupportsIndex | slice) -> NoReturn:
        raise AssertionError("the history was read")

    def __len__(self) -> NoReturn:
        raise AssertionError("the history was read")


@pytest.mark.requirement("memory:logs:codex-compaction")
def test_a_compacted_record_gives_its_summary_and_not_its_history() -> None:
    history = Unread()
    usage = {"last_token_usage": {"total_tokens": 9000}}

    found = entries(
        said("user", "one"),
        event("token_count", info=usage),
        line("compacted", {"message": "What happened so far.", "replacement_history": history}),
        line("compacted", {"message": "", "replacement_history": history}),
        said("user", "two"),
    )

    assert [entry["type"] for entry in found] == ["message", "compaction", "compaction", "message"]
    assert found[1] == {
        "type": "compaction",
        "id": "00000003",
        "parentId": "00000001",
        "timestamp": AT,
        "summary": "What happened so far.",
        "firstKeptEntryId": "00000003",
        "tokensBefore": 9000,
    }
    assert found[2]["summary"] == ""


@pytest.mark.requirement("memory:logs:total")
@pytest.mark.parametrize(
    "state",
    [
        line("session_meta", META),
        line("world_state", {"state": {"agents_md": {"text": "x"}}}),
        event("item_completed", item={"type": "AgentMessage", "content": [{"type": "Text", "text": "x"}]}),
        item("ghost_snapshot", ghost_commit={}),
        item("reasoning", summary=[], content=None, encrypted_content="x"),
        item("message", role="user", content=[{"type": "input_image", "image_url": "x"}]),
        item("agent_message", content=[{"type": "encrypted_content", "encrypted_content": "x"}]),
        line("response_item", {"type": ["message"]}),
        {"type": "response_item", "payload": "x"},
        {"type": "message", "payload": {}, "role": "user", "content": "x"},
        "text",
        None,
    ],
)
def test_state_and_the_unknown_give_nothing(state: Json) -> None:
    assert entries(state) == []


@pytest.mark.requirement("memory:logs:cwd")
def test_the_first_record_with_a_folder_names_the_sessions() -> None:
    older = "<environment_context>\nCurrent working directory: /work/older\nApproval policy: never"
    forked = line("session_meta", {"id": "parent", "cwd": "/parent"})

    assert next(translate_codex([line("session_meta", META), forked]))["cwd"] == "/work"
    assert (
        next(translate_codex([said("user", older), line("turn_context", {"cwd": "/x"})]))["cwd"]
        == "/work/older"
    )
    assert next(translate_codex([line("turn_context", {"cwd": "/x"}), forked]))["cwd"] == "/x"
    assert next(translate_codex([])) == {"type": "session", "version": 3, "timestamp": "", "cwd": ""}


@pytest.mark.requirement("memory:logs:roots")
@pytest.mark.parametrize(
    ("environ", "root"),
    [
        ({"CODEX_HOME": "/c", "HOME": "/h"}, Path("/c/sessions")),
        ({"HOME": "/h"}, Path("/h/.codex/sessions")),
        ({}, None),
    ],
)
def test_the_rollouts_lie_below_the_agents_home(environ: dict[str, str], root: Path | None) -> None:
    assert codex_root(environ) == root


def test_a_rollout_is_translated_as_it_is_read() -> None:
    def log() -> Iterator[JsonObject]:
        yield line("session_meta", META)
        yield said("user", "one")
        raise AssertionError("read ahead")

    translating = translate_codex(log())

    assert [next(translating)["type"], next(translating)["type"]] == ["session", "message"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
PARTS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["input_text", "summary_text"]),
        "text": st.sampled_from([ENVIRONMENT, "x"]) | JSON,
    }
)
CONTENTS = JSON | st.lists(PARTS | JSON, max_size=3)
ITEM_TYPES = st.sampled_from(
    [
        "message",
        "agent_message",
        "reasoning",
        "function_call",
        "custom_tool_call",
        "local_shell_call",
        "web_search_call",
        "image_generation_call",
        "function_call_output",
        "tool_search_output",
    ]
)
ENCODED = (
    JSON.map(json.dumps)
    | st.just('{"output": "x", "metadata": {"exit_code": 1}}')
    | st.text(max_size=3).map(lambda end: "{" + end)
)
FIELDS: dict[str, st.SearchStrategy[Json]] = {
    "role": st.sampled_from(["user", "assistant", "developer"]) | JSON,
    "content": CONTENTS,
    "summary": CONTENTS,
    "arguments": ENCODED | JSON,
    "input": ENCODED | JSON,
    "output": ENCODED | CONTENTS | st.fixed_dictionaries({"content": CONTENTS, "success": JSON}),
    "action": JSON,
    "call_id": st.sampled_from(["a", "b"]) | JSON,
    "id": JSON,
    "name": JSON,
    "message": JSON,
    "info": st.fixed_dictionaries({"last_token_usage": st.fixed_dictionaries({"total_tokens": JSON})}) | JSON,
    "exit_code": JSON,
    "result": JSON | st.fixed_dictionaries({"Ok": JSON}),
    "cwd": JSON,
    "model": JSON,
    "timestamp": JSON,
}
ITEMS = st.fixed_dictionaries({"type": ITEM_TYPES | JSON}, optional=FIELDS)
LINE_TYPES = st.sampled_from(["response_item", "event_msg", "session_meta", "turn_context", "compacted"])
LINES = st.fixed_dictionaries(
    {"type": LINE_TYPES | JSON, "payload": ITEMS | JSON}, optional={"timestamp": st.just(AT) | JSON}
)


@pytest.mark.requirement("memory:logs:total")
@pytest.mark.requirement("memory:logs:shape")
@given(st.lists(LINES | ITEMS | JSON, max_size=10))
def test_any_json_gives_one_row_of_entries(log: list[Json]) -> None:
    header, *found = translate_codex(log)

    assert header["type"] == "session"
    assert_a_row(found)
    assert list(translate_codex(log)) == [header, *found]


def assert_a_row(found: list[JsonObject]) -> None:
    tree = Tree(found)
    assert tree.path_to(tree.leaf_id) == found


@pytest.mark.requirement("memory:logs:total")
def test_real_rollouts_are_translated_whole() -> None:
    if not PUBLIC.is_dir():
        pytest.skip(f"no public session logs at {PUBLIC}")
    for path in sorted(PUBLIC.glob("codex-*.jsonl")):
        translator = CodexTranslator()
        found: list[JsonObject] = []
        with path.open("rb") as stream:
            for record in read_records(stream):
                found += translator.entries(record.value)
        assert_a_row([*found, *translator.closing()])
        assert translator.about.cwd, path.name
        assert found, path.name
