import pytest
from cut_branches import answer, branch, marker, result, user

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.compaction.calibration import Calibration, calibrate
from pi_fabric.compaction.window import read_window


def calibrated(*entries: JsonObject, tokens_before: float) -> Calibration:
    return calibrate(read_window(branch(*entries)), tokens_before=tokens_before)


@pytest.mark.requirement("compaction:calibration:no-slope")
def test_without_a_reading_all_that_estimates_miss_is_overhead() -> None:
    assert calibrated(user(1000), tokens_before=5000) == Calibration(raw_tokens=1000, overhead_tokens=4000)


@pytest.mark.requirement("compaction:calibration:no-slope")
def test_overhead_is_never_negative() -> None:
    assert calibrated(user(9000), tokens_before=100) == Calibration(raw_tokens=9000)


@pytest.mark.requirement("compaction:calibration:slope")
def test_a_reading_far_enough_from_the_end_gives_scale_and_overhead() -> None:
    # 1,000 raw tokens were 3,000; 10,000 more were 20,000.
    found = calibrated(user(500), answer(500, used=3000), user(10_000), tokens_before=23_000)

    assert found == Calibration(raw_tokens=11_000, scale=2, overhead_tokens=1000)


@pytest.mark.requirement("compaction:calibration:slope")
def test_the_steepest_slope_counts_and_every_reading_is_covered() -> None:
    found = calibrated(
        *(answer(1000, used=9000), user(9000), answer(1000, used=13_000), user(9000)), tokens_before=40_000
    )

    assert found.scale == 3
    # At the first reading 1,000 raw tokens were 9,000.
    assert found.overhead_tokens == 6000


@pytest.mark.requirement("compaction:calibration:distance")
@pytest.mark.parametrize(("after", "scale"), [(4095, 1), (4096, 2)])
def test_a_reading_close_to_the_end_gives_no_slope(after: int, scale: float) -> None:
    found = calibrated(answer(10, used=100), user(after), tokens_before=100 + 2 * after)

    assert found.scale == scale


@pytest.mark.requirement("compaction:calibration:distance")
@pytest.mark.parametrize(("after", "scale"), [(9_999, 1), (10_000, 2)])
def test_a_tenth_of_a_large_context_is_close(after: int, scale: float) -> None:
    before = 100_000 - after
    found = calibrated(answer(before, used=before), user(after), tokens_before=before + 2 * after)

    assert found.scale == scale


@pytest.mark.requirement("compaction:calibration:distance")
def test_a_reading_close_to_the_end_still_raises_the_overhead_of_another_slope() -> None:
    found = calibrated(
        *(answer(1000, used=2000), user(5000), answer(0, used=15_500), user(1000)), tokens_before=16_000
    )

    assert found.scale == 14_000 / 6000
    assert found.overhead_tokens == pytest.approx(1500)


@pytest.mark.requirement("compaction:calibration:no-slope")
def test_a_reading_close_to_the_end_alone_tells_nothing() -> None:
    found = calibrated(answer(10, used=5000), user(1000), tokens_before=5100)

    assert found == Calibration(raw_tokens=1010, overhead_tokens=4090)


@pytest.mark.requirement("compaction:calibration:floor")
def test_the_scale_is_at_least_one() -> None:
    found = calibrated(answer(1000, used=5000), user(9000), tokens_before=6000)

    assert found == Calibration(raw_tokens=10_000, overhead_tokens=4000)


@pytest.mark.requirement("compaction:calibration:impossible")
def test_a_reading_above_the_size_before_is_not_believed() -> None:
    found = calibrated(answer(1000, used=90_000), user(9000), tokens_before=20_000)

    assert found == Calibration(raw_tokens=10_000, overhead_tokens=10_000)


@pytest.mark.requirement("compaction:calibration:marker")
def test_a_reading_from_before_the_last_compaction_tells_nothing() -> None:
    found = calibrated(
        *(user(100), answer(100, used=195_000), marker("e2", 50), user(9000)), tokens_before=200_000
    )

    assert found == Calibration(raw_tokens=9150, overhead_tokens=190_850)


@pytest.mark.requirement("compaction:calibration:usage")
@pytest.mark.parametrize(
    ("usage", "scale"),
    [
        ({"totalTokens": 3000}, 2),
        ({"totalTokens": 0, "input": 1000, "output": 500, "cacheRead": 700, "cacheWrite": 800}, 2),
        ({"totalTokens": 0}, 1),
        ({"totalTokens": 10**400}, 1),
        ("no object", 1),
    ],
)
def test_usage_is_the_total_or_the_sum_of_its_parts(usage: Json, scale: float) -> None:
    reading = answer(1000)
    reading["message"]["usage"] = usage

    assert calibrated(reading, user(10_000), tokens_before=23_000).scale == scale


@pytest.mark.requirement("compaction:calibration:images")
def test_an_image_is_estimated_apart_from_its_bytes() -> None:
    image = {"type": "image", "data": "A" * 300_000, "mimeType": "image/png"}
    shown = result("a", 0)
    shown["message"]["content"] = [image]

    assert calibrated(answer(0, "a"), shown, tokens_before=0).raw_tokens == 1200
