"""The one way to start another process.

A child is a tree: it leads its own session, is ended by a ladder of bounded steps (stdin closed, TERM,
KILL), and is gone when its context is left. Nothing else in this package starts processes.
"""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from subprocess import DEVNULL, PIPE  # noqa: TID251 - only the constants; this module is the owner
from typing import IO, TypeVar

import anyio
import psutil
from anyio.abc import AsyncResource, Process

__all__ = ["DEVNULL", "PIPE", "child_process", "end_tree", "inherited_environment", "signal_tree"]

T = TypeVar("T")

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
async def child_process(  # noqa: PLR0913 - all but argv are keywords with defaults
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: int | IO[bytes] = PIPE,
    stdout: int | IO[bytes] = PIPE,
    stderr: int | IO[bytes] = DEVNULL,
    grace_s: float = STEP_GRACE_S,
    spare_background: bool = False,
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
        spare_background: True leaves what the child started in the background alone when the child
            itself has ended before the block is left, as a shell does.

    Raises:
        OSError: If the program cannot be started.
    """
    process: Process | None = None
    # Shielded: cancelled half-way, asyncio would kill the child alone and leave its tree behind.
    with anyio.CancelScope(shield=True):
        process = await anyio.open_process(
            list(argv),
            cwd=cwd,
            env=inherited_environment() if env is None else env,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
    assert process is not None
    try:
        yield process
    finally:
        with anyio.CancelScope(shield=True):
            if spare_background and process.returncode is not None:
                await _close_pipes(process)
            else:
                await end_tree(process, grace_s=grace_s)


async def end_tree(process: Process, *, grace_s: float = STEP_GRACE_S) -> None:
    """End a child and everything below it: close stdin, then TERM, then KILL, each step bounded.

    A child without a stdin pipe gets TERM at once. Descendants that left the group are followed as
    long as a living chain of parents leads to them; a daemon that cut the chain earlier stays.
    """
    descendants: set[psutil.Process] = set()
    polite = () if process.stdin is None else (None,)
    await _close(process.stdin)
    for step in (*polite, signal.SIGTERM, signal.SIGKILL):
        if process.returncode is None:
            descendants |= await _off_loop(partial(_descendants, process.pid))
        if step is not None:
            await _off_loop(partial(_signal, process.pid, descendants, step))
        if await _wait_gone(process, grace_s):
            break
    # What outlived its leader holds our pipes; nothing of a child may stay.
    await _off_loop(partial(_signal, process.pid, descendants, signal.SIGKILL))
    await _close_pipes(process)


def signal_tree(pid: int, number: int) -> None:
    """Signal a session leader's group and the descendants that left it; a gone process is no error.

    Blocking: reads the process table.
    """
    _signal(pid, _descendants(pid), number)


def _descendants(pid: int) -> set[psutil.Process]:
    with suppress(psutil.Error):
        return set(psutil.Process(pid).children(recursive=True))
    return set()


def _signal(pid: int, descendants: Collection[psutil.Process], number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
    for descendant in descendants:
        # psutil compares start times: a recycled pid is left alone.
        with suppress(psutil.Error):
            descendant.send_signal(number)


async def _off_loop(work: Callable[[], T]) -> T:
    # A limiter of its own: ending a tree must not queue behind file work.
    return await anyio.to_thread.run_sync(work, limiter=anyio.CapacityLimiter(1))


async def _wait_gone(process: Process, grace_s: float) -> bool:
    # Polling and not `wait()`: that also waits for the pipes, which a grandchild may hold.
    with anyio.move_on_after(grace_s):
        while process.returncode is None or (  # noqa: ASYNC110 - no event for it
            _has_group(process.pid) and await _off_loop(partial(_has_living_group, process.pid))
        ):
            await anyio.sleep(POLL_S)
        return True
    return False


def _has_group(pid: int) -> bool:
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _has_living_group(pid: int) -> bool:
    """True while a process of the group runs; one that waits to be reaped by its parent does not."""
    for process in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError, PermissionError):
            if os.getpgid(process.pid) == pid and process.status() != psutil.STATUS_ZOMBIE:
                return True
    return False


async def _close_pipes(process: Process) -> None:
    for stream in (process.stdin, process.stdout, process.stderr):
        await _close(stream)
    # anyio leaves the descriptors to the transport, and that waits for the other end, which a process
    # that was spared may hold for ever. Neither library has a public way to say so.
    transport = getattr(getattr(process, "_process", None), "_transport", None)
    if isinstance(transport, asyncio.SubprocessTransport):
        transport.close()


async def _close(stream: AsyncResource | None) -> None:
    if stream is not None:
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await stream.aclose()
