import os
import signal
import sys

import anyio
import psutil
import pytest

from pi_fabric.base.deathwatch import DeathWatch
from pi_fabric.base.process import DEVNULL, PIPE, child_process

pytestmark = pytest.mark.anyio
# Starts a command without a pipe on its input, says its pid, and waits to be killed.
OWNER = """
import anyio
from pi_fabric.base.deathwatch import DeathWatch
from pi_fabric.base.process import DEVNULL, child_process

async def main():
    async with DeathWatch() as deaths:
        async with child_process(["sleep", "600"], stdin=DEVNULL) as first, deaths.over(first.pid):
            pass
        command = ["/bin/sh", "-c", "sleep 600 & wait"]
        async with child_process(command, stdin=DEVNULL) as second, deaths.over(second.pid):
            print(first.pid, second.pid, flush=True)
            await anyio.sleep_forever()

anyio.run(main)
"""


def members(group: int) -> list[int]:
    found: list[int] = []
    for process in psutil.process_iter(["status"]):
        try:
            if os.getpgid(process.pid) == group and process.info["status"] != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except ProcessLookupError:
            continue
    return found


@pytest.mark.requirement("process:owner:killed")
async def test_a_killed_owner_takes_its_commands_with_it() -> None:
    with anyio.fail_after(30):
        async with child_process([sys.executable, "-c", OWNER], stdin=DEVNULL, stdout=PIPE) as owner:
            assert owner.stdout is not None
            _, group = map(int, (await owner.stdout.receive()).split())
            while len(members(group)) != 2:  # noqa: ASYNC110 - the shell starts its own in its time
                await anyio.sleep(0.02)
            os.kill(owner.pid, signal.SIGKILL)
            while members(group):  # noqa: ASYNC110 - other processes' state
                await anyio.sleep(0.02)


async def test_a_group_that_is_no_longer_watched_over_is_left_alone() -> None:
    with anyio.fail_after(30):
        async with child_process(["sleep", "600"], stdin=DEVNULL) as process:
            async with DeathWatch() as deaths, deaths.over(process.pid):
                pass
            assert process.returncode is None
            assert members(process.pid) == [process.pid]


async def test_a_watch_that_is_not_needed_starts_nothing() -> None:
    before = psutil.Process().children()
    async with DeathWatch():
        assert psutil.Process().children() == before
