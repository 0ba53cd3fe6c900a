import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.jsonvalue import Json
from pi_fabric.compaction.budget import Budget, plan_budget, read_budget
from pi_fabric.compaction.calibration import Calibration

JSON_NUMBERS = (
    st.integers() | st.floats() | st.just(10**400) | st.none() | st.booleans() | st.text(max_size=3)
)


@pytest.mark.requirement("compaction:budget:defaults")
@pytest.mark.parametrize("settings", [None, {}, {"reserveTokens": "many", "keepRecentTokens": math.nan}, 5])
def test_missing_settings_are_those_of_pi(settings: Json) -> None:
    budget = read_budget(context_window=200_000, target_ratio=0.5, settings=settings)

    assert budget == Budget(
        context_window=200_000, target_ratio=0.5, reserve_tokens=16_384, keep_recent_tokens=20_000
    )


@pytest.mark.requirement("compaction:budget:clamps")
@pytest.mark.parametrize(("ratio", "used"), [(0, 0.25), (0.25, 0.25), (0.6, 0.6), (0.85, 0.85), (9, 0.85)])
def test_the_ratio_is_kept_within_its_bounds(ratio: float, used: float) -> None:
    budget = read_budget(context_window=100, target_ratio=ratio, settings=None)

    assert budget is not None
    assert budget.target_ratio == used


@pytest.mark.requirement("compaction:budget:clamps")
def test_token_counts_are_whole() -> None:
    budget = read_budget(
        context_window=999.9, target_ratio=0.5, settings={"reserveTokens": 10.9, "keepRecentTokens": 20.9}
    )

    assert budget == Budget(context_window=999, target_ratio=0.5, reserve_tokens=10, keep_recent_tokens=20)


@pytest.mark.requirement("compaction:budget:unknown")
@pytest.mark.parametrize("window", [None, 0, -1, math.inf, math.nan, 10**400, True, "200000"])
def test_without_a_usable_window_there_is_no_budget(window: Json) -> None:
    assert read_budget(context_window=window, target_ratio=0.5, settings=None) is None


@pytest.mark.requirement("compaction:budget:unknown")
@pytest.mark.parametrize("ratio", [None, math.nan, "0.5"])
def test_without_a_usable_ratio_there_is_no_budget(ratio: Json) -> None:
    assert read_budget(context_window=200_000, target_ratio=ratio, settings=None) is None


def target(
    *, window: int = 100_000, ratio: float = 0.5, reserve: int = 0, keep: int = 0, before: float = 1e6
) -> int:
    budget = Budget(
        context_window=window, target_ratio=ratio, reserve_tokens=reserve, keep_recent_tokens=keep
    )
    calibration = Calibration(raw_tokens=0, scale=2, overhead_tokens=1000.5)
    return plan_budget(budget, calibration, tokens_before=before).target_tokens


@pytest.mark.requirement("compaction:budget:target")
def test_the_target_is_the_ratio_of_the_window() -> None:
    assert target() == 50_000


@pytest.mark.requirement("compaction:budget:target")
def test_recent_tokens_raise_the_target_above_the_ratio() -> None:
    assert target(keep=30_000) == math.ceil(1000.5 + (30_000 + 8192) * 2)


@pytest.mark.requirement("compaction:budget:target")
def test_the_target_stays_below_the_window_without_its_reserve_and_a_margin() -> None:
    assert target(keep=60_000, reserve=10_000) == 81_000


@pytest.mark.requirement("compaction:budget:target")
def test_the_target_stays_below_the_size_before() -> None:
    assert target(before=20_000) == 19_000


@pytest.mark.requirement("compaction:budget:reserve")
def test_a_reserve_as_large_as_the_window_leaves_a_target_of_one() -> None:
    assert target(window=131_072, reserve=131_072) == 1


@pytest.mark.requirement("compaction:budget:suffix")
def test_what_stays_leaves_room_for_the_largest_summary() -> None:
    budget = Budget(context_window=100_000, target_ratio=0.5, keep_recent_tokens=0)
    figures = plan_budget(budget, Calibration(raw_tokens=0, scale=2, overhead_tokens=1000), tokens_before=1e6)

    assert figures.suffix_tokens == (50_000 - 1000) // 2 - 8192


@pytest.mark.requirement("compaction:budget:fill")
@pytest.mark.parametrize(("keep", "suffix"), [(5000, 5000), (90_000, 41_807)])
def test_filling_the_tail_keeps_no_more_than_the_recent_tokens(keep: int, suffix: int) -> None:
    budget = Budget(
        context_window=100_000, target_ratio=0.5, reserve_tokens=0, keep_recent_tokens=keep, fill="tail"
    )
    before = Calibration(raw_tokens=0, overhead_tokens=0)
    figures = plan_budget(budget, before, tokens_before=52_631)

    assert figures.suffix_tokens == suffix
    assert figures.to_json()["fill"] == "tail"


@pytest.mark.requirement("compaction:budget:overflow")
def test_after_an_overflow_the_window_is_less_than_what_failed() -> None:
    budget = read_budget(context_window=200_000, target_ratio=0.5, settings=None, failed_tokens=150_000)

    assert budget is not None
    assert budget.working_window == 135_000
    figures = plan_budget(budget, Calibration(raw_tokens=0), tokens_before=150_000)
    assert figures.target_tokens == 67_500
    assert figures.to_json()["contextWindow"] == 200_000
    assert figures.to_json()["workingWindow"] == 135_000


@pytest.mark.requirement("compaction:budget:overflow")
@pytest.mark.parametrize("failed", [None, 0, -5, math.nan, "x", 10**400, 900_000])
def test_a_window_that_nothing_contradicts_stays_as_advertised(failed: Json) -> None:
    budget = read_budget(context_window=200_000, target_ratio=0.5, settings=None, failed_tokens=failed)

    assert budget is not None
    assert budget.working_window == 200_000


@pytest.mark.requirement("compaction:budget:projection")
def test_a_summary_is_projected_with_what_stays() -> None:
    budget = Budget(context_window=100_000, target_ratio=0.5, reserve_tokens=0, keep_recent_tokens=0)
    figures = plan_budget(
        budget, Calibration(raw_tokens=0, scale=1.5, overhead_tokens=48_000), tokens_before=1e6
    )

    assert figures.projected_tokens(9) == 48_000 + math.ceil(3 * 1.5)
    assert not figures.is_over_target(4 * 8192)
    assert figures.is_over_target(4 * 8192 + 1)


@given(
    window=JSON_NUMBERS,
    ratio=JSON_NUMBERS,
    settings=st.fixed_dictionaries({"reserveTokens": JSON_NUMBERS, "keepRecentTokens": JSON_NUMBERS}),
    failed=JSON_NUMBERS,
)
def test_whatever_a_host_sends_gives_a_usable_target_or_no_budget(
    window: Json, ratio: Json, settings: Json, failed: Json
) -> None:
    budget = read_budget(context_window=window, target_ratio=ratio, settings=settings, failed_tokens=failed)

    if budget is not None:
        figures = plan_budget(budget, Calibration(raw_tokens=5, scale=1e6), tokens_before=1e15)
        assert figures.target_tokens >= 1
        assert figures.suffix_tokens >= 0
