import math

import pytest
from cut_branches import answer, branch, command, custom, marker, result, summary_of_branch, user
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.compaction.budget import SUMMARY_RESERVE_TOKENS, Budget
from pi_fabric.compaction.cut import BoundaryCandidate, Empty, LiveCut, explain_cut, find_live_cut
from pi_fabric.compaction.window import read_window

# More than any test keeps, so that the target is never bounded by the size before.
LARGE = user(20_000)


def calling(tokens: int, call_ids: list[str]) -> JsonObject:
    return answer(tokens, *call_ids)


CALL_IDS = st.sampled_from(["a", "b", "c", ""])
ENTRIES = st.one_of(
    st.builds(user, st.integers(0, 40)),
    st.builds(command, st.integers(0, 40)),
    st.builds(custom, st.integers(0, 40)),
    st.builds(summary_of_branch, st.integers(1, 40)),
    st.builds(calling, st.integers(0, 40), st.lists(CALL_IDS, max_size=3)),
    st.builds(result, CALL_IDS, st.integers(0, 40)),
    st.builds(marker, st.sampled_from(["", "e1", "e3", "e7", "none"])),
)
LOGS = st.lists(ENTRIES, max_size=30)

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def objects(**fields: st.SearchStrategy[Json]) -> st.SearchStrategy[JsonObject]:
    """Objects with some of the fields."""
    return st.fixed_dictionaries({}, optional=fields)


PARTS = objects(
    type=st.sampled_from(["text", "toolCall", "image"]),
    id=JSON_VALUES,
    text=JSON_VALUES,
    arguments=JSON_VALUES,
)
MESSAGES = objects(
    role=st.sampled_from(["user", "assistant", "toolResult", "custom", "system"]) | JSON_VALUES,
    content=st.lists(PARTS, max_size=3) | JSON_VALUES,
    toolCallId=JSON_VALUES,
    usage=objects(totalTokens=JSON_VALUES, input=JSON_VALUES) | JSON_VALUES,
)
IDS = st.sampled_from(["e1", "e2"]) | JSON_VALUES
# The fields that entries are told apart by, with any value in them.
ANY_ENTRIES = st.lists(
    objects(
        type=st.sampled_from(["message", "compaction", "custom_message", "branch_summary", "context_edit"])
        | JSON_VALUES,
        id=IDS,
        firstKeptEntryId=IDS,
        targetId=IDS,
        message=MESSAGES | JSON_VALUES,
        content=JSON_VALUES,
        replacement=JSON_VALUES,
    ),
    max_size=8,
)


def room_for(tokens: int) -> Budget:
    """A budget that lets exactly so many raw tokens stay where estimates and real tokens agree."""
    return Budget(
        context_window=4 * (tokens + SUMMARY_RESERVE_TOKENS),
        target_ratio=0.25,
        reserve_tokens=0,
        keep_recent_tokens=0,
    )


def cut(path: list[JsonObject], *, keep: int | None) -> LiveCut:
    """Cut a path within so many raw tokens; None for no budget at all."""
    found = find_live_cut(
        path,
        tokens_before=read_window(path).raw_tokens,
        budget=None if keep is None else room_for(keep),
    )
    assert isinstance(found, LiveCut)
    return found


@pytest.mark.requirement("compaction:cut:earliest")
@pytest.mark.parametrize(
    ("keep", "kept_from"), [(9, "e4"), (10, "e3"), (19, "e3"), (20, "e2"), (10_000, "e2")]
)
def test_the_earliest_place_whose_rest_fits_is_cut(keep: int, kept_from: str) -> None:
    found = cut(branch(LARGE, user(10), answer(5), user(5)), keep=keep)

    assert found.first_kept_entry_id == kept_from
    assert found.figures is not None
    assert found.figures.retained_raw_tokens == {"e2": 20, "e3": 10, "e4": 5}[kept_from]


@pytest.mark.requirement("compaction:cut:told")
def test_a_cut_tells_what_goes_and_until_where_the_source_reaches() -> None:
    path = branch(LARGE, {"type": "label"}, answer(5), user(5))

    found = cut(path, keep=5)

    assert found.first_kept_entry_id == "e4"
    assert found.summarized_ids == ("e1", "e3")
    assert found.summarized == (path[0], path[2])
    assert found.source_end == 3
    assert found.timestamp == "2025-01-01T00:03:00.000Z"


@pytest.mark.requirement("compaction:cut:compact-all")
def test_when_nothing_fits_all_goes() -> None:
    path = branch(LARGE, user(100))

    found = cut(path, keep=99)

    assert found.first_kept_entry_id == ""
    assert found.summarized_ids == ("e1", "e2")
    assert found.source_end == len(path)
    assert found.figures is not None
    assert found.figures.retained_raw_tokens == 0


@pytest.mark.requirement("compaction:cut:something-goes")
def test_the_first_live_entry_is_never_kept() -> None:
    path = branch(LARGE, marker("", 20_000), user(5), answer(5))

    assert cut(path, keep=100).first_kept_entry_id == "e4"


@pytest.mark.requirement("compaction:cut:boundaries")
@pytest.mark.parametrize(
    "kept", [user(5), answer(5), command(5), custom(5), summary_of_branch(5), custom(5, display=False)]
)
def test_people_extensions_and_the_model_begin_what_stays(kept: JsonObject) -> None:
    assert cut(branch(LARGE, kept), keep=5).first_kept_entry_id == "e2"


@pytest.mark.requirement("compaction:cut:results")
def test_a_tool_result_never_begins_what_stays() -> None:
    assert cut(branch(LARGE, result("lost", 5), user(5)), keep=10).first_kept_entry_id == "e3"
    assert cut(branch(LARGE, result("lost", 5)), keep=10).first_kept_entry_id == ""


@pytest.mark.requirement("compaction:cut:closure")
def test_a_cut_moves_behind_the_last_result_of_the_calls_it_would_split() -> None:
    path = branch(LARGE, answer(5, "a", "b"), answer(5), result("b", 5), result("a", 5), user(5))

    assert cut(path, keep=24).first_kept_entry_id == "e6"
    assert cut(path, keep=25).first_kept_entry_id == "e2"


@pytest.mark.requirement("compaction:cut:closure")
def test_a_call_from_before_the_window_bars_as_well() -> None:
    path = branch(answer(5, "a"), LARGE, marker("e2"), user(5), result("a", 5), user(5))

    assert cut(path, keep=15).first_kept_entry_id == "e6"


@pytest.mark.requirement("compaction:cut:closure")
def test_a_call_that_fails_or_is_never_answered_bars_nothing() -> None:
    failed = answer(5, "a")
    failed["message"]["stopReason"] = "error"

    assert cut(branch(LARGE, failed, user(5)), keep=5).first_kept_entry_id == "e3"
    assert cut(branch(LARGE, failed, user(5), result("a", 5), user(5)), keep=10).first_kept_entry_id == "e5"


@pytest.mark.requirement("compaction:cut:long-turn")
def test_a_turn_of_hundreds_of_calls_keeps_a_recent_tail() -> None:
    calls = [entry for number in range(400) for entry in (answer(10, f"c{number}"), result(f"c{number}", 90))]

    found = cut(branch(user(10), *calls), keep=1000)

    assert found.first_kept_entry_id == "e782"
    assert found.figures is not None
    assert found.figures.retained_raw_tokens == 1000


@pytest.mark.requirement("compaction:cut:marker")
def test_what_stays_begins_after_the_last_compaction() -> None:
    path = branch(LARGE, user(5), user(5), marker("e2", 20_000), answer(5), user(5))

    assert cut(path, keep=100).first_kept_entry_id == "e5"


@pytest.mark.requirement("compaction:cut:marker")
def test_without_a_place_after_the_last_compaction_all_goes() -> None:
    path = branch(LARGE, user(5), answer(5), marker("e2", 20_000), result("x", 5))

    found = cut(path, keep=100)

    assert found.first_kept_entry_id == ""
    assert found.summarized_ids == ("e2", "e3", "e5")


@pytest.mark.requirement("compaction:cut:empty")
@pytest.mark.parametrize("path", [[], branch({"type": "label"}), branch(user(1), marker(""))])
def test_without_live_entries_there_is_nothing_to_cut(path: list[JsonObject]) -> None:
    assert find_live_cut(path, tokens_before=5, budget=room_for(5)) == Empty()
    assert find_live_cut(path, tokens_before=5, budget=None) == Empty()


@pytest.mark.requirement("compaction:cut:findable")
def test_what_stays_begins_at_an_entry_that_the_host_finds_by_its_id() -> None:
    nameless: JsonObject = {**user(5), "id": None}
    again: JsonObject = {**user(5), "id": "e1"}

    assert cut(branch(LARGE, nameless, user(5)), keep=10).first_kept_entry_id == "e3"
    assert cut(branch(LARGE, again, user(5)), keep=10).first_kept_entry_id == "e3"


@pytest.mark.requirement("compaction:cut:fallback")
def test_without_a_budget_the_last_turn_stays() -> None:
    found = cut(branch(user(5), answer(5), user(5), answer(5, "a"), result("a", 5)), keep=None)

    assert found.first_kept_entry_id == "e3"
    assert found.summarized_ids == ("e1", "e2")
    assert found.figures is None


@pytest.mark.requirement("compaction:cut:fallback")
@pytest.mark.parametrize("begin", [command(5), custom(5), summary_of_branch(5)])
def test_a_turn_may_begin_with_more_than_a_user(begin: JsonObject) -> None:
    assert cut(branch(user(5), begin, answer(5)), keep=None).first_kept_entry_id == "e2"


@pytest.mark.requirement("compaction:cut:fallback")
def test_without_a_budget_a_split_call_moves_the_cut_to_an_earlier_turn() -> None:
    path = branch(user(5), user(5), answer(5, "a"), user(5), result("a", 5))

    assert cut(path, keep=None).first_kept_entry_id == "e2"


@pytest.mark.requirement("compaction:cut:fallback")
@pytest.mark.parametrize(
    "path",
    [
        branch(user(5), answer(5)),
        branch(answer(5), answer(5)),
        branch(user(5), answer(5, "a"), user(5), result("a", 5)),
        branch(user(5), user(5), marker("e1"), answer(5)),
    ],
)
def test_without_a_budget_and_an_earlier_turn_all_goes(path: list[JsonObject]) -> None:
    assert cut(path, keep=None).first_kept_entry_id == ""


@pytest.mark.requirement("compaction:cut:fallback")
@pytest.mark.parametrize("tokens_before", [math.nan, math.inf, 10**400])
def test_a_size_that_is_no_number_is_no_size(tokens_before: float) -> None:
    path = branch(LARGE, user(5), answer(5))

    assert find_live_cut(path, tokens_before=tokens_before, budget=room_for(5)) == cut(path, keep=None)


@pytest.mark.requirement("compaction:cut:total")
def test_an_absurd_size_still_gives_a_cut() -> None:
    path = branch(answer(1, used=1), user(5000), user(5))
    budget = Budget(context_window=200_000, target_ratio=0.5)

    found = find_live_cut(path, tokens_before=1.7e308, budget=budget)

    assert isinstance(found, LiveCut)
    assert found.first_kept_entry_id == ""


@pytest.mark.requirement("compaction:cut:explained")
def test_each_place_says_what_speaks_against_it() -> None:
    path = branch(LARGE, user(50), marker("e1"), answer(20, "a"), answer(10), result("a", 10), user(10))

    explained = explain_cut(path, tokens_before=read_window(path).raw_tokens, budget=room_for(30))

    assert explained.cut == cut(path, keep=30)
    assert explained.candidates == (
        BoundaryCandidate(
            entry_id="e1",
            role="user",
            position=0,
            kept_tokens=20_100,
            blocks=("nothing-before", "over-budget", "before-marker"),
            split_call_id=None,
        ),
        BoundaryCandidate(
            entry_id="e2",
            role="user",
            position=1,
            kept_tokens=100,
            blocks=("over-budget", "before-marker"),
            split_call_id=None,
        ),
        BoundaryCandidate(
            entry_id="e4",
            role="assistant",
            position=3,
            kept_tokens=50,
            blocks=("over-budget",),
            split_call_id=None,
        ),
        BoundaryCandidate(
            entry_id="e5",
            role="assistant",
            position=4,
            kept_tokens=30,
            blocks=("splits-call",),
            split_call_id="a",
        ),
        BoundaryCandidate(
            entry_id="e7", role="user", position=6, kept_tokens=10, blocks=(), split_call_id=None
        ),
    )


@pytest.mark.requirement("compaction:cut:explained")
def test_without_a_budget_the_answers_within_a_turn_are_explained() -> None:
    explained = explain_cut(branch(user(5), user(5), answer(5)), tokens_before=0, budget=None)

    assert [candidate.blocks for candidate in explained.candidates] == [
        ("nothing-before",),
        (),
        ("inside-turn",),
    ]


@given(log=LOGS, keep=st.none() | st.integers(0, 400))
@pytest.mark.requirement("compaction:cut:never-splits")
def test_no_pair_of_call_and_result_is_ever_split(log: list[JsonObject], keep: int | None) -> None:
    path = branch(LARGE, *log)
    found = find_live_cut(
        path,
        tokens_before=read_window(path).raw_tokens,
        budget=None if keep is None else room_for(keep),
    )
    if isinstance(found, Empty):
        assert path[-1]["type"] == "compaction"
        return
    called = _ids(path, "assistant")
    answered = _ids(path, "toolResult")
    for call_id in called.keys() & answered.keys():
        places = called[call_id] + answered[call_id]
        assert max(places) < found.source_end or min(places) >= found.source_end
    if found.first_kept_entry_id:
        assert path[found.source_end]["id"] == found.first_kept_entry_id
        assert "compaction" not in [entry["type"] for entry in path[found.source_end :]]
    if found.figures is not None:
        assert found.figures.retained_raw_tokens <= found.figures.suffix_tokens


def _ids(path: list[JsonObject], role: str) -> dict[str, list[int]]:
    """Where each id is called, or answered, but for the empty one."""
    places: dict[str, list[int]] = {}
    for position, entry in enumerate(path):
        message: JsonObject = entry.get("message", {})
        if message.get("role") != role:
            continue
        parts: list[JsonObject] = message["content"]
        ids = (
            [part["id"] for part in parts if "id" in part] if role == "assistant" else [message["toolCallId"]]
        )
        for call_id in filter(None, ids):
            places.setdefault(call_id, []).append(position)
    return places


@given(entries=ANY_ENTRIES, tokens_before=st.floats() | st.integers() | st.just(10**400))
@pytest.mark.requirement("compaction:cut:total")
def test_any_entries_give_a_cut_and_always_the_same(entries: list[JsonObject], tokens_before: float) -> None:
    for budget in (None, room_for(0), room_for(1000)):
        found = find_live_cut(entries, tokens_before=tokens_before, budget=budget)
        assert found == find_live_cut(entries, tokens_before=tokens_before, budget=budget)
        assert found == explain_cut(entries, tokens_before=tokens_before, budget=budget).cut
        if isinstance(found, LiveCut):
            assert found.summarized
            kept: Json = entries[found.source_end]["id"] if found.source_end < len(entries) else ""
            assert found.first_kept_entry_id == kept


@pytest.mark.requirement("compaction:cut:linear")
def test_tens_of_thousands_of_calls_that_overlap_are_cut_at_once() -> None:
    ids = [f"c{number}" for number in range(20_000)]
    path = branch(
        *(LARGE, answer(10, ids[0])),
        *(answer(0, call_id) for call_id in ids),
        *(result(call_id, 0) for call_id in reversed(ids)),
        user(5),
    )

    assert cut(path, keep=5).first_kept_entry_id == f"e{len(path)}"
