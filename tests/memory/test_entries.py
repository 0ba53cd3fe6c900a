import pytest
from hypothesis import given
from hypothesis import strategies as st
from session_files import (
    ANY_ENTRIES,
    compaction,
    message,
    note,
    operation,
    path,
    ran,
    read_all,
    returns,
    says,
    shell,
    thinks,
    user,
)

from pi_fabric.base.jsonvalue import Json, JsonObject, decode, encode, is_object
from pi_fabric.memory.entries import EntryReader, cut_text
from pi_fabric.memory.model import EVERYTHING, Privacy


@pytest.mark.requirement("memory:normalize:kinds")
@pytest.mark.parametrize(
    ("raw", "role"),
    [
        (user("t"), "user"),
        (says("t"), "assistant"),
        (returns("read"), "toolResult"),
        (shell("ls"), "bashExecution"),
        (message("prophet"), "prophet"),
        (message("user", content=""), "user"),
        (note("x", "t"), "custom"),
        (compaction("s"), "compaction"),
        ({"type": "branch_summary"}, "branchSummary"),
    ],
)
def test_lines_that_say_something_are_entries(raw: JsonObject, role: str) -> None:
    [entry] = read_all(raw)

    assert (entry.role, entry.type) == (role, raw["type"])


@pytest.mark.requirement("memory:normalize:kinds")
@pytest.mark.parametrize(
    "raw",
    [
        {"type": "custom", "customType": "state", "data": {"text": "t"}},
        {"type": "session_info", "name": "t"},
        {"type": "model_change"},
        {"type": "label", "label": "t"},
        {"type": 5},
        {},
        {"type": "message"},
        {"type": "message", "message": 5},
        {"type": "message", "message": {"role": None, "content": "t"}},
    ],
)
def test_other_lines_are_none(raw: JsonObject) -> None:
    assert read_all(raw) == []


@pytest.mark.requirement("memory:normalize:fields")
def test_what_is_not_prose_comes_from_typed_fields() -> None:
    call = message(
        "assistant",
        content=[
            {"type": "toolCall", "name": "edit", "arguments": {"path": "a.py"}},
            {"type": "toolCall", "name": "read", "arguments": {"file": "b.py", "path": "a.py"}},
        ],
    )

    said, result, command = read_all(*path(call, returns("edit", isError="yes"), shell("ls a.txt", "c.py")))

    assert (said.session_file, said.session_id, said.entry_id, said.parent_id) == (
        "/s.jsonl",
        "s",
        "e1",
        None,
    )
    assert (said.tool_name, said.files, said.is_error) == ("edit", ["a.py", "b.py"], False)
    assert (result.parent_id, result.tool_name, result.is_error) == ("e1", "edit", True)
    assert "isError" not in result.text
    assert (command.tool_name, command.files) == ("bash", [])


@pytest.mark.requirement("memory:normalize:fields")
@pytest.mark.parametrize("value", [5, None, {}, True])
def test_an_id_that_is_no_text_is_none(value: Json) -> None:
    [entry] = read_all(user("t") | {"id": value, "parentId": value})

    assert (entry.entry_id, entry.parent_id) == (None, None)


@pytest.mark.requirement("memory:normalize:prose")
def test_prose_is_never_read_for_goals_errors_or_paths() -> None:
    text = "ERROR: I prefer src/main.py; Traceback (most recent call last)"

    [entry] = read_all(user(text))

    assert (entry.is_error, entry.tool_name, entry.files, entry.text) == (False, None, [], text)


@pytest.mark.requirement("memory:coverage:duplicates")
def test_an_id_that_comes_twice_is_told() -> None:
    reader = EntryReader(session_file="/s", privacy=Privacy())
    for raw in (user("a") | {"id": "x"}, {"type": "custom", "id": "y"}, user("b") | {"id": "y"}):
        reader.read("s", raw)
    assert reader.reasons == frozenset()

    reader.read("s", user("c") | {"id": "x"})
    assert reader.reasons == {"duplicate_entry_id"}


@pytest.mark.requirement("memory:text:cut")
def test_a_text_is_cut_by_unicode_scalars_and_this_is_told() -> None:
    [whole, cut] = read_all(user("\U0001f3f7" * 3), user("\U0001f3f7" * 4))
    for entry in (whole, cut):
        cut_text(entry, 3)

    assert (whole.text, whole.truncated) == ("\U0001f3f7" * 3, False)
    assert (cut.text, cut.truncated) == ("\U0001f3f7" * 3, True)
    assert cut.text.encode()


@pytest.mark.requirement("memory:normalize:total")
@given(st.lists(ANY_ENTRIES, max_size=6), st.booleans())
def test_no_line_is_too_strange_and_indexes_have_no_gaps(raws: list[JsonObject], everything: bool) -> None:
    written = [decode(encode(raw)) for raw in raws]
    reader = EntryReader(session_file="/s", privacy=EVERYTHING if everything else Privacy())

    entries = [entry for raw in written if is_object(raw) for entry in reader.read("s", raw)]

    assert [entry.index for entry in entries] == list(range(len(entries)))
    assert reader.count == len(entries)
    assert all(entry.role is not None or entry.text.strip() for entry in entries)


@pytest.mark.requirement("memory:normalize:deterministic")
@given(st.lists(ANY_ENTRIES, max_size=4))
def test_the_same_lines_give_the_same_entries(raws: list[JsonObject]) -> None:
    written = [decode(encode(raw)) for raw in raws]

    assert read_all(*written) == read_all(*written)


def test_one_line_gives_itself_and_what_it_tells_in_one_piece() -> None:
    entries = read_all(*path(user("a"), ran(operation("pi.read")), thinks(""), user("b")))

    assert [(entry.index, entry.entry_id) for entry in entries] == [
        (0, "e1"),
        (1, "e2"),
        (2, "e2/0"),
        (3, "e3"),
        (4, "e4"),
    ]


@pytest.mark.requirement("memory:normalize:fields")
@pytest.mark.parametrize(
    ("value", "is_error"),
    [([], True), ({}, True), ("0", True), (1, True), (True, True), ("", False), (0, False), (None, False)],
)
def test_whether_a_call_failed_is_what_javascript_takes_for_true(value: Json, *, is_error: bool) -> None:
    [entry] = read_all(*path(returns("edit", isError=value)))

    assert entry.is_error is is_error
