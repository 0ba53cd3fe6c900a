"""The whole benchmark: check the fixtures for free, then run arm after arm while the budget lasts."""

import tempfile
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import anyio
import anyio.to_thread

from pi_fabric import __version__
from pi_fabric.base.errors import ConfigError
from pi_fabric.base.process import inherited_environment
from pi_fabric.certify.resume.arms import ArmName
from pi_fabric.certify.resume.fixture import DESCRIPTION, Fixture
from pi_fabric.certify.resume.one_run import Bench, OneRun
from pi_fabric.certify.resume.oracle import missing_program, score
from pi_fabric.certify.resume.results import Report, Run, Stopped
from pi_fabric.certify.resume.schedule import Slot, schedule
from pi_fabric.certify.resume.workplace import copy_repo, remove_tree

Progress: TypeAlias = Callable[[int, int, Slot, float], None]
"""Told before each run: how many are done, of how many, which is next, and what was spent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be run."""

    fixtures: Sequence[Fixture]
    arms: tuple[ArmName, ...]
    repeats: int
    seed: int
    pi_version: str

    def slots(self) -> tuple[Slot, ...]:
        """Every run, in order."""
        names = [fixture.name for fixture in self.fixtures]
        return schedule(names, self.arms, repeats=self.repeats, seed=self.seed)


async def run_benchmark(
    plan: Plan, bench: Bench, *, stop: anyio.Event | None = None, progress: Progress | None = None
) -> Report:
    """Make every run that the budget allows.

    What was spent is looked at before each run: one that has begun is never stopped for its cost. All
    files lie in a temporary folder that is gone at the end, whatever the end is.

    Args:
        plan: What is to be run.
        bench: How.
        stop: Ends the benchmark when it is set; the run under way is given up.
        progress: Told before each run.

    Raises:
        ConfigError: If a fixture passes before anything was done, or its oracle cannot be started; nothing
            was spent then.
        OSError: If there is no place for the files.
    """
    slots = plan.slots()
    async with _temporary_folder() as root:
        for fixture in plan.fixtures:
            await _check_undone(fixture, bench, root / f"check-{fixture.name}")
        runs, spent_usd, stopped = await _run_all(slots, plan, bench, root=root, stop=stop, progress=progress)
    has_left = await anyio.to_thread.run_sync(root.exists)
    gate = bench.gate
    return Report(
        provider=gate.provider,
        model=gate.model,
        key_env=gate.key_env,
        pi_version=plan.pi_version,
        fabric_version=__version__,
        pi_vcc=gate.pi_vcc.name if gate.pi_vcc is not None and "pi-vcc" in plan.arms else "",
        fixtures={fixture.name: fixture.title for fixture in plan.fixtures},
        arms=plan.arms,
        repeats=plan.repeats,
        seed=plan.seed,
        timeout_s=bench.timeout_s,
        max_usd=gate.max_usd,
        spent_usd=spent_usd,
        stopped=stopped,
        runs=runs,
        not_run=slots[len(runs) :],
        left_behind=str(root) if has_left else "",
    )


async def _run_all(
    slots: Sequence[Slot],
    plan: Plan,
    bench: Bench,
    *,
    root: Path,
    stop: anyio.Event | None,
    progress: Progress | None,
) -> tuple[list[Run], float, Stopped | None]:
    """Runs, what was spent, and why there are no more of them."""
    fixtures = {fixture.name: fixture for fixture in plan.fixtures}
    runs: list[Run] = []
    spent_usd = 0.0
    for number, slot in enumerate(slots):
        if spent_usd >= bench.gate.max_usd:
            return runs, spent_usd, "budget"
        if progress is not None:
            progress(number, len(slots), slot, spent_usd)
        folder = root / f"{number:04d}"
        one = OneRun(bench, slot, fixtures[slot.fixture], folder)
        run = await _unless(stop, one)
        if run is None:
            return runs, spent_usd + (await one.observed()).usd, "interrupted"
        runs.append(run)
        spent_usd += run.usd
        await anyio.to_thread.run_sync(remove_tree, folder)
    return runs, spent_usd, None


async def _unless(stop: anyio.Event | None, one: OneRun) -> Run | None:
    """The run, or None when `stop` was set first."""
    run: Run | None = None
    async with anyio.create_task_group() as tasks:
        if stop is not None:
            tasks.start_soon(_cancel_when, stop, tasks.cancel_scope)
        run = await one.make()
        tasks.cancel_scope.cancel()
    return run


async def _cancel_when(stop: anyio.Event, scope: anyio.CancelScope) -> None:
    await stop.wait()
    scope.cancel()


async def _check_undone(fixture: Fixture, bench: Bench, folder: Path) -> None:
    """A task that is done before it begins passes in every arm, and one without its oracle in none."""
    await anyio.to_thread.run_sync(copy_repo, fixture, folder)
    environment: Mapping[str, str] = inherited_environment({"HOME": str(folder.parent)})
    missing = await anyio.to_thread.run_sync(missing_program, fixture, folder, bench.node)
    if missing:
        raise ConfigError(
            fixture.folder / DESCRIPTION, f"there is no program {missing}", pointer="$.oracle[0]"
        )
    if not await score(fixture, folder, node=bench.node, environment=environment):
        reason = "the repository passes before anything was done, so every arm would"
        raise ConfigError(fixture.folder / DESCRIPTION, reason, pointer="$.oracle")
    await anyio.to_thread.run_sync(remove_tree, folder)


@asynccontextmanager
async def _temporary_folder() -> AsyncGenerator[Path]:
    # By its real path: Pi names sessions by the folder that it works in.
    name = await anyio.to_thread.run_sync(lambda: tempfile.mkdtemp(prefix="pi-fabric-resume-"))
    folder = await anyio.to_thread.run_sync(Path(name).resolve)
    try:
        yield folder
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(remove_tree, folder)
