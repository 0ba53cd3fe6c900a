"""Host calls: order, concurrency, failures, and what is left when the program has ended."""

import anyio
import pytest
from engine_lab import PROBE, Lab

from pi_fabric.base.clock import Deadline, SystemClock
from pi_fabric.base.jsonvalue import UNDEFINED, Json
from pi_fabric.runtime.engine import Program
from pi_fabric.runtime.engines.quickjs import QuickJsEngine

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("engine:call:args")
@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("{ a: 1, b: undefined, c: () => 1 }", {"a": 1}),
        ("[NaN, new Date(0), 10n]", [None, "1970-01-01T00:00:00.000Z", {"$bigint": "10"}]),
        ("'\\ud800'", "\ufffd"),
        ("undefined", None),
        ("() => 1", None),
        ("{ __proto__: null, 'constructor': 1, ['__proto__']: 2 }", {"constructor": 1, "__proto__": 2}),
    ],
)
async def test_arguments_cross_as_json(lab: Lab, expression: str, expected: Json) -> None:
    await lab.run(f"await host.call('echo', {expression})")
    assert lab.host.events == [("echo", expected)]


async def test_arguments_are_taken_when_the_call_is_made(lab: Lab) -> None:
    await lab.run("const a = { n: 1 }; const p = host.call('echo', a); a.n = 2; await p")
    assert lab.host.events == [("echo", {"n": 1})]


@pytest.mark.requirement("engine:call:bad-args")
@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("(() => { const a = {}; a.b = { a }; return a })()", "the argument.b.a refers back to the argument"),
        ("{ toJSON() { throw new TypeError('mine') } }", "mine"),
    ],
)
async def test_arguments_that_are_no_json_reject_and_never_reach_the_host(
    lab: Lab, expression: str, expected: str
) -> None:
    body = f"try {{ await host.call('x', {expression}) }} catch (e) {{ return [e.name, e.message] }}"
    name, message = await lab.value_of(body)
    assert name == "TypeError"
    assert message.startswith(expected)
    assert lab.host.events == []


@pytest.mark.requirement("engine:call:undefined")
async def test_a_call_without_a_result_gives_undefined(lab: Lab) -> None:
    assert await lab.value_of("return [await host.call('nothing', 1) === undefined]") == [True]


@pytest.mark.requirement("engine:call:error")
async def test_a_failed_call_rejects_with_its_message_and_code(lab: Lab) -> None:
    body = (
        "try { await host.call('refuse', 1) } catch (e) {"
        " return [e instanceof Error, e.name, e.message, e.code] }"
    )
    assert await lab.value_of(body) == [True, "Error", "pi.bash: not here", "denied"]


async def test_any_other_exception_rejects_with_its_text(lab: Lab) -> None:
    body = "try { await host.call('break', 1) } catch (e) { return [e.message, 'code' in e] }"
    assert await lab.value_of(body) == ["no such file: /a", False]


async def test_a_result_that_is_no_json_rejects(lab: Lab) -> None:
    async def objects(_args: Json) -> Json:
        return {"a": object()}

    lab.host.behaviours["objects"] = objects
    message = await lab.value_of("try { await host.call('objects', 1) } catch (e) { return e.message }")
    assert "object" in message


@pytest.mark.requirement("engine:call:parallel")
async def test_calls_run_at_the_same_time_and_settle_as_they_end(lab: Lab) -> None:
    second_ended = anyio.Event()

    async def first(_args: Json) -> Json:
        await second_ended.wait()
        return "first"

    async def second(_args: Json) -> Json:
        second_ended.set()
        return "second"

    lab.host.behaviours |= {"first": first, "second": second}
    body = (
        "const order = []; const note = (x) => order.push(x);"
        "await Promise.all([host.call('first', 1).then(note), host.call('second', 2).then(note)]);"
        "return order"
    )
    assert await lab.value_of(body) == ["second", "first"]


@pytest.mark.requirement("engine:call:order")
async def test_calls_and_notices_reach_the_host_in_the_order_of_the_program(lab: Lab) -> None:
    await lab.run(
        "for (let i = 0; i < 3; i++) { host.call('slow', i); host.notify('log', i, 'x', undefined); }"
        "await host.call('echo', 9); host.notify('end')"
    )
    assert lab.host.events == [
        ("slow", 0),
        ("log", [0, "x", None]),
        ("slow", 1),
        ("log", [1, "x", None]),
        ("slow", 2),
        ("log", [2, "x", None]),
        ("echo", 9),
        ("end", []),
    ]


async def test_a_thousand_calls_in_parallel_all_get_their_own_answer(lab: Lab) -> None:
    body = (
        "const all = await Promise.all(Array.from({ length: 1000 }, (_, i) => host.call('echo', i)));"
        "return all.every((x, i) => x === i)"
    )
    assert await lab.value_of(body) is True


async def test_large_arguments_and_results_cross(lab: Lab) -> None:
    body = "const s = await host.call('echo', 'é'.repeat(3e6)); return [s.length, s === 'é'.repeat(3e6)]"
    assert await lab.value_of(body, memory_bytes=256 * 2**20) == [3_000_000, True]


async def test_an_argument_nested_deeper_than_can_be_decoded_rejects_its_call_alone(lab: Lab) -> None:
    body = (
        "let a = 1; for (let i = 0; i < 2000; i++) a = [a];"
        "try { await host.call('echo', a) } catch (e) { return [e.message, await host.call('echo', 1)] }"
    )
    message, after = await lab.value_of(body)
    assert "nested too deeply" in message
    assert after == 1


@pytest.mark.requirement("engine:unawaited:awaited")
async def test_a_call_that_was_not_awaited_is_waited_for_and_named(lab: Lab) -> None:
    async def slow(_args: Json) -> Json:
        await anyio.sleep(0.05)
        lab.host.notify("done", [])
        return 1

    lab.host.behaviours["slow"] = slow
    result = await lab.run("host.call('slow', 1); return 7")
    assert (result.termination, result.value) == ("completed", 7)
    assert (result.unawaited, result.abandoned) == (("slow",), ())
    assert lab.host.events[-1] == ("done", [])


@pytest.mark.requirement("engine:unawaited:cancelled")
async def test_a_call_that_is_still_running_at_the_limit_is_cancelled_and_named(lab: Lab) -> None:
    result = await lab.run("host.call('never', 1); host.call('echo', 1); return 7", limit_s=0.3)
    assert (result.termination, result.value) == ("completed", 7)
    assert result.unawaited[0] == "never"
    assert result.abandoned == ("never",)
    assert lab.host.cancelled == ["never"]


@pytest.mark.requirement("engine:cancel:failing-sibling")
async def test_a_failing_call_does_not_wait_for_its_siblings(lab: Lab) -> None:
    with anyio.fail_after(10):
        result = await lab.run("await Promise.all([host.call('never', 1), host.call('break', 1)])")
    assert result.termination == "runtime_error"
    assert result.unawaited == ("never",)
    assert lab.host.cancelled == ["never"]


@pytest.mark.requirement("engine:cancel:ignored")
@pytest.mark.parametrize(
    "body",
    [
        "host.call('ignore', 1); return 1",
        "await host.call('ignore', 1)",
        "await Promise.all([host.call('ignore', 1), host.call('break', 1)])",
    ],
    ids=["not awaited", "awaited", "failing sibling"],
)
async def test_a_call_that_ignores_its_cancellation_holds_neither_run_nor_engine(body: str) -> None:
    with anyio.fail_after(15):
        async with QuickJsEngine(spare=False, library=PROBE) as engine:
            lab = Lab(engine)
            await lab.run(body, limit_s=0.1)
            assert await lab.value_of("return 1") == 1


@pytest.mark.requirement("engine:abort:calls")
async def test_cancelling_the_caller_ends_the_program_and_its_calls(lab: Lab) -> None:
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(lab.run, "await host.call('never', 1)")
            await lab.host.called.wait()
            group.cancel_scope.cancel()
    assert lab.host.cancelled == ["never"]
    assert await lab.value_of("return 1") == 1


async def test_an_aborted_run_does_not_wait_for_a_call_that_ignores_it() -> None:
    with anyio.fail_after(10):
        async with QuickJsEngine(spare=False, library=PROBE) as engine:
            lab = Lab(engine)
            async with anyio.create_task_group() as group:
                group.start_soon(lab.run, "await host.call('ignore', 1)")
                await lab.host.called.wait()
                group.cancel_scope.cancel()


async def test_a_host_that_fails_at_a_notice_fails_the_run_and_not_the_engine(lab: Lab) -> None:
    class Deaf:
        async def call(self, ref: str, args: Json) -> Json:
            return [ref, args]

        def notify(self, kind: str, payload: list[Json]) -> None:
            raise ValueError(f"{kind} {payload}")

    program = Program(javascript="async function program() { host.notify('log', 1) }")
    with pytest.raises(ValueError, match=r"log \[1\]"):
        await lab.engine.run(program, Deaf(), deadline=Deadline(5, SystemClock()), memory_bytes=2**26)
    assert (await lab.run("return 1")).value == 1


async def test_nothing_of_a_program_answers_after_it_has_ended(lab: Lab) -> None:
    result = await lab.run("host.call('echo', 1).then(() => host.call('later', 1)); return undefined")
    assert result.value is UNDEFINED
    assert lab.host.events == [("echo", 1)]
