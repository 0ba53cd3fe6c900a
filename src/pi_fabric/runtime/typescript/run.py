"""Run a compiler once: bounded in time, memory and output, gone afterwards."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import anyio
from anyio.abc import Process

from pi_fabric.base.process import child_process, inherited_environment
from pi_fabric.runtime.typescript.memory import LIMIT_BYTES, WATCH_INTERVAL_S, end_if_outgrown

# Go's collector works harder from here on; what goes past it anyway is ended by the memory watch.
_SOFT_MEMORY: Final = {"GOMEMLIMIT": "512MiB"}
# It has nothing to save: files of a run that was given up are thrown away.
GRACE_S: Final = 0.5


class CompilerFailed(Exception):
    """The compiler did not do its work; the message says why. Never leaves this package."""


class CompilerMissing(CompilerFailed):
    """The compiler cannot be started at all, whatever the program."""


def compiler_environment() -> dict[str, str]:
    """Environment of every compiler process."""
    return inherited_environment(_SOFT_MEMORY)


async def output_of(argv: Sequence[str], *, cwd: Path | None, limit_s: float, max_bytes: int) -> str:
    """Run `argv` to its end and return what it printed, whatever its exit code.

    Raises:
        CompilerMissing: If it cannot start.
        CompilerFailed: If it goes past the time, memory or bytes that it may take.
    """
    try:
        with anyio.fail_after(limit_s):
            async with child_process(argv, cwd=cwd, env=compiler_environment(), grace_s=GRACE_S) as process:
                printed, problem = await _read(process, max_bytes)
    except TimeoutError:
        raise CompilerFailed(f"the compiler took longer than {limit_s:g} s") from None
    except OSError as error:
        raise CompilerMissing(f"the compiler could not be started: {error.strerror or error}") from error
    if problem is not None:
        raise CompilerFailed(problem)
    return printed


async def _read(process: Process, max_bytes: int) -> tuple[str, str | None]:
    """What the process printed, and why it was stopped; None when it ended by itself."""
    assert process.stdin is not None
    assert process.stdout is not None
    kept = bytearray()
    problem: str | None = None

    async def watch() -> None:
        nonlocal problem
        while problem is None:
            await anyio.sleep(WATCH_INTERVAL_S)
            if await end_if_outgrown(process.pid):
                problem = f"the compiler needed more than {LIMIT_BYTES / 1024**2:g} MiB"

    await process.stdin.aclose()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        async for chunk in process.stdout:
            kept += chunk
            if len(kept) > max_bytes:
                problem = f"the compiler printed more than {max_bytes:,} bytes"
                break
        else:
            await process.wait()
        tasks.cancel_scope.cancel()
    return kept.decode("utf-8", "replace"), problem
