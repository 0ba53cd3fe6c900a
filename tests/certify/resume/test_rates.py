"""Intervals and pairs against figures worked out by hand and taken from tables."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.certify.resume.rates import Paired, paired, wilson_95


@pytest.mark.requirement("certify:resume:wilson")
@pytest.mark.parametrize(
    ("passes", "runs", "low", "high"),
    [
        # z² = 3.841459. None and all of n: z² / (n + z²), and 1 less that.
        (0, 3, 0.0, 3.841459 / 6.841459),
        (3, 3, 3 / 6.841459, 1.0),
        # 0.5 ± 1.959964 * sqrt(0.125 + 3.841459 / 16) / 2.920729
        (1, 2, 0.094531, 0.905469),
        # As in the literature (Newcombe 1998; Brown, Cai and DasGupta 2001).
        (8, 10, 0.490162, 0.943318),
        (81, 263, 0.255272, 0.366188),
        (15, 148, 0.062386, 0.160512),
    ],
)
def test_the_interval_is_wilsons(passes: int, runs: int, low: float, high: float) -> None:
    assert wilson_95(passes, runs) == pytest.approx((low, high), abs=5e-5)


def test_without_runs_there_is_no_interval() -> None:
    assert wilson_95(0, 0) is None


@given(runs=st.integers(1, 10_000), data=st.data())
def test_the_interval_holds_the_rate_and_stays_within_zero_and_one(runs: int, data: st.DataObject) -> None:
    passes = data.draw(st.integers(0, runs))
    bounds = wilson_95(passes, runs)
    assert bounds is not None
    assert 0 <= bounds[0] <= passes / runs <= bounds[1] <= 1


@pytest.mark.requirement("certify:resume:paired")
def test_pairs_are_won_lost_or_tied() -> None:
    found = paired([(True, False), (True, True), (False, False), (False, True), (True, False)])
    assert found == Paired(wins=2, losses=1, ties=2)
    assert (found.pairs, found.rate(found.wins), found.rate(found.ties)) == (5, 0.4, 0.4)


def test_without_pairs_there_is_no_rate() -> None:
    assert paired([]).rate(0) is None
