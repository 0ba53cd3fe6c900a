"""Private folders: the compiler reads and writes files, and nobody else should see a program's."""

import shutil
import tempfile
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from pi_fabric.runtime.typescript.run import CompilerMissing


@asynccontextmanager
async def private_folder(fill: Callable[[Path], None]) -> AsyncGenerator[Path]:
    """A folder of mode 0700 that is removed when the block is left.

    Args:
        fill: Puts the first files there; called in a thread.

    Raises:
        CompilerMissing: If no folder can be made or filled: whatever the program, nothing can be compiled.
    """
    try:
        folder = await anyio.to_thread.run_sync(_make, fill)
    except OSError as error:
        reason = f"no temporary folder can be written ({error.strerror or error})"
        raise CompilerMissing(f"{reason}; make room, or set TMPDIR to a folder that has some") from error
    try:
        yield folder
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(_remove, folder)


def _make(fill: Callable[[Path], None]) -> Path:
    # Resolved, because a server compares paths: on some systems the temporary folder is a link.
    folder = Path(tempfile.mkdtemp(prefix="pi-fabric-")).resolve()
    try:
        fill(folder)
    except BaseException:
        _remove(folder)
        raise
    return folder


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
