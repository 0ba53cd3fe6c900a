"""Waiting for whichever of several things comes first."""

from collections.abc import Awaitable, Callable

import anyio


async def first_of(*waits: Callable[[], Awaitable[None]]) -> None:
    """Return when the first of `waits` does; the others are cancelled."""

    async def wait_then_cancel(wait: Callable[[], Awaitable[None]]) -> None:
        await wait()
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for wait in waits:
            group.start_soon(wait_then_cancel, wait)
