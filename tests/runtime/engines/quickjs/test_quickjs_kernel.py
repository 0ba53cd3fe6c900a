"""The kernel of the guest: globals, timers, and what a program cannot break."""

import anyio
import pytest
from engine_lab import Lab

pytestmark = pytest.mark.anyio

ABSENT = [
    "require",
    "process",
    "fetch",
    "Buffer",
    "URL",
    "TextEncoder",
    "structuredClone",
    "atob",
    "btoa",
    "crypto",
    "performance",
    "module",
    "exports",
    "WebAssembly",
    "queueMicrotask",
    "Intl",
    "std",
    "os",
    "scriptArgs",
    "navigator",
    "DOMException",
    "Worker",
    "gc",
    "native",
    "kernel",
    "primordials",
    "__fabricHostCall",
    "print",
    "console",
]


@pytest.mark.requirement("engine:globals:absent")
async def test_nothing_of_an_embedding_is_in_the_program(lab: Lab) -> None:
    body = f"return {ABSENT}.filter((name) => name in globalThis || eval('typeof ' + name) !== 'undefined')"
    assert await lab.value_of(body) == []


@pytest.mark.requirement("engine:globals:language")
async def test_the_language_itself_is_there(lab: Lab) -> None:
    body = (
        "return [typeof globalThis, typeof eval, new Function('return 1')(), /(?<a>x)/u.exec('x').groups.a]"
    )
    assert await lab.value_of(body) == ["object", "function", 1, "x"]


@pytest.mark.requirement("engine:globals:no-import")
async def test_no_module_can_be_imported(lab: Lab) -> None:
    for name in ("fs", "node:fs", "./a.js", "qjs:std", "std", "os"):
        caught = await lab.value_of(f"try {{ await import('{name}') }} catch (e) {{ return e.message }}")
        assert "could not load module" in caught


async def test_what_the_library_defines_cannot_be_replaced(lab: Lab) -> None:
    body = (
        "'use strict'; const out = [];"
        "for (const f of [() => { host = 1 }, () => { delete globalThis.host },"
        " () => Object.defineProperty(globalThis, 'host', { value: 1 }), () => { host.call = 1 }]) "
        "try { f(); out.push('done') } catch (e) { out.push(e.name) } return out"
    )
    assert await lab.value_of(body) == ["TypeError"] * 4


async def test_the_library_gets_strings_and_surface_of_the_run(lab: Lab) -> None:
    assert await lab.value_of("return settings") == {"strings": {"a": "b"}, "surface": {"c": 1}}


async def test_programs_do_not_see_each_other(lab: Lab) -> None:
    await lab.run("globalThis.left = 1; Array.prototype.left = 1; JSON.parse = null")
    assert await lab.value_of("return [typeof left, [].left === undefined, JSON.parse('1')]") == [
        "undefined",
        True,
        1,
    ]


async def test_random_numbers_differ_between_programs(lab: Lab) -> None:
    first = await lab.value_of("return [Math.random(), Math.random()]")
    second = await lab.value_of("return [Math.random(), Math.random()]")
    assert len({*first, *second}) == 4


SABOTAGE = {
    "Promise": "globalThis.Promise = class { constructor() { throw 1 } }",
    "Promise.prototype.then": "Promise.prototype.then = () => { throw 1 }",
    "Promise.prototype.constructor": "Promise.prototype.constructor = undefined",
    "Promise species": "Object.defineProperty(Promise, Symbol.species, { get() { throw 1 } })",
    "JSON": "globalThis.JSON = { parse() { throw 1 }, stringify() { throw 1 } }",
    "JSON methods": "JSON.parse = JSON.stringify = () => { throw 1 }",
    "Array.prototype": (
        "for (const k of Reflect.ownKeys(Array.prototype)) "
        "try { Array.prototype[k] = () => { throw 1 } } catch {}"
    ),
    "Symbol.iterator": (
        "for (const P of [Array, String, Map, Set]) P.prototype[Symbol.iterator] = function* () { throw 1 }"
    ),
    # Not the first: the engine's own JSON.stringify keeps its place in an array that looks them up.
    "array index setters": (
        "for (let i = 3; i < 9; i++) Object.defineProperty(Array.prototype, i,"
        " { set() { throw 1 }, get() { throw 1 }, configurable: true })"
    ),
    "object index setters": (
        "for (let i = 0; i < 9; i++) Object.defineProperty(Object.prototype, i,"
        " { set() { throw 1 }, get() { throw 1 }, configurable: true })"
    ),
    "Object.prototype names": (
        "for (const k of ['resolve', 'reject', 'error', 'message', 'code', 'run', 'due', 'turn', 'repeat',"
        " 'id', 'ms', 'above', 'item', 'path', 'get', 'set', 'writable', 'enumerable', 'configurable',"
        " 'length'])"
        " Object.defineProperty(Object.prototype, k,"
        " { __proto__: null, set() { throw 1 }, get() { throw 1 } })"
    ),
    "Function.prototype": (
        "for (const k of ['call', 'apply', 'bind', 'toString']) Function.prototype[k] = () => { throw 1 };"
        "Function.prototype[Symbol.hasInstance] === 1"
    ),
    "String": (
        "for (const k of Reflect.ownKeys(String.prototype)) "
        "try { String.prototype[k] = () => { throw 1 } } catch {} globalThis.String = null"
    ),
    "Object": "for (const k of Reflect.ownKeys(Object)) try { Object[k] = () => { throw 1 } } catch {}",
    "Reflect": "for (const k of Reflect.ownKeys(Reflect)) Reflect[k] = null; globalThis.Reflect = null",
    "RegExp": "RegExp.prototype.exec = RegExp.prototype.test = () => { throw 1 }",
    "Error": (
        "globalThis.Error = globalThis.TypeError = class { constructor() { throw 1 } };"
        "globalThis.InternalError = null"
    ),
    "Number and Symbol": "globalThis.Number = globalThis.Symbol = globalThis.Map = () => { throw 1 }",
    "globalThis": "globalThis.Array = null; globalThis.globalThis = null",
}


@pytest.mark.requirement("engine:kernel:hardened")
@pytest.mark.parametrize("sabotage", SABOTAGE.values(), ids=SABOTAGE.keys())
async def test_a_program_that_redefines_built_ins_breaks_only_itself(lab: Lab, sabotage: str) -> None:
    # Everything is used through syntax and the kernel alone, so that the program itself stays whole.
    body = (
        f"const make = async () => {{}}; {sabotage};\n"
        "let ticks = 0;\n"
        "host.notify('log', 'a');\n"
        "const one = await host.call('echo', { a: 1 });\n"
        "let code = '';\n"
        "try { await host.call('refuse', 1) } catch (e) { code = e.code }\n"
        "let cycle = '';\n"
        "try { const c = {}; c.c = c; await host.call('echo', c) } catch (e) { cycle = e.message }\n"
        "const gate = { open: false };\n"
        "host.setTimer(() => { ticks++; host.call('tick', ticks) }, 1, false);\n"
        "const id = host.setTimer(() => { ticks += 100 }, 1, true);\n"
        "host.clearTimer(id);\n"
        "await host.call('wait', 1);\n"
        "return { a: one.a, code, cycle, ticks, big: 1n };"
    )
    ticked = anyio.Event()

    async def tick(args: object) -> object:
        ticked.set()
        return args

    async def wait(args: object) -> object:
        await ticked.wait()
        return args

    lab.host.behaviours |= {"tick": tick, "wait": wait}
    value = await lab.value_of(body)
    assert value == {
        "a": 1,
        "code": "denied",
        "cycle": "the argument.c refers back to the argument; a value with a cycle cannot leave the program",
        "ticks": 1,
        "big": {"$bigint": "1"},
    }
    assert lab.host.events[0] == ("log", ["a"])


async def test_a_tojson_on_every_object_changes_only_what_the_program_sends(lab: Lab) -> None:
    body = "Object.prototype.toJSON = () => 'mine'; return [await host.call('echo', { a: 1 }), 1]"
    assert await lab.value_of(body) == "mine"
    assert lab.host.events == [("echo", "mine")]


@pytest.mark.requirement("engine:timer:order")
async def test_timers_fire_in_the_order_of_their_time_then_of_their_age(lab: Lab) -> None:
    body = (
        "const out = []; const add = (x) => () => out.push(x);"
        "host.setTimer(add('30'), 30, false); host.setTimer(add('10'), 10, false);"
        "host.setTimer(add('1a'), 1, false); host.setTimer(add('0'), 0, false);"
        "await new Promise((done) => host.setTimer(done, 31, false)); return out"
    )
    assert await lab.value_of(body) == ["1a", "0", "10", "30"]


async def test_microtasks_run_before_the_next_timer(lab: Lab) -> None:
    body = (
        "const out = [];"
        "host.setTimer(() => { out.push(1); Promise.resolve().then(() => out.push(2)) }, 1, false);"
        "host.setTimer(() => out.push(3), 1, false);"
        "const until = Date.now() + 5; while (Date.now() < until) {}"
        "await new Promise((done) => host.setTimer(done, 1, false)); return out"
    )
    assert await lab.value_of(body) == [1, 2, 3]


@pytest.mark.requirement("engine:timer:swallowed")
async def test_an_exception_in_a_timer_ends_neither_program_nor_timers(lab: Lab) -> None:
    body = (
        "let n = 0; return await new Promise((done) => {"
        " const id = host.setTimer("
        "  () => { if (++n === 3) { host.clearTimer(id); done(n) } throw 1 }, 1, true) })"
    )
    assert await lab.value_of(body) == 3


@pytest.mark.requirement("engine:timer:dropped")
async def test_timers_that_are_left_when_the_program_returns_are_dropped(lab: Lab) -> None:
    result = await lab.run("host.setTimer(() => host.call('late', 1), 20, true); return 1", limit_s=600)
    assert result.value == 1
    assert lab.host.events == []


async def test_a_cleared_timer_does_not_fire(lab: Lab) -> None:
    body = (
        "const out = []; const ids = [5, 6, 7].map((ms) => host.setTimer(() => out.push(ms), ms, false));"
        "host.clearTimer(ids[1]); host.clearTimer(ids[1]); host.clearTimer(undefined); host.clearTimer('x');"
        "await new Promise((done) => host.setTimer(done, 9, false)); return out"
    )
    assert await lab.value_of(body) == [5, 7]


async def test_many_timers_fire_in_order(lab: Lab) -> None:
    body = (
        "const out = []; const ids = [];"
        "for (let i = 0; i < 500; i++) ids.push(host.setTimer(() => out.push(i), 5, false));"
        "for (let i = 0; i < 500; i += 3) host.clearTimer(ids[i]);"
        "await new Promise((done) => host.setTimer(done, 6, false)); return out"
    )
    assert await lab.value_of(body) == [i for i in range(500) if i % 3]


async def test_a_timer_runs_while_a_host_call_is_pending(lab: Lab) -> None:
    body = "host.setTimer(() => host.notify('tick'), 1, false); return await host.call('slow', 1)"

    async def slow(args: object) -> object:
        while ("tick", []) not in lab.host.events:  # noqa: ASYNC110 - the host has no event for it
            await anyio.sleep(0.005)
        return args

    lab.host.behaviours["slow"] = slow
    assert await lab.value_of(body) == 1
