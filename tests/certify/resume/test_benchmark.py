"""The whole benchmark with a stand-in for Pi: budget, order, interruption, and what is left behind."""

import tempfile
from pathlib import Path
from typing import Any

import anyio
import pytest

from pi_fabric.base.errors import ConfigError
from pi_fabric.certify.resume.arms import ArmName
from pi_fabric.certify.resume.benchmark import Plan, Progress, run_benchmark
from pi_fabric.certify.resume.fixture import load_fixture
from pi_fabric.certify.resume.results import Report
from pi_fabric.certify.resume.schedule import Slot, schedule
from tests.certify.resume.own_fixture import write_fixture
from tests.certify.resume.test_one_run import fake_bench

ARMS: tuple[ArmName, ...] = ("baseline", "pi")


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def plan_in(tmp_path: Path, *, repeats: int = 2, oracle: list[str] | None = None) -> Plan:
    changes: dict[str, Any] = {} if oracle is None else {"expected": {}, "oracle": oracle}
    fixture = load_fixture(write_fixture(tmp_path / "mine", **changes))
    return Plan(fixtures=[fixture], arms=ARMS, repeats=repeats, seed=3, pi_version="1.6.0")


def measure(
    plan: Plan, mode: str = "work", *, max_usd: float = 100, progress: Progress | None = None
) -> Report:
    return anyio.run(lambda: run_benchmark(plan, fake_bench(mode, max_usd=max_usd), progress=progress))


@pytest.mark.requirement("certify:resume:order", "certify:resume:temporary")
def test_every_run_is_made_in_the_planned_order_and_nothing_is_left(tmp_path: Path, temporary: Path) -> None:
    told: list[tuple[int, int, Slot, float]] = []

    def tell(done: int, total: int, slot: Slot, spent_usd: float) -> None:
        told.append((done, total, slot, spent_usd))

    report = measure(plan_in(tmp_path), progress=tell)
    slots = schedule(["mine"], ARMS, repeats=2, seed=3)
    assert tuple(run.slot for run in report.runs) == slots
    assert told == [(number, 4, slot, number * 0.5) for number, slot in enumerate(slots)]
    assert (report.stopped, report.spent_usd, report.left_behind) == (None, 2.0, "")
    assert list(temporary.iterdir()) == []


@pytest.mark.requirement("certify:resume:budget")
@pytest.mark.parametrize(("max_usd", "made"), [(0.5, 1), (0.6, 2), (1.5, 3), (2.0, 4)])
def test_no_arm_is_started_once_the_budget_was_spent(tmp_path: Path, max_usd: float, made: int) -> None:
    report = measure(plan_in(tmp_path), max_usd=max_usd)
    slots = schedule(["mine"], ARMS, repeats=2, seed=3)
    assert (len(report.runs), tuple(report.not_run)) == (made, slots[made:])
    assert report.stopped == ("budget" if made < 4 else None)


@pytest.mark.requirement("certify:resume:failure")
def test_after_a_failure_the_others_still_run(tmp_path: Path) -> None:
    report = measure(plan_in(tmp_path, repeats=1), "crash")
    assert [run.ending for run in report.runs] == ["crashed", "crashed"]


@pytest.mark.requirement("certify:resume:interrupted", "certify:resume:temporary")
def test_an_interruption_keeps_what_was_measured_and_leaves_nothing(tmp_path: Path, temporary: Path) -> None:
    plan = plan_in(tmp_path)

    async def interrupted() -> Report:
        stop = anyio.Event()

        def at_the_third(done: int, _total: int, _slot: Slot, _spent: float) -> None:
            if done == 2:
                stop.set()

        return await run_benchmark(plan, fake_bench("work"), stop=stop, progress=at_the_third)

    report = anyio.run(interrupted)
    assert (report.stopped, len(report.runs), len(report.not_run)) == ("interrupted", 2, 2)
    assert list(temporary.iterdir()) == []


@pytest.mark.requirement("certify:resume:own")
def test_a_task_that_is_done_before_it_begins_is_refused_for_free(tmp_path: Path, temporary: Path) -> None:
    told: list[int] = []

    def tell(done: int, _total: int, _slot: Slot, _spent_usd: float) -> None:
        told.append(done)

    with pytest.raises(ConfigError, match="passes before anything was done") as caught:
        measure(plan_in(tmp_path, oracle=["{python}", "-c", ""]), progress=tell)
    assert caught.value.pointer == "$.oracle"
    assert told == []
    assert list(temporary.iterdir()) == []


@pytest.mark.requirement("certify:resume:own")
@pytest.mark.parametrize("program", ["no-such-program", "./check.sh", "{fixture}/check.sh"])
def test_an_oracle_that_cannot_be_started_is_refused_for_free(tmp_path: Path, program: str) -> None:
    with pytest.raises(ConfigError, match="there is no program ") as caught:
        measure(plan_in(tmp_path, oracle=[program]))
    assert caught.value.pointer == "$.oracle[0]"


def test_an_oracle_may_lie_in_the_repository(tmp_path: Path) -> None:
    plan = plan_in(tmp_path, repeats=1, oracle=["./check.sh"])
    file = plan.fixtures[0].repo / "check.sh"
    file.write_text("#!/bin/sh\ntest -e answer.txt\n")
    file.chmod(0o755)
    assert [run.has_passed for run in measure(plan).runs] == [True, True]
