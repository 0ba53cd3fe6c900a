"""Time, injected: clocks and the extendable deadline of a run.

Nothing here sleeps on its own account; a test moves a `FakeClock` and nothing else.
"""

import math
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Protocol

import anyio


class Clock(Protocol):
    """Where the program reads time from."""

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back."""
        ...

    def wall_ms(self) -> int:
        """Milliseconds since the Unix epoch."""
        ...


class SystemClock:
    """The machine's clocks."""

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back."""
        return time.monotonic()

    def wall_ms(self) -> int:
        """Milliseconds since the Unix epoch."""
        return time.time_ns() // 1_000_000


class FakeClock:
    """A clock that only a test moves."""

    def __init__(self, *, wall_ms: int = 0) -> None:
        self._now_s = 0.0
        self._wall_ms = wall_ms

    def monotonic(self) -> float:
        """Seconds that `advance` has added up to."""
        return self._now_s

    def wall_ms(self) -> int:
        """The wall time given at the start plus what `advance` added."""
        return self._wall_ms + int(self._now_s * 1000)

    def advance(self, seconds: float) -> None:
        """Move both clocks forward."""
        self._now_s += seconds


class Deadline:
    """When one run must end: can be extended, and stands still while the user is asked.

    The limit counts from construction. Pauses nest; while one is open nothing expires.
    """

    def __init__(self, limit_s: float, clock: Clock) -> None:
        self._clock = clock
        self._started_s = clock.monotonic()
        self._limit_s = limit_s
        self._paused_s = 0.0
        self._pauses = 0
        self._pause_began_s = 0.0
        self._changed = anyio.Event()

    @property
    def limit_s(self) -> float:
        """Seconds the run may take, pauses not counted."""
        return self._limit_s

    @property
    def remaining_s(self) -> float:
        """Seconds left, never negative; infinite while paused."""
        if self._pauses:
            return math.inf
        return max(0.0, self._limit_s - self._used_s())

    @property
    def is_expired(self) -> bool:
        """True once no time is left."""
        return self.remaining_s <= 0

    def extend_to(self, limit_s: float) -> None:
        """Raise the limit to `limit_s` from the start; a smaller value changes nothing."""
        if limit_s > self._limit_s:
            self._limit_s = limit_s
            self._wake()

    def allow(self, seconds: float, *, at_most_s: float = math.inf) -> None:
        """See to it that at least `seconds` are left from now on, within a limit of `at_most_s` in all."""
        self.extend_to(min(self._used_s() + seconds, at_most_s))

    @contextmanager
    def paused(self) -> Generator[None]:
        """Charge nothing to the run while the block is open."""
        if self._pauses == 0:
            self._pause_began_s = self._clock.monotonic()
        self._pauses += 1
        self._wake()
        try:
            yield
        finally:
            self._pauses -= 1
            if self._pauses == 0:
                self._paused_s += self._clock.monotonic() - self._pause_began_s
            self._wake()

    async def wait_expired(self) -> None:
        """Return when no time is left; follows extensions and pauses."""
        while (remaining := self.remaining_s) > 0:
            with anyio.move_on_after(remaining):
                await self._changed.wait()

    def _used_s(self) -> float:
        now_s = self._pause_began_s if self._pauses else self._clock.monotonic()
        return now_s - self._started_s - self._paused_s

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()
