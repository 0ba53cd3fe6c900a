"""The end of Pi is the end of the sidecar, also of one whose loop hangs."""

import sys

import anyio
import pytest

from pi_fabric.base.process import child_process
from pi_fabric.host.pi.end_watch import EXIT_CODE
from tests.host.pi.pi_lab import SOURCES

HANGS = """
import time
from pi_fabric.host.pi.end_watch import watch_end
watch_end(0, grace_s=0.1)
print("watching", flush=True)
time.sleep(300)
"""


@pytest.mark.anyio
@pytest.mark.requirement("pi:exit:hung")
async def test_a_process_that_hangs_ends_after_the_other_side_has_closed() -> None:
    argv = [sys.executable, "-c", HANGS]
    with anyio.fail_after(20):
        async with child_process(argv, env={"PYTHONPATH": SOURCES}) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            await process.stdout.receive()
            await process.stdin.aclose()
            assert await process.wait() == EXIT_CODE
