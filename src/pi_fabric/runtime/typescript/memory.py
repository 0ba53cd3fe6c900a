"""How much memory a compiler process may take.

The resident set is watched, because Go reserves over a gigabyte of address space at its start: a limit on
that would be no limit on memory.
"""

import signal
from typing import Final

import anyio
import psutil

from pi_fabric.base.process import signal_tree

# Two megabytes of source need half of this.
LIMIT_BYTES: Final = 1024**3
# The heap grows by some 500 MB a second; between two looks it gains a few percent of the limit.
WATCH_INTERVAL_S: Final = 0.05


async def end_if_outgrown(pid: int, limit_bytes: int = LIMIT_BYTES) -> bool:
    """Look once, and kill the process when it holds more than `limit_bytes`; True when it did."""
    if await resident_bytes(pid) <= limit_bytes:
        return False
    await anyio.to_thread.run_sync(signal_tree, pid, signal.SIGKILL)
    return True


async def resident_bytes(pid: int) -> int:
    """Bytes of memory that a process holds now; 0 when it is gone."""
    return await anyio.to_thread.run_sync(_resident_bytes, pid)


def _resident_bytes(pid: int) -> int:
    try:
        return psutil.Process(pid).memory_info().rss
    except psutil.Error:
        return 0
