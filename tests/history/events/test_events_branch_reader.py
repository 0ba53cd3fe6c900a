import math
from collections.abc import Callable
from copy import deepcopy
from typing import TypeAlias

import pytest
from branch_envelopes import details_of, envelope, fact, operation, user
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.bounds import json_bytes
from pi_fabric.base.jsonvalue import UNDEFINED, Json, JsonObject
from pi_fabric.history.events import (
    BranchDetails,
    BranchRequest,
    BranchSource,
    CustomMessageFact,
    OperationFact,
    PhaseFact,
    UserFact,
    read_branch_details,
)

Change: TypeAlias = Callable[[JsonObject], object]

CUSTOM = fact("customMessage", "b2", "custom-message", customType="t", text="x", display=False, details=None)
FULL = envelope(
    user("b1", "goal"),
    CUSTOM,
    fact("phase", "b3", "phase:1", phase="look"),
    operation("b4", provider="p", action="a", args={"k": [1]}, error="why", result={"created": True}),
    omittedFacts=3,
    request={"text": "mind this", "sourceBytes": 12, "truncated": True},
)


def nested(containers: int) -> Json:
    value: Json = 1
    for level in range(containers):
        value = [value] if level % 2 else {"k": value}
    return value


@pytest.mark.requirement("events:branch:reader")
def test_a_valid_envelope_is_decoded() -> None:
    assert read_branch_details(FULL) == BranchDetails(
        source=BranchSource(first_entry_id="b1", last_entry_id="b9", entry_count=9, old_leaf_id="b9"),
        facts=(
            UserFact(entry_id="b1", text="goal"),
            CustomMessageFact(entry_id="b2", custom_type="t", text="x", display=False, details=None),
            PhaseFact(entry_id="b3", subordinal="phase:1", phase="look"),
            OperationFact(
                entry_id="b4",
                subordinal="0",
                ref="r",
                provider="p",
                action="a",
                tool="t",
                args={"k": [1]},
                outcome="failed",
                error="why",
                result={"created": True},
            ),
        ),
        omitted_facts=3,
        sections=("[Session Goal]",),
        request=BranchRequest(text="mind this", source_bytes=12, truncated=True),
    )


@pytest.mark.requirement("events:branch:shape")
@pytest.mark.parametrize("value", [FULL, envelope(), envelope(operation())])
def test_a_decoded_envelope_encodes_to_what_was_read(value: JsonObject) -> None:
    details = read_branch_details(value)

    assert details is not None
    assert details.to_json() == value


@pytest.mark.requirement("events:branch:old-leaf")
@pytest.mark.parametrize("source", [{}, {"oldLeafId": None}, {"oldLeafId": "x"}])
def test_an_older_envelope_need_not_name_the_leaf(source: JsonObject) -> None:
    value = envelope(source={"firstEntryId": "b1", "lastEntryId": "b9", "entryCount": 9, **source})
    details = read_branch_details(value)

    assert details is not None
    assert details.source.old_leaf_id == source.get("oldLeafId")
    assert details.to_json() == value


OFF: list[Change] = [
    lambda value: value.update(x=1),
    lambda value: value.pop("request"),
    lambda value: value.pop("sections"),
    lambda value: value.update(kind="z"),
    lambda value: value.update(version=2),
    lambda value: value.update(version=True),
    lambda value: value.update(source=None),
    lambda value: value["source"].update(x=1),
    lambda value: value["source"].update(entryCount=-1),
    lambda value: value["source"].update(firstEntryId=None),
    lambda value: value["source"].update(oldLeafId=5),
    lambda value: value.update(omittedFacts=-1),
    lambda value: value.update(omittedFacts=0.5),
    lambda value: value.update(sections=["s"] * 65),
    lambda value: value.update(sections=[5]),
    lambda value: value.update(sections="s"),
    lambda value: value["request"].update(x=1),
    lambda value: value["request"].update(text=None),
    lambda value: value["request"].update(sourceBytes=-1),
    lambda value: value["request"].update(truncated=0),
    lambda value: value.update(facts={}),
    lambda value: value.update(facts=[None]),
    lambda value: value["facts"][0].update(x=1),
    lambda value: value["facts"][0].update(kind="other"),
    lambda value: value["facts"][0].update(kind=["user"]),
    lambda value: value["facts"][0].update(address="b2/user"),
    lambda value: value["facts"][0].update(entryId=5, address="5/user"),
    lambda value: value["facts"][0].update(text=None),
    lambda value: value["facts"][1].update(display="yes"),
    lambda value: value["facts"][1].update(customType=5),
    lambda value: value["facts"][1].update(details=math.inf),
    lambda value: value["facts"][2].update(phase=None),
    lambda value: value["facts"][3].update(args=[]),
    lambda value: value["facts"][3].update(outcome="done"),
    lambda value: value["facts"][3].update(provider=None),
    lambda value: value["facts"][3].update(error=5),
    lambda value: value["facts"][3].pop("tool"),
    lambda value: value["facts"][3].update(result=nested(17)),
]


@pytest.mark.requirement("events:branch:exact")
@pytest.mark.parametrize("change", OFF)
def test_an_envelope_that_is_off_by_anything_is_none(change: Change) -> None:
    value = deepcopy(FULL)
    change(value)

    assert read_branch_details(value) is None


@pytest.mark.requirement("events:branch:bounds")
@pytest.mark.parametrize(("count", "is_accepted"), [(256, True), (257, False)])
def test_an_envelope_holds_256_facts(count: int, is_accepted: bool) -> None:
    value = envelope(*(user(f"e{number}") for number in range(count)))

    assert (read_branch_details(value) is not None) is is_accepted


def test_the_same_address_may_come_twice() -> None:
    assert read_branch_details(envelope(user("e1"), user("e1"))) is not None


@pytest.mark.requirement("events:branch:bounds")
@pytest.mark.parametrize(("containers", "is_accepted"), [(15, True), (16, False), (5_000, False)])
def test_values_nest_16_below_the_arguments(containers: int, is_accepted: bool) -> None:
    value = envelope(operation(args={"a": nested(containers)}))

    assert (read_branch_details(value) is not None) is is_accepted


@pytest.mark.requirement("events:branch:bounds")
@pytest.mark.parametrize(("count", "is_accepted"), [(256, True), (257, False)])
def test_a_collection_holds_256_values(count: int, is_accepted: bool) -> None:
    assert (read_branch_details(envelope(operation(result=[1] * count))) is not None) is is_accepted
    keys = dict.fromkeys(map(str, range(count)))
    assert (read_branch_details(envelope(operation(args=keys))) is not None) is is_accepted


@pytest.mark.requirement("events:branch:bounds")
@pytest.mark.parametrize(("last", "is_accepted"), [(238, True), (239, False)])
def test_all_facts_together_hold_4096_values(last: int, is_accepted: bool) -> None:
    # The arguments and the list count too: sixteen facts with 241 values, and the last one.
    facts = [operation(args={"l": [1] * 239}) for _ in range(16)]
    value = envelope(*facts, operation(args={"l": [1] * last}))

    assert (read_branch_details(value) is not None) is is_accepted


@pytest.mark.requirement("events:branch:bounds")
@pytest.mark.parametrize(("extra", "is_accepted"), [(0, True), (1, False)])
def test_an_envelope_has_128_kib_of_json(extra: int, is_accepted: bool) -> None:
    room = 128 * 1024 - json_bytes(envelope(user("e1", ""))) + extra

    assert (read_branch_details(envelope(user("e1", "x" * room))) is not None) is is_accepted


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text() | st.just(UNDEFINED),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_other_json_is_no_envelope(value: Json) -> None:
    assert read_branch_details(value) is None


def test_what_is_made_for_a_branch_is_read_back() -> None:
    details = details_of(UserFact(entry_id="b1", text="goal"))

    assert read_branch_details(details.to_json()) == details
