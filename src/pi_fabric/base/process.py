"""The one way to start another process.

A child is a tree: it leads its own session, is ended by a ladder of bounded steps (stdin closed, TERM,
KILL), and is gone when its context is left. Nothing else in this package starts processes.
"""

import os
import signal
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE  # noqa: TID251 - only the constants; this module is the owner
from typing import IO

import anyio
import psutil
from anyio.abc import Process

__all__ = ["DEVNULL", "PIPE", "child_process", "end_tree", "inherited_environment", "signal_tree"]

# What a helper process needs to find its home, its libraries and its language; no secrets.
INHERITED_VARIABLES = (
    "HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER", "XDG_CACHE_HOME",
)  # fmt: skip
# How long a child may take over each step of the ladder before the next one.
STEP_GRACE_S = 2.0
# A process that ended is noticed within this time even while a grandchild holds its pipes.
POLL_S = 0.01


def inherited_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The allow-listed part of our environment, with `extra` over it."""
    kept = {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ}
    return kept | dict(extra or {})


@asynccontextmanager
async def child_process(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: int | IO[bytes] = PIPE,
    stdout: int | IO[bytes] = PIPE,
    stderr: int | IO[bytes] = DEVNULL,
    grace_s: float = STEP_GRACE_S,
) -> AsyncGenerator[Process]:
    """Run `argv` for as long as the block is open; the whole tree is gone afterwards.

    Args:
        argv: Program and arguments; never a shell line.
        cwd: Working folder; None keeps ours.
        env: Whole environment; None gives the allow-listed part of ours.
        stdin: As for `subprocess`; the pipe is the child's sign of life of its parent.
        stdout: As for `subprocess`.
        stderr: As for `subprocess`.
        grace_s: Seconds for each step of the ladder.

    Raises:
        OSError: If the program cannot be started.
    """
    process = await anyio.open_process(
        list(argv),
        cwd=cwd,
        env=inherited_environment() if env is None else env,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with anyio.CancelScope(shield=True):
            await end_tree(process, grace_s=grace_s)


async def end_tree(process: Process, *, grace_s: float = STEP_GRACE_S) -> None:
    """End a child and everything below it: close stdin, then TERM, then KILL, each step bounded."""
    if process.stdin is not None:
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await process.stdin.aclose()
    for step in (None, signal.SIGTERM, signal.SIGKILL):
        if step is not None:
            signal_tree(process.pid, step)
        if await _wait_gone(process, grace_s):
            break
    # What outlived its leader in the same group holds our pipes; nothing of a child may stay.
    signal_tree(process.pid, signal.SIGKILL)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                await stream.aclose()


def signal_tree(pid: int, number: int) -> None:
    """Signal a session leader's group and the descendants that left it; a gone process is no error."""
    descendants: list[psutil.Process] = []
    with suppress(psutil.Error):
        descendants = psutil.Process(pid).children(recursive=True)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
    for descendant in descendants:
        with suppress(psutil.Error):
            descendant.send_signal(number)


async def _wait_gone(process: Process, grace_s: float) -> bool:
    # Polling and not `wait()`: that also waits for the pipes, which a grandchild may hold.
    with anyio.move_on_after(grace_s):
        while process.returncode is None:  # noqa: ASYNC110 - asyncio offers no event without the pipes
            await anyio.sleep(POLL_S)
    return process.returncode is not None
