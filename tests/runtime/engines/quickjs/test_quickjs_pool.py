"""Workers: reuse, replacement, many programs, and the end of everything."""

import os
import signal
import subprocess  # noqa: TID251 - a host that dies must be a process of its own
import sys
from pathlib import Path

import anyio
import psutil
import pytest
from engine_lab import PROBE, Lab, RecordingHost

from pi_fabric.base.errors import SandboxError, SandboxLost
from pi_fabric.runtime.engines.quickjs import QuickJsEngine
from pi_fabric.runtime.engines.quickjs.pool import MAX_WORKERS

pytestmark = pytest.mark.anyio


def workers() -> set[int]:
    """Process ids of the workers that this process started and that still run."""
    children = psutil.Process().children()
    return {child.pid for child in children if child.status() != psutil.STATUS_ZOMBIE}


async def test_an_engine_that_was_not_used_has_started_nothing() -> None:
    before = workers()
    async with QuickJsEngine(library=PROBE):
        assert workers() == before


@pytest.mark.requirement("engine:pool:reuse")
async def test_a_worker_serves_one_program_after_another(lab: Lab) -> None:
    await lab.run("return 1")
    first = workers()
    await lab.run("throw 1")
    await lab.run("await new Promise(() => {})")
    await lab.run("const a = []; for (;;) a.push('x'.repeat(1e6))")
    assert workers() == first


async def test_an_answer_that_comes_when_its_program_has_ended_harms_no_later_one(lab: Lab) -> None:
    echoed = anyio.Event()

    async def echo(_args: object) -> None:
        echoed.set()

    async def late(_args: object) -> None:
        await echoed.wait()
        # Into a frame of its own, which comes while the program computes.
        for _ in range(10):
            await anyio.lowlevel.checkpoint()

    lab.host.behaviours |= {"echo": echo, "late": late}
    body = "host.call('late', 1); await host.call('echo', 1); for (let i = 0; i < 5e6; i++); return 1"
    assert await lab.value_of(body) == 1
    assert await lab.value_of("return 2") == 2


@pytest.mark.requirement("engine:pool:replace")
async def test_a_worker_whose_program_was_stopped_is_replaced(lab: Lab) -> None:
    others = workers()
    await lab.run("return 1")
    first = workers() - others
    await lab.run("for (;;) {}", limit_s=0.1)
    await lab.run("return 1")
    assert first
    assert not workers() & first


@pytest.mark.requirement("engine:pool:spare")
async def test_a_spare_worker_is_ready_after_the_first_use() -> None:
    before = workers()
    async with QuickJsEngine(spare=True, library=PROBE) as engine:
        lab = Lab(engine)
        await lab.run("return 1")
        with anyio.fail_after(20):
            while len(workers() - before) < 2:  # noqa: ASYNC110 - the pool keeps its workers to itself
                await anyio.sleep(0.01)
        for _ in range(5):
            await lab.run("return 1")
        assert len(workers() - before) == 2


async def test_warming_starts_the_worker_that_the_first_program_gets() -> None:
    before = workers()
    async with QuickJsEngine(spare=False, library=PROBE) as engine:
        engine.warm()
        engine.warm()
        assert await Lab(engine).value_of("return 1") == 1
        assert len(workers() - before) == 1


@pytest.mark.requirement("engine:pool:hundred")
async def test_a_hundred_programs_at_once_all_finish_on_few_workers(lab: Lab) -> None:
    before = workers()
    values: list[object] = []

    async def one(number: int) -> None:
        values.append(await lab.value_of(f"return await host.call('echo', {number})"))

    async with anyio.create_task_group() as group:
        for number in range(100):
            group.start_soon(one, number)
    assert sorted(map(str, values)) == sorted(map(str, range(100)))
    assert len(workers() - before) <= MAX_WORKERS


async def test_a_program_that_waits_for_a_worker_can_be_cancelled(lab: Lab) -> None:
    async with anyio.create_task_group() as group:
        for _ in range(MAX_WORKERS):
            group.start_soon(lab.run, "await host.call('never', 1)")
        while len(lab.host.events) < MAX_WORKERS:  # noqa: ASYNC110 - one event for each would say no more
            await anyio.sleep(0.01)
        with anyio.move_on_after(0.3) as scope:
            await lab.run("return 1")
        assert scope.cancelled_caught
        group.cancel_scope.cancel()
    assert await lab.value_of("return 1") == 1


@pytest.mark.requirement("engine:worker:killed")
async def test_a_worker_that_is_killed_fails_its_run_and_no_other(lab: Lab) -> None:
    before = workers()

    async def kill(_args: object) -> None:
        for pid in await anyio.to_thread.run_sync(workers) - before:
            os.kill(pid, signal.SIGKILL)
        await anyio.sleep_forever()

    lab.host.behaviours["kill"] = kill
    with pytest.raises(SandboxLost, match="it was killed by signal 9"), anyio.fail_after(20):
        await lab.run("await host.call('kill', 1)")
    assert await lab.value_of("return 1") == 1


async def test_a_worker_that_dies_while_idle_is_not_given_out(lab: Lab) -> None:
    before = workers()
    await lab.run("return 1")
    killed = [psutil.Process(pid) for pid in workers() - before]
    for process in killed:
        process.kill()
    await anyio.to_thread.run_sync(psutil.wait_procs, killed)
    assert await lab.value_of("return 2") == 2


@pytest.mark.requirement("engine:exit:nothing-left")
async def test_nothing_is_left_when_the_engine_is_closed() -> None:
    before = workers()
    with anyio.fail_after(20):
        async with QuickJsEngine(spare=True, library=PROBE) as engine, anyio.create_task_group() as group:
            group.start_soon(Lab(engine).run, "for (;;) {}")
            while not workers() - before:  # noqa: ASYNC110 - see above
                await anyio.sleep(0.01)
            group.cancel_scope.cancel()
    assert workers() == before


async def test_a_program_that_runs_when_the_engine_is_closed_is_told_so() -> None:
    before = workers()

    async def run_to_the_end(lab: Lab) -> None:
        with pytest.raises(SandboxLost, match="it was closed while a program ran"):
            await lab.run("for (;;) {}")

    with anyio.fail_after(20):
        async with (
            anyio.create_task_group() as group,
            QuickJsEngine(spare=False, library=PROBE) as engine,
        ):
            await Lab(engine).run("return 1")
            group.start_soon(run_to_the_end, Lab(engine))
            await anyio.wait_all_tasks_blocked()
    assert workers() == before


async def test_a_library_that_does_not_run_is_a_sandbox_error_that_says_so(tmp_path: Path) -> None:
    broken = tmp_path / "broken.js"
    broken.write_text("throw new Error('no')")
    async with QuickJsEngine(spare=True, library=broken) as engine:
        with pytest.raises(SandboxError, match="the prelude does not run"):
            await Lab(engine).run("return 1")


HOST = """
import anyio, sys
from pathlib import Path
from pi_fabric.base.clock import Deadline, SystemClock
from pi_fabric.runtime.engine import Program
from pi_fabric.runtime.engines.quickjs import QuickJsEngine
class Host:
    async def call(self, ref, args):
        import psutil
        print(psutil.Process().children()[0].pid, flush=True)
    def notify(self, kind, payload): ...
async def main():
    async with QuickJsEngine(spare=False, library=Path(sys.argv[1])) as engine:
        program = Program(javascript="async function program() { await host.call('x'); for (;;) {} }")
        await engine.run(program, Host(), deadline=Deadline(600, SystemClock()), memory_bytes=2**26)
anyio.run(main)
"""


@pytest.mark.requirement("engine:exit:parent-death")
async def test_a_busy_worker_ends_when_its_host_is_killed() -> None:
    def host_that_dies() -> int:
        with subprocess.Popen([sys.executable, "-c", HOST, str(PROBE)], stdout=subprocess.PIPE) as host:
            assert host.stdout is not None
            pid = int(host.stdout.readline())
            host.kill()
            return pid

    with anyio.fail_after(30):
        pid = await anyio.to_thread.run_sync(host_that_dies)
        while psutil.pid_exists(pid):
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                break
            await anyio.sleep(0.01)


def test_the_worker_loads_no_async_library() -> None:
    code = (
        "import sys; import pi_fabric.runtime.engines.quickjs.worker; "
        "print([m for m in ('anyio', 'asyncio', 'msgspec', 'psutil', 'json') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_naming_the_engine_loads_neither_wasmtime_nor_a_worker() -> None:
    code = (
        "import sys; from pi_fabric.runtime.engines.quickjs import QuickJsEngine; "
        "print('wasmtime' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


async def test_hosts_of_concurrent_programs_are_not_mixed_up(lab: Lab) -> None:
    hosts = [RecordingHost() for _ in range(6)]

    async def one(number: int) -> None:
        own = Lab(lab.engine, hosts[number])
        await own.run(f"for (let i = 0; i < 20; i++) await host.call('echo', {number})")

    async with anyio.create_task_group() as group:
        for number in range(len(hosts)):
            group.start_soon(one, number)
    assert [host.events for host in hosts] == [[("echo", number)] * 20 for number in range(len(hosts))]
