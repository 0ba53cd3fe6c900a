"""What bounds a program: time, memory, depth, and the end of its owner."""

import anyio
import pytest
from engine_lab import Lab

from pi_fabric.base.clock import Deadline, SystemClock
from pi_fabric.base.jsonvalue import UNDEFINED
from pi_fabric.runtime.engine import Program

pytestmark = pytest.mark.anyio

ENDLESS = {
    "loop": "for (;;) {}",
    "microtasks": "for (;;) await null",
    "promises": "const f = () => Promise.resolve().then(f); await f()",
    "regex": "return /(a+)+$/.test('a'.repeat(60) + 'b')",
    "caught": "for (;;) { try { for (;;) {} } catch {} finally { continue } }",
    "generator": "function* g() { for (;;) yield 1 } for (const x of g()) {}",
    "sort": "for (;;) Array.from({ length: 1e5 }, Math.random).sort()",
    "bigint": "let x = 3n; for (;;) x = x * x % (1n << 20000n) + 3n",
    "timers": "host.setTimer(() => {}, 0, true); await new Promise(() => {})",
    "toJSON": "return { toJSON() { for (;;) {} } }",
    "error": "throw { get message() { for (;;) {} } }",
    "thenable": "return { get then() { for (;;) {} } }",
    "start of a timer": "host.setTimer(() => { for (;;) {} }, 1, false); await new Promise(() => {})",
}


@pytest.mark.requirement("engine:time:limit")
@pytest.mark.parametrize("body", ENDLESS.values(), ids=ENDLESS.keys())
async def test_no_program_outlasts_its_limit(lab: Lab, body: str) -> None:
    with anyio.fail_after(10):
        result = await lab.run(body, limit_s=0.2)
    assert result.termination == "timed_out"
    assert result.value is UNDEFINED
    assert result.error is not None
    assert result.error.message == "the program was stopped at its limit of 0.2 s while it was running"


async def test_a_program_that_waits_is_stopped_with_what_it_waits_for(lab: Lab) -> None:
    result = await lab.run("await Promise.all([host.call('never', 1), host.call('never', 2)])", limit_s=0.2)
    assert result.termination == "timed_out"
    assert result.error is not None
    assert result.error.message.endswith("while waiting for never and 1 more")
    assert lab.host.cancelled == ["never", "never"]


async def test_what_a_program_told_before_it_was_stopped_is_kept(lab: Lab) -> None:
    await lab.run("host.notify('log', 'before'); for (;;) {}", limit_s=0.3)
    assert lab.host.events == [("log", ["before"])]


@pytest.mark.requirement("engine:time:no-worker-charge")
async def test_the_next_program_runs_after_one_that_was_stopped(lab: Lab) -> None:
    await lab.run("for (;;) {}", limit_s=0.1)
    # Less than a new worker needs to start.
    assert (await lab.run("return 1", limit_s=0.05)).value == 1


@pytest.mark.requirement("engine:time:extend")
async def test_a_deadline_can_be_extended_while_the_program_runs(lab: Lab) -> None:
    deadline = Deadline(0.2, SystemClock())

    async def extend(_args: object) -> str:
        deadline.extend_to(30)
        await anyio.sleep(0.4)
        return "late"

    lab.host.behaviours["extend"] = extend
    program = Program(javascript="async function program() { return await host.call('extend', 1) }")
    with anyio.fail_after(20):
        result = await lab.engine.run(program, lab.host, deadline=deadline, memory_bytes=2**26)
    assert result.value == "late"


@pytest.mark.requirement("engine:time:pause")
async def test_a_paused_deadline_charges_nothing(lab: Lab) -> None:
    deadline = Deadline(0.2, SystemClock())

    async def ask(_args: object) -> str:
        with deadline.paused():
            await anyio.sleep(0.4)
        return "yes"

    lab.host.behaviours["ask"] = ask
    program = Program(javascript="async function program() { return await host.call('ask', 1) }")
    with anyio.fail_after(20):
        result = await lab.engine.run(program, lab.host, deadline=deadline, memory_bytes=2**26)
    assert result.value == "yes"


@pytest.mark.requirement("engine:time:deadlock")
@pytest.mark.parametrize(
    "body",
    [
        "await new Promise(() => {})",
        "await host.call('echo', 1); await new Promise(() => {})",
        "host.setTimer(() => {}, 1, false); await new Promise(() => {})",
    ],
)
async def test_a_program_that_nothing_can_wake_ends_at_once(lab: Lab, body: str) -> None:
    with anyio.fail_after(10):
        result = await lab.run(body, limit_s=600)
    assert result.termination == "timed_out"
    assert result.error is not None
    assert "waits for something that cannot come" in result.error.message


@pytest.mark.requirement("engine:memory:cap")
@pytest.mark.parametrize(
    "body",
    [
        "const a = []; for (;;) a.push('x'.repeat(1000) + a.length)",
        "const a = []; for (;;) a.push(new Array(10000).fill(0))",
        "return new ArrayBuffer(1e9)",
        "return new Uint8Array(1e9).length",
        "return Array.from({ length: 100 }, (_, i) => String(i).repeat(1e6))",
        "const a = []; try { for (;;) a.push({}) } finally { a.push(1) }",
    ],
)
async def test_a_program_that_needs_more_memory_fails_with_the_cap_and_its_setting(
    lab: Lab, body: str
) -> None:
    result = await lab.run(body)
    assert result.termination == "runtime_error"
    assert result.error is not None
    assert result.error.name == "OutOfMemory"
    assert "64 MiB" in result.error.message
    assert "executor.memoryLimitBytes" in result.error.message


async def test_a_larger_cap_lets_the_same_program_through(lab: Lab) -> None:
    body = "return new Uint8Array(1e8).length"
    assert await lab.value_of(body, memory_bytes=256 * 2**20) == 100_000_000


async def test_the_smallest_cap_that_can_be_configured_runs_programs(lab: Lab) -> None:
    body = "return Array.from({ length: 1000 }, (_, i) => ({ i })).length"
    assert await lab.value_of(body, memory_bytes=8 * 2**20) == 1000


async def test_a_program_can_catch_what_did_not_fit_and_go_on(lab: Lab) -> None:
    body = (
        "let a = []; try { for (;;) a.push(new Array(1000).fill(1)) } catch (e) { a = 0; return e.message }"
    )
    assert await lab.value_of(body) == "out of memory"


async def test_heavy_use_of_long_strings_keeps_the_engine_sound(lab: Lab) -> None:
    body = (
        "let s = ''; for (let i = 0; i < 3e5; i++) s = 'abcdefghijklmnopqrstuvwxyz' + i + s; return s.length"
    )
    assert await lab.value_of(body, memory_bytes=256 * 2**20) == 9_488_890


DEEP = {
    "function": "const f = () => f(); f()",
    "method": "class A { get x() { return this.x } } new A().x",
    "callback": "const f = () => [1].map(f); f()",
    "constructor": "class A { constructor() { new A() } } new A()",
    "proxy": "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); p.x",
    "JSON.parse": "JSON.parse('['.repeat(3e5))",
    "source": "eval('('.repeat(3e5))",
    "operators": "eval('!'.repeat(3e5) + '1')",
    "to string": "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; String(a)",
}


@pytest.mark.requirement("engine:depth:catchable")
@pytest.mark.parametrize("body", DEEP.values(), ids=DEEP.keys())
async def test_endless_recursion_is_an_error_that_the_program_can_catch(lab: Lab, body: str) -> None:
    caught = await lab.value_of(f"try {{ {body} }} catch (e) {{ return [e.name, e.message] }}")
    assert caught == ["RangeError", "Maximum call stack size exceeded"]
    uncaught = await lab.run(body)
    assert uncaught.termination == "runtime_error"
    assert await lab.value_of("return 1") == 1


async def test_a_useful_depth_is_not_refused(lab: Lab) -> None:
    assert await lab.value_of("const f = (n) => n ? 1 + f(n - 1) : 0; return f(4000)") == 4000


async def test_regular_expressions_nested_too_deeply_fail(lab: Lab) -> None:
    name, _ = await lab.error_of("new RegExp('(?:'.repeat(1e5) + ')'.repeat(1e5))")
    assert name == "SyntaxError"
