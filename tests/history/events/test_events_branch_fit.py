import math

import pytest
from branch_envelopes import details_of, operation_fact
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.bounds import json_bytes
from pi_fabric.base.jsonvalue import UNDEFINED, Json
from pi_fabric.history.events import (
    CustomMessageFact,
    Fact,
    OperationFact,
    UserFact,
    fit_details,
    read_branch_details,
)


def operations(details_facts: tuple[Fact, ...]) -> list[OperationFact]:
    return [fact for fact in details_facts if isinstance(fact, OperationFact)]


def test_what_fits_is_left_as_it_is() -> None:
    details = details_of(UserFact(entry_id="b1", text="t"), operation_fact("b2", result=[1]), omitted=3)

    assert fit_details(details) == details


@pytest.mark.requirement("events:fit:results")
def test_results_go_first_and_from_the_end() -> None:
    facts = [operation_fact(f"b{number}", args={"a": "z" * 1500}, result="r" * 3000) for number in range(60)]
    fitted = fit_details(details_of(*facts))

    has_result = [fact.result is not UNDEFINED for fact in operations(fitted.facts)]
    kept = sum(has_result)
    assert 0 < kept < 60
    assert has_result == [True] * kept + [False] * (60 - kept)
    assert [fact.args for fact in operations(fitted.facts)] == [{"a": "z" * 1500}] * 60
    assert fitted.omitted_facts == 0
    # Not one more than has to go.
    assert json_bytes(fitted.to_json()) > 128 * 1024 - 3100


@pytest.mark.requirement("events:fit:payload")
def test_a_file_tool_keeps_its_path_when_its_payload_has_to_go() -> None:
    write = operation_fact("b1", ref="write", tool="write", args={"path": "f", "content": "x" * 200_000})
    nested = operation_fact("b2", ref="pi.edit", tool="edit", args={"file": "g", "edits": ["x" * 200_000]})
    fitted = fit_details(details_of(write, nested))

    assert [fact.args for fact in operations(fitted.facts)] == [{"path": "f"}, {"file": "g"}]
    assert fitted.omitted_facts == 0


def test_details_of_messages_go_before_the_paths_payload() -> None:
    custom = CustomMessageFact(entry_id="b1", custom_type="t", text="x", display=True, details="d" * 8000)
    write = operation_fact("b2", ref="write", tool="write", args={"path": "f", "content": "x" * 125_000})
    fitted = fit_details(details_of(custom, write))

    assert isinstance(fitted.facts[0], CustomMessageFact)
    assert fitted.facts[0].details is UNDEFINED
    assert fitted.facts[1] == write


@pytest.mark.requirement("events:fit:middle")
@pytest.mark.parametrize("count", [70, 71])
def test_whole_facts_go_from_the_middle_and_are_counted(count: int) -> None:
    facts = [operation_fact(f"b{number}", args={"a": "z" * 3000}) for number in range(count)]
    fitted = fit_details(details_of(*facts, omitted=5))

    kept = len(fitted.facts)
    numbers = [*range(count)]
    expected = numbers[: kept - kept // 2] + numbers[count - kept // 2 :]
    assert [fact.entry_id for fact in fitted.facts] == [f"b{number}" for number in expected]
    assert fitted.omitted_facts == 5 + count - kept
    assert 128 * 1024 - 3200 < json_bytes(fitted.to_json()) <= 128 * 1024


@pytest.mark.requirement("events:fit:values")
def test_the_number_of_values_is_bounded_too() -> None:
    facts = [operation_fact(f"b{number}", args={"l": [1] * 200}) for number in range(30)]
    fitted = fit_details(details_of(*facts))

    assert len(fitted.facts) == 4096 // 202
    assert fitted.omitted_facts == 30 - 4096 // 202


def deep() -> Json:
    value: Json = 1
    for _ in range(40):
        value = [value]
    return value


@pytest.mark.requirement("events:fit:values")
@pytest.mark.parametrize("value", [[1] * 257, deep(), math.inf])
def test_a_value_that_no_envelope_may_hold_goes_and_with_it_a_fact_that_needs_it(value: Json) -> None:
    needs = operation_fact("b1", args={"a": value})
    returned = operation_fact("b2", result=value)
    wrote = operation_fact("b3", ref="edit", tool="edit", args={"path": "f", "edits": value})
    fitted = fit_details(details_of(needs, returned, wrote))

    assert [fact.entry_id for fact in fitted.facts] == ["b2", "b3"]
    assert [fact.args for fact in operations(fitted.facts)] == [{}, {"path": "f"}]
    assert fitted.omitted_facts == 1


values = st.recursive(
    st.none() | st.floats() | st.text(max_size=3000),
    lambda inner: st.lists(inner, max_size=300) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)
facts = st.lists(
    st.builds(
        operation_fact,
        st.text(max_size=3),
        ref=st.sampled_from(["x.y", "write", "pi.read"]),
        args=st.dictionaries(st.sampled_from(["path", "content", "a"]), values, max_size=3),
        result=values,
    )
    | st.builds(UserFact, entry_id=st.text(max_size=3), text=st.text(max_size=2000)),
    max_size=12,
)


@pytest.mark.requirement("events:fit:always-valid")
@given(facts, st.integers(min_value=1, max_value=21))
def test_whatever_the_facts_hold_the_reader_accepts_what_comes_of_it(few: list[Fact], times: int) -> None:
    many = (few * times)[:256]
    fitted = fit_details(details_of(*many))

    assert read_branch_details(fitted.to_json()) == fitted
    assert len(fitted.facts) + fitted.omitted_facts == len(many)
