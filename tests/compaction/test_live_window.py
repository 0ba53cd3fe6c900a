import pytest
from cut_branches import answer, branch, command, custom, marker, result, summary_of_branch, user

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.compaction.window import Window, read_window


def live_ids(window: Window) -> list[str]:
    return [entry.entry["id"] for entry in window.live]


@pytest.mark.requirement("compaction:window:no-marker")
def test_without_a_marker_all_that_the_model_sees_is_live() -> None:
    path = branch(
        user(1),
        {"type": "label"},
        answer(2, "a"),
        result("a", 3),
        command(4),
        custom(5),
        summary_of_branch(6),
    )

    window = read_window(path)

    assert live_ids(window) == ["e1", "e3", "e4", "e5", "e6", "e7"]
    assert [entry.tokens for entry in window.live] == [1, 2, 3, 4, 5, 6]
    assert window.raw_tokens == 21


@pytest.mark.requirement("compaction:window:kept")
def test_the_window_begins_at_the_kept_entry_and_leaves_the_marker_out() -> None:
    window = read_window(branch(user(1), user(2), user(3), marker("e2", 10), user(4)))

    assert live_ids(window) == ["e2", "e3", "e5"]
    assert window.raw_tokens == 10 + 2 + 3 + 4


@pytest.mark.requirement("compaction:window:nothing-kept")
@pytest.mark.parametrize("kept", ["", "missing", None, 7])
def test_the_window_begins_after_a_marker_that_keeps_nothing_on_the_branch(kept: Json) -> None:
    window = read_window(branch(user(1), marker(kept, 10), user(2), user(3)))

    assert live_ids(window) == ["e3", "e4"]
    assert window.raw_tokens == 15


@pytest.mark.requirement("compaction:window:kept-late")
@pytest.mark.parametrize(("kept", "live"), [("e2", ["e3", "e4"]), ("e3", ["e3", "e4"]), ("e4", ["e4"])])
def test_a_kept_id_that_is_the_marker_or_comes_later_is_honoured(kept: str, live: list[str]) -> None:
    assert live_ids(read_window(branch(user(1), marker(kept), user(2), user(3)))) == live


@pytest.mark.requirement("compaction:window:last-marker")
def test_only_the_last_marker_counts() -> None:
    window = read_window(branch(user(1), marker("e1"), user(2), marker("e2"), user(3)))

    assert live_ids(window) == ["e3", "e5"]


@pytest.mark.requirement("compaction:window:last-marker")
def test_the_summary_of_an_older_compaction_in_the_kept_range_still_counts() -> None:
    assert read_window(branch(user(1), marker("", 10), user(2), marker("e1", 100))).raw_tokens == 113


@pytest.mark.requirement("compaction:window:left-out")
@pytest.mark.parametrize(
    "entry",
    [
        custom(1, customType=7),
        custom(1, display="yes"),
        custom(1, content=[{"type": "text"}]),
        {"type": "message", "message": {"role": "custom", "content": "", "display": False}},
        {"type": "message", "message": {"role": "custom", "content": [], "display": False}},
        {"type": "message", "message": "no object"},
        {"type": "branch_summary", "summary": ""},
        {"type": "custom", "data": {}},
        {},
    ],
)
def test_what_gives_no_message_is_not_live(entry: JsonObject) -> None:
    assert live_ids(read_window(branch(user(1), entry, user(1)))) == ["e1", "e3"]


@pytest.mark.requirement("compaction:window:left-out")
@pytest.mark.parametrize(
    "entry",
    [
        custom(0),
        custom(0, display=False),
        custom(1, content=[{"type": "image"}]),
        {"type": "message", "message": {"role": "custom", "content": "x", "display": False}},
        {"type": "message", "message": {"role": "custom", "content": "", "display": True}},
    ],
)
def test_typed_custom_messages_are_live_even_when_they_say_nothing(entry: JsonObject) -> None:
    assert live_ids(read_window(branch(user(1), entry, user(1)))) == ["e1", "e2", "e3"]


@pytest.mark.requirement("compaction:window:edits")
def test_an_entry_that_was_edited_out_is_not_live() -> None:
    edit: JsonObject = {"type": "context_edit", "targetId": "e2", "replacement": None}

    window = read_window(branch(user(1), answer(500), edit, user(1)))

    assert live_ids(window) == ["e1", "e4"]
    assert window.raw_tokens == 2


@pytest.mark.requirement("compaction:window:malformed")
def test_a_malformed_message_counts_no_tokens() -> None:
    window = read_window(branch({"type": "message", "message": {"role": "user", "content": 5}}, user(1)))

    assert [entry.tokens for entry in window.live] == [0, 1]


@pytest.mark.requirement("compaction:window:system-message")
def test_the_system_message_that_a_later_pi_keeps_is_no_part_of_what_a_cut_can_free() -> None:
    system = {"type": "message", "message": {"role": "system", "content": "x" * 4000}}

    window = read_window(branch(system, user(1), user(2)))

    assert window.raw_tokens == 3
