"""Real processes; `sh` and `sleep` are all that is needed. A sleep of 300 s only ends when it is ended."""

import os
from collections.abc import Sequence

import anyio
import psutil
import pytest
from anyio.abc import Process

from pi_fabric.base.process import DEVNULL, PIPE, child_process, inherited_environment

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABRIC_TEST_SECRET", "s3cret")


def shell(script: str) -> Sequence[str]:
    return ["sh", "-c", script]


async def read_all(process: Process) -> bytes:
    assert process.stdout is not None
    return b"".join([chunk async for chunk in process.stdout])


async def read_line(process: Process) -> str:
    assert process.stdout is not None
    line = b""
    while not line.endswith(b"\n"):
        line += await process.stdout.receive()
    return line.decode().strip()


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def gone(pid: int) -> None:
    """Return when a process is no more than an entry that its new parent has yet to read."""
    while is_running(pid):  # noqa: ASYNC110 - nobody tells when a process of another parent ends
        await anyio.sleep(0.01)


async def test_a_childs_output_and_exit_code_are_there_to_read() -> None:
    with anyio.fail_after(10):
        async with child_process(shell("echo out; exit 3")) as process:
            assert await read_all(process) == b"out\n"
            assert await process.wait() == 3


async def test_a_child_sees_only_the_allow_listed_environment() -> None:
    with anyio.fail_after(10):
        async with child_process(["env"]) as process:
            names = {line.partition("=")[0] for line in (await read_all(process)).decode().splitlines()}

    assert names == set(inherited_environment())
    assert "FABRIC_TEST_SECRET" not in names


async def test_an_environment_that_is_given_is_the_whole_environment() -> None:
    with anyio.fail_after(10):
        async with child_process(["env"], env={"A": "b"} | {"PATH": os.environ["PATH"]}) as process:
            lines = (await read_all(process)).decode().splitlines()

    assert sorted(lines) == ["A=b", f"PATH={os.environ['PATH']}"]


async def test_extra_variables_lie_over_the_inherited_ones() -> None:
    assert inherited_environment({"PATH": "/x", "NEW": "1"}) == inherited_environment() | {
        "PATH": "/x",
        "NEW": "1",
    }


async def test_a_program_that_does_not_exist_is_an_os_error() -> None:
    with pytest.raises(FileNotFoundError):
        async with child_process(["/nowhere/program"]):
            pytest.fail("it cannot have started")


async def test_a_child_that_ends_when_its_input_closes_gets_no_signal() -> None:
    with anyio.fail_after(10):
        async with child_process(["cat"]) as process:
            pass

    assert process.returncode == 0


async def test_a_child_without_an_input_pipe_is_asked_to_end() -> None:
    with anyio.fail_after(10):
        async with child_process(["sleep", "300"], stdin=DEVNULL) as process:
            pass

    assert process.returncode == -15


async def test_a_child_that_ignores_the_request_is_killed() -> None:
    script = "trap '' TERM; echo ready; while :; do sleep 300; done"
    with anyio.fail_after(10):
        async with child_process(shell(script), stdin=DEVNULL, grace_s=0.2) as process:
            await read_line(process)

    assert process.returncode == -9


async def test_a_grandchild_is_gone_when_the_block_is_left() -> None:
    with anyio.fail_after(10):
        async with child_process(shell("sleep 300 & echo $!; wait"), grace_s=0.2) as process:
            grandchild = int(await read_line(process))
        await gone(grandchild)


async def test_a_descendant_in_a_session_of_its_own_is_gone_too() -> None:
    script = "setsid sh -c 'echo $$; sleep 300' & wait"
    with anyio.fail_after(10):
        async with child_process(shell(script), grace_s=0.2) as process:
            runaway = int(await read_line(process))
        await gone(runaway)


async def test_a_grandchild_that_holds_the_pipe_does_not_keep_the_block_open() -> None:
    with anyio.fail_after(10):
        async with child_process(shell("sleep 300 & echo $!"), grace_s=0.2) as process:
            grandchild = int(await read_line(process))
        await gone(grandchild)


async def test_background_work_of_a_child_that_ended_may_be_spared() -> None:
    with anyio.fail_after(10):
        script = "sleep 300 >/dev/null 2>&1 & echo $!"
        async with child_process(shell(script), spare_background=True) as process:
            background = int(await read_line(process))
            assert await process.wait() == 0

    try:
        assert is_running(background)
    finally:
        psutil.Process(background).kill()


async def test_background_work_of_a_child_that_is_still_there_is_never_spared() -> None:
    with anyio.fail_after(10):
        script = "sleep 300 & echo $!; wait"
        async with child_process(shell(script), spare_background=True, grace_s=0.2) as process:
            background = int(await read_line(process))
        await gone(background)


async def test_a_cancelled_block_still_ends_its_tree() -> None:
    grandchild = 0
    with anyio.fail_after(10):
        with anyio.CancelScope() as scope:
            async with child_process(shell("sleep 300 & echo $!; wait"), grace_s=0.2) as process:
                grandchild = int(await read_line(process))
                scope.cancel()
                await anyio.sleep_forever()
        assert grandchild
        await gone(grandchild)


async def test_standard_error_can_be_read_when_it_is_asked_for() -> None:
    with anyio.fail_after(10):
        async with child_process(shell("echo wrong >&2"), stderr=PIPE) as process:
            assert process.stderr is not None
            assert b"".join([chunk async for chunk in process.stderr]) == b"wrong\n"


@pytest.mark.anyio
async def test_a_dead_member_of_the_group_that_nobody_reaped_is_not_waited_for() -> None:
    # The shell's child ends while the shell, which never waits for it, has become something else.
    argv = ["/bin/sh", "-c", "sleep 0.01 & exec sleep 60"]
    with anyio.fail_after(10):
        async with child_process(argv, stdin=DEVNULL, grace_s=20) as process:
            while not _zombies(process.pid):  # noqa: ASYNC110 - another process's state
                await anyio.sleep(0.01)
    assert process.returncode is not None


def _zombies(pid: int) -> bool:
    children = psutil.Process(pid).children()
    return bool(children) and all(child.status() == psutil.STATUS_ZOMBIE for child in children)
