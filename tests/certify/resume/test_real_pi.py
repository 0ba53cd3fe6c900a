"""The benchmark in the real Pi, both versions, with a scripted model. Each run starts Pi up to twice."""

import json
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import anyio
import pytest

from pi_fabric.certify.resume.arms import ARM_NAMES, ArmName
from pi_fabric.certify.resume.benchmark import Plan, run_benchmark
from pi_fabric.certify.resume.fixture import BUILT_IN, load_fixture
from pi_fabric.certify.resume.one_run import RESUME_PROMPT
from pi_fabric.certify.resume.results import Report
from tests.certify.resume.resume_lab import (
    ANSWER_USD,
    KEY,
    KEY_ENV,
    Worker,
    bench_of,
    done_files,
    is_summary_request,
    last_text,
    writing,
)
from tools import install_pi
from tools.scripted_model import Reply

pytestmark = pytest.mark.pi
DATA = Path(__file__).parent / "data"
FACT = "a burst of 37 requests"


@pytest.fixture
def worker() -> Iterator[Worker]:
    with Worker() as served:
        yield served


def measure(
    worker: Worker,
    folder: Path,
    version: str,
    arms: tuple[ArmName, ...],
    *,
    vcc: str = "vcc.js",
    timeout_s: float = 60,
) -> Report:
    bench = bench_of(worker, folder, version, timeout_s=timeout_s, pi_vcc=DATA / vcc)
    fixture = load_fixture(BUILT_IN / "tenant-limits")
    plan = Plan(fixtures=[fixture], arms=arms, repeats=1, seed=0, pi_version=version)
    return anyio.run(run_benchmark, plan, bench)


@pytest.mark.requirement(
    "certify:resume:arms", "certify:resume:author", "certify:resume:prompt", "certify:resume:models"
)
def test_every_arm_resumes_and_finishes_the_task(worker: Worker, tmp_path: Path, pi_version: str) -> None:
    report = measure(worker, tmp_path, pi_version, ARM_NAMES)
    assert {run.slot.arm: run.reasons for run in report.runs} == dict.fromkeys(ARM_NAMES, ())
    runs = {run.slot.arm: run for run in report.runs}
    # The agent folder names the variable alone; Pi has found its value.
    assert set(worker.authorizations) == {f"Bearer {KEY}"}
    requests = dict(zip((run.slot.arm for run in report.runs), worker.resumed, strict=True))
    sizes = {arm: len(json.dumps(request["messages"])) for arm, request in requests.items()}
    for arm, request in requests.items():
        assert last_text(request) == RESUME_PROMPT
        assert [tool["function"]["name"] for tool in request["tools"]] == ["fabric_exec"]
        assert (runs[arm].summary_bytes is None) is (arm == "baseline")
        assert arm == "baseline" or sizes[arm] < sizes["baseline"] / 2
    assert FACT in json.dumps(requests["baseline"]["messages"])
    assert "A summary by the stand-in for pi-vcc." in json.dumps(requests["pi-vcc"]["messages"])
    assert "A summary by the model." in json.dumps(requests["pi"]["messages"])
    summaries = sum(map(is_summary_request, worker.requests))
    assert summaries > 0
    # 0.80.6 does not record what its own summaries cost, and says so.
    recorded = summaries if runs["pi"].is_cost_complete else 0
    assert report.is_cost_complete is (pi_version != "0.80.6")
    assert report.spent_usd == pytest.approx(ANSWER_USD * (2 * len(ARM_NAMES) + recorded))
    assert all(run.tool_calls == 1 and run.nested_calls == 2 for run in report.runs)


@pytest.mark.requirement("certify:resume:failure", "certify:resume:forbidden", "certify:resume:key")
def test_a_crash_in_one_arm_leaves_the_others_and_a_spoilt_task_fails(
    worker: Worker, tmp_path: Path, pi_version: str
) -> None:
    spoilt = done_files() | {"config/legacy.json": "{}", "src/limits.mjs": f"// {KEY}\n"}
    recall = 'await memory.recall({ query: "orchid" });'
    worker.work = lambda _: writing(spoilt, before=recall)
    report = measure(worker, tmp_path, pi_version, ("baseline", "pi-vcc"), vcc="vcc_crash.js")
    runs = {run.slot.arm: run for run in report.runs}
    assert runs["pi-vcc"].ending == "crashed"
    assert runs["pi-vcc"].reasons[0] == f"Pi ended (exit code 7): vcc: cannot go on with [{KEY_ENV}]"
    assert runs["baseline"].ending == "settled"
    assert runs["baseline"].reasons[0] == "config/legacy.json: must not change, but did"
    assert runs["baseline"].recall_calls == 1
    assert "src/limits.mjs exports no allow" in runs["baseline"].reasons[1]
    assert KEY not in repr(report)


@pytest.mark.requirement("certify:resume:failure")
def test_a_model_that_never_answers_ends_at_the_time_limit(worker: Worker, tmp_path: Path) -> None:
    is_over = Event()
    worker.work = lambda _: Reply(text="late") if is_over.wait(60) else Reply()
    try:
        report = measure(worker, tmp_path, install_pi.TARGET, ("baseline",), timeout_s=3)
    finally:
        is_over.set()
    (run,) = report.runs
    assert (run.ending, run.reasons[0]) == ("timed-out", "it took longer than 3 s")
    assert report.left_behind == ""
