"""One run, with a stand-in where Pi must misbehave: whatever it does is that run's failure."""

import os
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from pi_fabric.base.clock import FakeClock
from pi_fabric.certify.resume.arms import ArmName
from pi_fabric.certify.resume.fixture import Fixture, load_fixture
from pi_fabric.certify.resume.gate import Gate
from pi_fabric.certify.resume.one_run import Bench, OneRun
from pi_fabric.certify.resume.results import Run
from pi_fabric.certify.resume.schedule import Slot
from pi_fabric.certify.resume.scrub import Scrubber
from tests.certify.resume.own_fixture import write_fixture
from tests.certify.resume.resume_lab import KEY, KEY_ENV
from tools import install_pi

FAKE = Path(__file__).with_name("fake_pi.py")


def fake_bench(mode: str, *, timeout_s: float = 30, max_usd: float = 100, **gate: Any) -> Bench:
    """A bench on which `fake_pi` takes Pi's place."""
    return Bench(
        gate=Gate(provider="p", model="m", key_env=KEY_ENV, key=KEY, max_usd=max_usd, repeats=1, **gate),
        pi=(sys.executable, str(FAKE), mode),
        node=install_pi.node(),
        environ=os.environ,
        timeout_s=timeout_s,
        scrub=Scrubber(KEY_ENV, KEY),
        clock=FakeClock(),
    )


def own_fixture(tmp_path: Path) -> Fixture:
    return load_fixture(write_fixture(tmp_path / "mine"))


def run_once(tmp_path: Path, mode: str, *, arm: ArmName = "baseline", timeout_s: float = 30) -> Run:
    bench = fake_bench(mode, timeout_s=timeout_s, pi_vcc=FAKE)
    one = OneRun(bench, Slot("mine", 1, arm), own_fixture(tmp_path), tmp_path / "run")
    return anyio.run(one.make)


@pytest.mark.requirement("certify:resume:figures")
def test_a_task_that_is_done_passes_with_what_it_cost(tmp_path: Path) -> None:
    run = run_once(tmp_path, "work")
    assert (run.has_passed, run.ending, run.reasons) == (True, "settled", ())
    assert (run.usd, run.total_tokens, run.summary_bytes) == (0.5, 100, None)


@pytest.mark.requirement("certify:resume:forbidden")
def test_a_forbidden_change_fails_it(tmp_path: Path) -> None:
    run = run_once(tmp_path, "spoil")
    assert (run.ending, run.reasons) == ("settled", ("fixed.txt: must not change, but did",))


@pytest.mark.requirement("certify:resume:failure", "certify:resume:key")
@pytest.mark.parametrize(
    ("mode", "ending", "reason"),
    [
        ("crash", "crashed", f"Pi ended (exit code 3): TypeError: cannot use [{KEY_ENV}]"),
        ("garbage", "crashed", "what Pi writes is no protocol (Expecting value: line 1 column 1 (char 0))"),
        ("refuse", "refused", f"Pi refused prompt: 401: the key [{KEY_ENV}] is unknown"),
        ("handled", "refused", "an extension took the prompt, so the model never saw it"),
        ("fail", "refused", f"the model's last answer failed: 401 [{KEY_ENV}]"),
        ("idle", "refused", "the model gave no answer"),
    ],
)
def test_what_goes_wrong_is_told_without_the_key(tmp_path: Path, mode: str, ending: str, reason: str) -> None:
    run = run_once(tmp_path, mode)
    assert (run.has_passed, run.ending, run.reasons[0]) == (False, ending, reason)
    assert KEY not in repr(run)


@pytest.mark.requirement("certify:resume:key")
@pytest.mark.parametrize("before", ["rant", "rant1", "rant7", "rant20"])
def test_last_words_that_are_cut_hold_no_part_of_the_key(tmp_path: Path, before: str) -> None:
    (reason, *_) = run_once(tmp_path, before).reasons
    assert reason.startswith("Pi ended (exit code 4): ")
    assert not [at for at in range(len(KEY) - 6) if KEY[at : at + 6] in reason]


@pytest.mark.requirement("certify:resume:failure")
def test_a_hang_ends_at_the_time_limit(tmp_path: Path) -> None:
    run = run_once(tmp_path, "hang", timeout_s=0.5)
    assert (run.ending, run.reasons[0]) == ("timed-out", "it took longer than 0.5 s")


def test_a_question_is_cancelled_so_that_nothing_hangs(tmp_path: Path) -> None:
    assert run_once(tmp_path, "ask").has_passed


@pytest.mark.requirement("certify:resume:author")
@pytest.mark.parametrize(
    ("arm", "reasons"),
    [
        ("pi", ()),
        ("pi-vcc", ()),
        ("fabric", ("the summary was written by Pi's own model and not by Fabric",)),
    ],
)
def test_a_summary_by_somebody_else_fails_the_arm_before_the_resume(
    tmp_path: Path, arm: ArmName, reasons: tuple[str, ...]
) -> None:
    run = run_once(tmp_path, "work", arm=arm)
    assert run.reasons[: len(reasons) or None] == reasons
    assert run.usd == (0 if reasons else 0.5)
    assert run.summary_bytes == len("Short.")


@pytest.mark.requirement("certify:resume:key")
def test_a_compaction_that_was_cancelled_is_told_with_its_cause(tmp_path: Path) -> None:
    run = run_once(tmp_path, "decline", arm="fabric")
    cause = f"Fabric did not compact: nothing new since [{KEY_ENV}]."
    assert run.reasons[0] == f"Pi refused compact: Compaction cancelled ({cause})"
    assert run.usd == 0


def test_a_pi_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    bench = Bench(
        gate=fake_bench("work").gate,
        pi=(str(tmp_path / "no-pi"),),
        node=install_pi.node(),
        environ=os.environ,
        timeout_s=30,
        scrub=Scrubber(KEY_ENV, KEY),
        clock=FakeClock(),
    )
    one = OneRun(bench, Slot("mine", 1, "baseline"), own_fixture(tmp_path), tmp_path / "run")
    run = anyio.run(one.make)
    assert run.ending == "refused"
    assert "No such file" in run.reasons[0]
