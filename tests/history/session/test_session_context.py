import pytest
from hypothesis import given
from hypothesis import strategies as st
from session_branches import compacted, entry, said

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.history.session import context_entries, context_messages, context_tokens, messages_of_entry

KINDS = ("message", "custom_message", "branch_summary", "compaction", "context_edit", "label")
IDS = st.sampled_from(["a", "b", "c", None, 5])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
ENTRIES = st.fixed_dictionaries(
    {"type": st.sampled_from(KINDS) | JSON, "id": IDS},
    optional={
        "message": JSON | st.fixed_dictionaries({"role": JSON, "content": JSON, "usage": JSON}),
        "firstKeptEntryId": IDS,
        "targetId": IDS,
        "replacement": JSON | st.fixed_dictionaries({"content": JSON}),
        "summary": JSON,
        "systemMessage": JSON,
        "content": JSON,
    },
)


def ids(entries: list[JsonObject]) -> list[str]:
    return [entry["id"] for entry in entries]


def texts(messages: list[JsonObject]) -> list[Json]:
    return [message.get("summary") or message["content"][0]["text"] for message in messages]


MESSAGES: list[tuple[JsonObject, list[Json]]] = [
    ({"type": "message", "message": {"role": "user", "content": "x", "y": 1}},
     [{"role": "user", "content": "x", "y": 1}]),
    ({"type": "message", "message": {"role": "user", "content": None}}, [{"role": "user", "content": []}]),
    ({"type": "message", "message": {"role": "system"}}, [{"role": "system", "content": ""}]),
    ({"type": "message", "message": "x"}, []),
    ({"type": "custom_message", "customType": "t", "display": False, "details": {"a": 1}},
     [{"role": "custom", "customType": "t", "content": [], "display": False, "details": {"a": 1}}]),
    ({"type": "branch_summary", "summary": "s", "fromId": "e1"},
     [{"role": "branchSummary", "summary": "s", "fromId": "e1"}]),
    ({"type": "branch_summary", "summary": ""}, []),
    ({"type": "compaction", "summary": "", "tokensBefore": 5},
     [{"role": "compactionSummary", "summary": "", "tokensBefore": 5}]),
    ({"type": "custom", "customType": "state", "data": {}}, []),
    ({"type": "usage", "usage": {}}, []),
    ({"type": "label"}, []),
    ({"type": ["message"]}, []),
    ({}, []),
]  # fmt: skip


@pytest.mark.requirement("session:context:messages")
@pytest.mark.parametrize(("given_entry", "messages"), MESSAGES)
def test_an_entry_gives_the_messages_that_the_model_sees(
    given_entry: JsonObject, messages: list[Json]
) -> None:
    assert messages_of_entry(given_entry) == messages


@pytest.mark.requirement("session:context:system")
def test_the_system_message_that_a_compaction_stored_comes_before_its_summary() -> None:
    system = {"role": "system", "content": "rules"}

    messages = messages_of_entry(compacted(1, "", systemMessage=system))

    assert [message["role"] for message in messages] == ["system", "compactionSummary"]


@pytest.mark.requirement("session:context:no-compaction")
def test_a_branch_without_compaction_counts_whole() -> None:
    path = [said(1, "user", "a"), entry(2, "label"), said(3, "assistant", "b")]

    assert context_entries(path) == path


@pytest.mark.requirement("session:context:kept-range")
def test_the_newest_compaction_comes_first_then_what_it_kept_then_what_followed() -> None:
    path = [
        said(1, "user", "a"),
        compacted(2, "e1"),
        said(3, "user", "b"),
        said(4, "assistant", "c"),
        compacted(5, "e4"),
        said(6, "user", "d"),
    ]

    assert ids(context_entries(path)) == ["e5", "e4", "e6"]


@pytest.mark.requirement("session:context:kept-range")
@pytest.mark.parametrize("first_kept", ["", "missing", "e3", "e4", None])
def test_a_kept_id_that_is_not_before_the_compaction_keeps_nothing(first_kept: str) -> None:
    path = [said(1, "user", "a"), said(2, "user", "b"), compacted(3, first_kept), said(4, "user", "c")]

    assert ids(context_entries(path)) == ["e3", "e4"]


@pytest.mark.requirement("session:context:older-compaction")
def test_an_older_summary_within_the_kept_range_is_replayed_by_old_versions_only() -> None:
    path = [said(1, "user", "a"), compacted(2, "e1"), said(3, "user", "b"), compacted(4, "e1")]

    assert texts(context_messages(path)) == ["sum", "a", "b"]
    assert texts(context_messages(path, replays_older_summaries=True)) == ["sum", "a", "sum", "b"]


@pytest.mark.requirement("session:context:system")
def test_system_messages_of_the_kept_range_are_left_out() -> None:
    path = [
        said(1, "system", "old"),
        said(2, "user", "a"),
        said(3, "system", "patch"),
        compacted(4, "e2"),
        said(5, "system", "new"),
    ]

    assert ids(context_entries(path)) == ["e4", "e2", "e5"]


@pytest.mark.requirement("session:context:edits")
def test_an_edit_removes_an_entry_or_replaces_its_content() -> None:
    path = [
        said(1, "user", "a"),
        said(2, "assistant", "b"),
        said(3, "user", "c"),
        entry(4, "context_edit", targetId="e1", replacement=None),
        entry(5, "context_edit", targetId="e2", replacement={"content": "first"}),
        entry(6, "context_edit", targetId="e2", replacement={"content": "second"}),
        entry(7, "context_edit", targetId="e3", replacement={"content": "as it is"}),
    ]

    assert [message["content"] for message in context_messages(path)] == [
        [{"type": "text", "text": "second"}],
        "as it is",
    ]


@pytest.mark.requirement("session:context:edits")
@pytest.mark.parametrize("fields", [{}, {"replacement": 5}, {"replacement": {}}])
def test_an_edit_without_a_replacement_changes_nothing(fields: JsonObject) -> None:
    path = [said(1, "user", "a"), entry(2, "context_edit", targetId="e1", **fields)]

    assert texts(context_messages(path)) == ["a"]


@pytest.mark.requirement("session:context:edits")
def test_an_edit_leaves_a_summary_as_it_is() -> None:
    path = [compacted(1, ""), entry(2, "context_edit", targetId="e1", replacement={"content": "x"})]

    assert texts(context_messages(path)) == ["sum"]


def reported(number: int, tokens: int, **fields: Json) -> JsonObject:
    return said(number, "assistant", "1234", usage={"totalTokens": tokens}, **fields)


@pytest.mark.requirement("session:size:usage")
def test_the_newest_reported_usage_counts_for_everything_before_it() -> None:
    path = [said(1, "user", "x" * 4000), reported(2, 500), said(3, "user", "y" * 40)]

    assert context_tokens(path) == 510


@pytest.mark.requirement("session:size:usage")
@pytest.mark.parametrize("reason", ["error", "aborted"])
def test_the_usage_of_an_answer_that_failed_does_not_count(reason: str) -> None:
    path = [said(1, "user", "x" * 40), reported(2, 500, stopReason=reason)]

    assert context_tokens(path) == 11


@pytest.mark.requirement("session:size:stale-usage")
def test_usage_from_before_the_newest_compaction_does_not_count() -> None:
    path = [said(1, "user", "a"), reported(2, 195_000), compacted(3, "e2"), said(4, "user", "x" * 40)]

    assert context_tokens(path) == 1 + 1 + 10


@pytest.mark.requirement("session:size:stale-usage")
def test_fresh_usage_after_a_compaction_counts_again() -> None:
    path = [reported(1, 195_000), compacted(2, "e1"), reported(3, 17_000), said(4, "user", "x" * 8_000)]

    assert context_tokens(path) == 19_000


@pytest.mark.requirement("session:size:stale-usage")
def test_usage_from_before_a_context_edit_does_not_count() -> None:
    path = [reported(1, 500), said(2, "user", "a"), entry(3, "context_edit", targetId="e2", replacement=None)]

    assert context_tokens(path) == 1


@pytest.mark.requirement("session:size:system")
def test_system_messages_count_as_the_one_that_is_in_force() -> None:
    first = {"sections": {"a": "x" * 400, "b": "x" * 40}, "toolsAdded": [{"name": "t"}, {"name": "u"}]}
    patch = {"sections": {"a": None, "b": "y" * 80}, "toolsRemoved": [{"name": "t"}]}
    path = [said(1, "system", "1234", **first), said(2, "system", "5678", **patch)]
    chars = len("1234\n\n5678") + 80 + len('[{"name":"u"}]')

    assert context_tokens(path) == -(-chars // 4)


@pytest.mark.requirement("session:context:total")
@given(path=st.lists(ENTRIES, max_size=8))
def test_any_entries_have_a_context(path: list[JsonObject]) -> None:
    assert context_tokens(path) >= 0
    assert len(context_messages(path, replays_older_summaries=True)) >= len(context_messages(path))
