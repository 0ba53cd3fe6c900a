"""Snapshots of a running program."""

import anyio
import pytest

from pi_fabric.base.jsonvalue import UNDEFINED, JsonObject
from pi_fabric.host.pi.progress import Progress
from pi_fabric.protocol.actions import Outcome
from pi_fabric.protocol.events import CallEnded, CallStarted, LogWritten, PhaseStarted, ProgressReported

pytestmark = pytest.mark.anyio


def started(sequence: int) -> CallStarted:
    return CallStarted(sequence=sequence, call_id=f"fabric_{sequence}", ref=f"pi.read{sequence}", args={})


def ended(sequence: int, outcome: Outcome = "succeeded") -> CallEnded:
    return CallEnded(sequence=sequence, outcome=outcome, stage=None, cause=None, error=None, result=UNDEFINED)


def test_a_snapshot_sums_up_what_has_happened() -> None:
    progress = Progress()
    for event in (
        PhaseStarted(index=0, name="Search"),
        ProgressReported(message="half way"),
        *(LogWritten(text=f"line {n}") for n in range(9)),
        *(started(n) for n in range(10)),
        ended(0),
        ended(1, "failed"),
    ):
        progress.sink(event)
    snapshot = progress.snapshot()
    assert snapshot["content"][0]["text"].splitlines() == [
        "phase: Search",
        "half way",
        "line 6",
        "line 7",
        "line 8",
        f"2 calls done, 1 failed; running: {', '.join(f'pi.read{n}' for n in range(2, 6))} and 4 more",
    ]
    assert snapshot["details"]["done"] == 2


async def test_a_burst_of_events_is_one_snapshot_and_nothing_is_shown_after_the_end() -> None:
    progress = Progress()
    shown: list[JsonObject] = []
    first = anyio.Event()

    async def show(snapshot: JsonObject) -> None:
        shown.append(snapshot)
        first.set()

    async with progress.shown(show, interval_s=3_600):
        for number in range(1_000):
            progress.sink(started(number))
        await first.wait()
        progress.sink(ended(0))
    progress.sink(ended(1))
    await anyio.lowlevel.checkpoint()
    assert len(shown) == 1
    assert len(shown[0]["details"]["running"]) == 4


@pytest.mark.requirement("pi:progress:every-update")
async def test_an_interval_of_zero_shows_each_change() -> None:
    progress = Progress()
    shown: list[JsonObject] = []
    arrived = anyio.Event()

    async def show(snapshot: JsonObject) -> None:
        nonlocal arrived
        shown.append(snapshot)
        arrived.set()
        arrived = anyio.Event()

    with anyio.fail_after(5):
        async with progress.shown(show, interval_s=0):
            for number in range(4):
                progress.sink(started(number))
                await arrived.wait()
    assert [len(snapshot["details"]["running"]) for snapshot in shown] == [1, 2, 3, 4]
