import pytest
from cut_branches import answer, branch, command, result, user

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.compaction.spans import split_calls


@pytest.mark.requirement("compaction:closure:spans")
def test_every_place_between_a_call_and_its_result_is_barred() -> None:
    path = branch(user(1), answer(1, "a"), user(1), result("a", 1), user(1))

    assert split_calls(path) == [None, None, "a", "a", None]


@pytest.mark.requirement("compaction:closure:spans")
def test_parallel_calls_reach_to_the_last_result() -> None:
    path = branch(answer(1, "a", "b"), result("b", 1), result("a", 1), user(1))

    assert split_calls(path) == [None, "a", "a", None]


@pytest.mark.requirement("compaction:closure:spans")
def test_a_result_before_its_call_bars_as_well() -> None:
    assert split_calls(branch(result("a", 1), user(1), answer(1, "a"), user(1))) == [None, "a", "a", None]


@pytest.mark.requirement("compaction:closure:duplicates")
def test_equal_ids_are_one_span_from_the_first_to_the_last() -> None:
    path = branch(answer(1, "a"), result("a", 1), user(1), answer(1, "a"), result("a", 1), user(1))

    assert split_calls(path) == [None, "a", "a", "a", "a", None]


@pytest.mark.requirement("compaction:closure:halves")
@pytest.mark.parametrize(
    "path",
    [
        branch(answer(1, "a"), user(1), answer(1, "a"), user(1)),
        branch(result("a", 1), user(1), result("a", 1)),
        branch(answer(1, ""), result("", 1), user(1)),
        branch({"type": "message", "message": {"role": "assistant", "content": "a"}}, result("a", 1)),
    ],
)
def test_a_half_alone_and_an_empty_id_bar_nothing(path: list[JsonObject]) -> None:
    assert split_calls(path) == [None] * len(path)


def test_only_messages_of_the_model_and_of_tools_are_halves() -> None:
    call = answer(1, "a")
    call["message"]["role"] = "user"

    assert split_calls(branch(call, command(1), result("a", 1))) == [None, None, None]


def test_overlapping_spans_name_the_one_that_reaches_furthest() -> None:
    path = branch(answer(1, "a"), answer(1, "b"), result("a", 1), user(1), result("b", 1))

    assert split_calls(path) == [None, "a", "b", "b", "b"]
