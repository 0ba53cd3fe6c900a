"""Run a compiler once: bounded in time and output, gone afterwards."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import anyio

from pi_fabric.base.process import child_process, inherited_environment

# Go's collector works harder from here on; what goes past it anyway is ended by the memory watch.
_SOFT_MEMORY = {"GOMEMLIMIT": "512MiB"}

# It has nothing to save: files of a run that was given up are thrown away.
GRACE_S: Final = 0.5


class CompilerFailed(Exception):
    """The compiler did not do its work; the message says why. Never leaves this package."""


def compiler_environment() -> dict[str, str]:
    """Environment of every compiler process."""
    return inherited_environment(_SOFT_MEMORY)


async def output_of(argv: Sequence[str], *, cwd: Path | None, limit_s: float, max_bytes: int) -> str:
    """Run `argv` to its end and return what it printed, whatever its exit code.

    Raises:
        CompilerFailed: If it cannot start, or goes past the time or the bytes it may take.
    """
    kept = bytearray()
    try:
        with anyio.fail_after(limit_s):
            async with child_process(argv, cwd=cwd, env=compiler_environment(), grace_s=GRACE_S) as process:
                assert process.stdin is not None
                assert process.stdout is not None
                await process.stdin.aclose()
                async for chunk in process.stdout:
                    kept += chunk
                    if len(kept) > max_bytes:
                        raise CompilerFailed(f"the compiler printed more than {max_bytes:,} bytes")
                await process.wait()
    except TimeoutError:
        raise CompilerFailed(f"the compiler took longer than {limit_s:g} s") from None
    except OSError as error:
        raise CompilerFailed(f"the compiler could not be started: {error.strerror or error}") from error
    return kept.decode("utf-8", "replace")
