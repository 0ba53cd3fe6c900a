import math

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.clock import Deadline, FakeClock, SystemClock

# Whole multiples of 1/8 s add up exactly in binary floating point.
seconds = st.integers(0, 8_000).map(lambda eighths: eighths / 8)


def test_a_fake_clock_moves_only_when_it_is_told() -> None:
    clock = FakeClock(wall_ms=1_000)
    clock.advance(2.5)

    assert (clock.monotonic(), clock.wall_ms()) == (2.5, 3_500)


def test_the_machines_monotonic_clock_never_goes_back() -> None:
    clock = SystemClock()
    first = clock.monotonic()

    assert clock.monotonic() >= first


@given(seconds, st.lists(seconds))
def test_what_remains_is_the_limit_less_the_time_used_and_never_negative(
    limit_s: float, steps: list[float]
) -> None:
    clock = FakeClock()
    deadline = Deadline(limit_s, clock)
    for step in steps:
        clock.advance(step)

    assert deadline.remaining_s == max(0, limit_s - sum(steps))
    assert deadline.is_expired == (limit_s <= sum(steps))


def test_an_extension_counts_from_the_start() -> None:
    clock = FakeClock()
    deadline = Deadline(10, clock)
    clock.advance(4)
    deadline.extend_to(20)

    assert (deadline.limit_s, deadline.remaining_s) == (20, 16)


def test_an_extension_to_less_changes_nothing() -> None:
    deadline = Deadline(10, FakeClock())
    deadline.extend_to(5)

    assert deadline.limit_s == 10


def test_an_expired_deadline_can_be_extended() -> None:
    clock = FakeClock()
    deadline = Deadline(1, clock)
    clock.advance(2)
    assert deadline.is_expired
    deadline.extend_to(3)

    assert deadline.remaining_s == 1


def test_nothing_expires_during_a_pause() -> None:
    clock = FakeClock()
    deadline = Deadline(1, clock)
    with deadline.paused():
        clock.advance(100)
        assert deadline.remaining_s == math.inf
        assert not deadline.is_expired

    assert deadline.remaining_s == 1


def test_nested_pauses_are_charged_once() -> None:
    clock = FakeClock()
    deadline = Deadline(10, clock)
    clock.advance(1)
    with deadline.paused():
        clock.advance(2)
        with deadline.paused():
            clock.advance(3)
        clock.advance(4)
        assert deadline.remaining_s == math.inf
    clock.advance(5)

    assert deadline.remaining_s == 4


def test_a_pause_that_ends_in_an_error_ends() -> None:
    deadline = Deadline(10, FakeClock())
    with pytest.raises(RuntimeError), deadline.paused():
        raise RuntimeError

    assert deadline.remaining_s == 10


@pytest.mark.anyio
async def test_waiting_for_an_expired_deadline_returns_at_once() -> None:
    with anyio.fail_after(5):
        await Deadline(0, FakeClock()).wait_expired()


@pytest.mark.anyio
async def test_a_waiter_follows_extensions_and_pauses() -> None:
    clock = FakeClock()
    deadline = Deadline(1, clock)
    ended = anyio.Event()

    async def wait() -> None:
        await deadline.wait_expired()
        ended.set()

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            with deadline.paused():
                clock.advance(10)
                await anyio.wait_all_tasks_blocked()
                assert not ended.is_set()
            deadline.extend_to(5)
            await anyio.wait_all_tasks_blocked()
            assert not ended.is_set()
            clock.advance(6)
            with deadline.paused():
                pass
            await ended.wait()
