"""The order of runs: paired, shuffled, and the same wherever it is computed."""

from collections.abc import Sequence
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.certify.resume.arms import ARM_NAMES, ArmName
from pi_fabric.certify.resume.schedule import schedule

arms = st.lists(st.sampled_from(ARM_NAMES), unique=True, min_size=1)


@pytest.mark.requirement("certify:resume:order")
@given(arms=arms, repeats=st.integers(1, 5), seed=st.integers())
def test_each_repeat_of_a_fixture_runs_every_arm_once_in_a_row(
    arms: Sequence[ArmName], repeats: int, seed: int
) -> None:
    slots = schedule(["one", "two"], arms, repeats=repeats, seed=seed)
    groups = [list(group) for _, group in groupby(slots, key=lambda slot: (slot.repeat, slot.fixture))]
    assert [(group[0].repeat, group[0].fixture) for group in groups] == [
        (repeat, name) for repeat in range(1, repeats + 1) for name in ("one", "two")
    ]
    assert all(sorted(slot.arm for slot in group) == sorted(arms) for group in groups)


@pytest.mark.requirement("certify:resume:order")
@given(order=st.permutations(ARM_NAMES), seed=st.integers())
def test_the_order_depends_on_the_seed_and_not_on_how_arms_were_named(
    order: Sequence[ArmName], seed: int
) -> None:
    assert schedule(["one"], order, repeats=3, seed=seed) == schedule(
        ["one"], ARM_NAMES, repeats=3, seed=seed
    )


@pytest.mark.requirement("certify:resume:order")
def test_the_order_of_a_seed_is_the_same_for_ever() -> None:
    slots = schedule(["one"], ARM_NAMES, repeats=2, seed=7)
    assert [slot.arm for slot in slots[:4]] == ["pi", "baseline", "pi-vcc", "fabric"]
    assert [slot.arm for slot in slots[4:]] == ["pi", "baseline", "fabric", "pi-vcc"]
    assert schedule(["one"], ARM_NAMES, repeats=2, seed=8) != slots


def test_over_many_repeats_every_arm_comes_first_at_times() -> None:
    slots = schedule(["one"], ARM_NAMES, repeats=50, seed=0)
    assert {slot.arm for slot in slots[:: len(ARM_NAMES)]} == set(ARM_NAMES)
