import pytest
from journey import Journey

from pi_fabric.base.jsonvalue import UNDEFINED
from pi_fabric.host.memory import MemoryHost
from pi_fabric.protocol.events import ActivityUpdated, ExecutionEvent, PhaseStarted, ProgressReported

pytestmark = pytest.mark.anyio
NAMESPACES = [
    "pi",
    "extensions",
    "mcp",
    "memory",
    "state",
    "schema",
    "compact",
    "mesh",
    "agents",
    "rlm",
    "council",
]


@pytest.mark.requirement("guest:namespaces:exist")
async def test_every_namespace_exists_and_an_absent_provider_says_so(journey: Journey) -> None:
    result = await journey.run(
        f"""
        const present = {NAMESPACES!r}.map((name) => typeof (globalThis as any)[name]);
        const answers = [];
        for (const call of [
          () => mesh.self(), () => state.get(), () => schema.status(),
          () => compact.status(), () => agents.list(), () => mcp.servers(), () => extensions.any(),
          () => agent('x'), () => rlm.query({{ task: 'x' }}),
          () => council.run({{ task: 'x', roles: ['a'] }}),
        ]) {{
          try {{ await call(); answers.push('answered'); }} catch (error) {{ answers.push(error.message); }}
        }}
        return {{ present, answers }};
        """
    )
    assert result.success, result.text
    assert result.value["present"] == ["object"] * len(NAMESPACES)
    answers = result.value["answers"]
    assert "needs a host" in answers.pop(3)
    assert all("not part of pi-fabric" in answer for answer in answers)


@pytest.mark.requirement("guest:pi:results")
async def test_core_tools_give_text_or_a_record(journey: Journey) -> None:
    host = MemoryHost({"a.txt": "one"})
    result = await journey.run(
        """
        const text = await pi.read('a.txt');
        const written = await pi.write('b.txt', 'two');
        const edited = await pi.edit({ file: 'b.txt', old: 'two', new: 'three' });
        const said = await pi.bash({ cmd: 'echo', timeoutMs: 2000 });
        return { text, written, edited, said };
        """,
        host=host,
    )
    assert result.value == {
        "text": "one",
        "written": {"ok": True, "output": "written", "details": {"created": True}},
        "edited": {"ok": True, "output": "edited", "details": {"replacements": 1}},
        "said": {"ok": True, "output": "echo", "details": None},
    }
    assert host.files["b.txt"] == "three"
    assert host.calls[-1] == ("bash", {"command": "echo", "timeout": 2})


@pytest.mark.requirement("guest:pi:errors")
async def test_a_failed_tool_rejects_with_its_text_and_can_be_caught(journey: Journey) -> None:
    result = await journey.run(
        """
        try { await pi.read('none'); } catch (error) {
          return [error instanceof Error, error.message, error.code];
        }
        """
    )
    assert result.value == [True, "none: no such file", "tool_failed"]
    (operation,) = result.trace["operations"]
    assert (operation["outcome"], operation["failureStage"]) == ("failed", "invoke")


@pytest.mark.requirement("guest:pi:bad-argument")
async def test_a_wrong_argument_raises_inside_with_tool_and_property(journey: Journey) -> None:
    result = await journey.run("await pi.read({ path: 'a', limits: 3 } as any);")
    assert not result.success
    assert "pi.read" in result.text
    assert "limits: unknown argument; did you mean limit?" in result.text
    assert "guest code:1:" in result.text


@pytest.mark.requirement("guest:tools:shorthand")
async def test_a_bare_string_is_a_query(journey: Journey) -> None:
    result = await journey.run(
        """
        const found = (await tools.search('read')).map((action) => action.ref);
        return [found, (await tools.describe('pi.ls' as any)).name];
        """
    )
    assert result.value == [["pi.read"], "ls"]


@pytest.mark.requirement("guest:tools:core-tools")
async def test_a_core_tool_on_the_wrong_object_points_to_the_right_one(journey: Journey) -> None:
    result = await journey.run("await (tools as any).read('x');")
    assert "pi.read" in result.text


@pytest.mark.requirement("guest:tools:own-references")
async def test_a_program_cannot_call_fabrics_own_references(journey: Journey) -> None:
    result = await journey.run(
        """
        const out = [];
        for (const ref of ['fabric.discovery.list', '@pi.read', '=pi.read', '']) {
          try { await tools.call({ ref }); out.push('answered'); } catch (error) { out.push(error.code); }
        }
        return out;
        """
    )
    assert result.value == ["unknown_action"] * 4


@pytest.mark.requirement("guest:mode:shut")
async def test_orchestration_only_mode_shuts_core_tools_for_computed_references_too(journey: Journey) -> None:
    config = {"fullCodeMode": False}
    named = await journey.run("return await pi.read('a');", config=config)
    assert named.type_problems
    assert "fullCodeMode is false" in named.text
    computed = await journey.run(
        """
        const refs = (await tools.list()).map((action) => action.ref);
        try { await tools.call({ ref: 'pi' + '.read', args: { path: 'a' } }); } catch (error) {
          return [refs, error.message];
        }
        """,
        config=config,
    )
    assert [ref for ref in computed.value[0] if ref.startswith("pi.")] == []
    assert "fullCodeMode" in computed.value[1]
    (_, operation) = computed.trace["operations"]
    assert operation["failureStage"] == "guard"


@pytest.mark.requirement("guest:mode:disabled")
async def test_a_namespace_that_a_setting_switched_off_is_a_type_error(journey: Journey) -> None:
    config = {"memory": {"enabled": False}}
    named = await journey.run("return await memory.recall();", config=config)
    assert named.type_problems
    assert "memory.enabled is false" in named.text
    computed = await journey.run("await tools.call({ ref: 'memory.recall' });", config=config)
    assert "memory.enabled is false" in computed.text


@pytest.mark.requirement("guest:print:lines")
async def test_printing_writes_one_line_with_objects_as_json(journey: Journey) -> None:
    result = await journey.run(
        """
        print('a', 1, { b: 2 }, [3], null, undefined, true);
        console.log(new TypeError('bad'), Symbol('s'), 10n);
        const loop: any = {}; loop.self = loop;
        console.warn(loop);
        """
    )
    assert result.logs[:2] == ('a 1 {"b":2} [3] null  true', "TypeError: bad Symbol(s) 10")
    assert "cannot be shown" in result.logs[2]


async def test_printing_what_cannot_be_read_says_so_and_goes_on(journey: Journey) -> None:
    result = await journey.run(
        """
        print(new Proxy(new Error('x'), { get() { throw new Error('denied'); } }));
        print(new Proxy({}, { getPrototypeOf() { throw null; } }));
        print(Object.defineProperty(new Error(), 'message', { value: Symbol('s') }));
        return 'still here';
        """
    )
    assert result.value == "still here"
    assert result.logs == ("[cannot be shown: denied]", "[cannot be shown]", "Error: Symbol(s)")


async def test_a_value_that_refuses_to_become_json_is_asked_once(journey: Journey) -> None:
    result = await journey.run(
        """
        let asked = 0;
        const args: any = { path: { toJSON() { asked++; throw new Error('no'); } } };
        const reason = await pi.read(args).catch((error) => error.message);
        return [asked, reason];
        """
    )
    assert result.value == [1, "no"]


@pytest.mark.requirement("guest:strings:own-keys")
async def test_named_strings_arrive_as_they_are_and_only_their_own_names(journey: Journey) -> None:
    payload = "`${x}` \\ \u2028 \r\n 😀"
    result = await journey.run(
        """
        const out = [π.payload, Object.keys(π), 'payload' in π, 'toString' in π];
        for (const name of ['none', 'read', 'constructor']) {
          try { out.push((π as any)[name]); } catch (error) { out.push(error.message); }
        }
        return out;
        """,
        strings={"payload": payload, "__proto__": "own"},
    )
    value = result.value
    assert value[:4] == [payload, ["payload", "__proto__"], True, False]
    assert all("was not passed" in message for message in value[4:])
    assert "pi.read" in value[5]


@pytest.mark.requirement("guest:parallel:order")
async def test_parallel_keeps_the_order_and_bounds_what_runs_at_once(journey: Journey) -> None:
    result = await journey.run(
        """
        let running = 0, most = 0;
        const work = async (n: number) => {
          most = Math.max(most, ++running);
          await new Promise((resolve) => setTimeout(resolve, 5 * (4 - n)));
          running--;
          return n * 2;
        };
        const bounded = await parallel([1, 2, 3, 4], work, 2);
        const seen = most;
        const thunks = await parallel([async () => 'a', () => 'b'] as any, { concurrency: 1 } as any);
        return [bounded, seen, thunks, await parallel([], work)];
        """
    )
    assert result.value == [[2, 4, 6, 8], 2, ["a", "b"], []]


@pytest.mark.requirement("guest:parallel:rejection")
@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("await parallel([1, 2], async () => { throw new Error('one fails'); });", "one fails"),
        ("await parallel([1], async (x) => x, 0);", "at least 1"),
        ("await parallel([5] as any);", "not a function"),
        ("await parallel('text' as any, (x: any) => x);", "must be an array"),
        ("await pipeline([1], 5 as any);", "stage 1"),
    ],
)
async def test_what_cannot_run_in_parallel_rejects_and_is_traced(
    journey: Journey, code: str, words: str
) -> None:
    result = await journey.run(code)
    assert words in result.text
    assert {operation["outcome"] for operation in result.trace["operations"]} == {"failed"}


@pytest.mark.requirement("guest:pipeline:stages")
async def test_each_item_goes_through_the_stages_on_its_own(journey: Journey) -> None:
    result = await journey.run(
        "return await pipeline([1, 2], (v) => v + 1, async (v, original, index) => [v, original, index]);"
    )
    assert result.value == [[2, 1, 0], [3, 2, 1]]


@pytest.mark.requirement("guest:phase:recorded")
async def test_phases_and_activity_are_told_in_order(journey: Journey) -> None:
    events: list[ExecutionEvent] = []
    result = await journey.run(
        """
        const first = await phase('Build', { id: 'b', total: 3 });
        const second = await phase({ name: 'Test' });
        await workflow.configure({ name: 'Release' });
        await workflow.item({ id: 'docs', label: 'Docs', status: 'running' });
        await workflow.event({ message: 'passed', level: 'success' });
        await tools.progress('half way');
        try { await phase('  '); } catch (error) { return [first, second, error.code]; }
        """,
        sink=events.append,
    )
    assert result.value == [
        {"name": "Build", "index": 0, "id": "b"},
        {"name": "Test", "index": 1},
        "invalid_arguments",
    ]
    assert result.phases == ("Build", "Test")
    assert result.trace["phases"] == ["Build", "Test"]
    assert [event.name for event in events if isinstance(event, PhaseStarted)] == ["Build", "Test"]
    assert [event.kind for event in events if isinstance(event, ActivityUpdated)] == [
        "workflow",
        "item",
        "event",
    ]
    assert ProgressReported(message="half way") in events


@pytest.mark.requirement("guest:budget:figures")
async def test_the_budget_counts_from_what_was_given(journey: Journey) -> None:
    code = "return [budget.total, budget.spent(), budget.remaining()];"
    assert (await journey.run(code, tokenBudget=500)).value == [500, 0, 500]
    unlimited = await journey.run("return [budget.total === Infinity, budget.remaining() === Infinity];")
    assert unlimited.value == [True, True]


@pytest.mark.requirement("guest:timers:work")
async def test_timers_fire_in_order_and_can_be_cleared(journey: Journey) -> None:
    result = await journey.run(
        """
        const seen: string[] = [];
        clearTimeout(setTimeout(() => seen.push('never'), 1));
        const ticking = setInterval(() => {
          seen.push('tick');
          if (seen.length === 2) clearInterval(ticking);
        }, 1);
        setTimeout(() => { throw new Error('swallowed'); }, 1);
        await new Promise<void>((resolve) => setTimeout(resolve, 40));
        return seen;
        """
    )
    assert result.value == ["tick", "tick"]


@pytest.mark.requirement("guest:globals:frozen")
async def test_the_library_cannot_be_replaced(journey: Journey) -> None:
    result = await journey.run(
        """
        const before = [pi, tools, parallel, agents, budget];
        const attempts: any[] = [
          () => { (globalThis as any).pi = 1; }, () => { delete (globalThis as any).tools; },
          () => { (agents as any).run = 1; }, () => { (tools as any).list = 1; },
          () => { (budget as any).total = 1; },
          () => Object.defineProperty(globalThis, 'parallel', { value: 1 }),
        ];
        for (const attempt of attempts) { try { attempt(); } catch {} }
        const after = [pi, tools, parallel, agents, budget];
        const isSame = before.every((value, i) => value === after[i]);
        return [isSame, typeof tools.list, typeof agents.run, budget.total];
        """,
        tokenBudget=7,
    )
    assert result.value == [True, "function", "function", 7]


@pytest.mark.requirement("guest:built-ins:redefined")
async def test_a_program_that_redefines_built_ins_harms_only_itself(journey: Journey) -> None:
    result = await journey.run(
        """
        const files = await pi.ls();
        for (const proto of [Array.prototype, String.prototype, Object.prototype] as any[]) {
          for (const name of Object.getOwnPropertyNames(proto)) {
            if (name === 'constructor' || name === '__proto__') continue;
            try { proto[name] = () => { throw new Error('broken'); }; } catch {}
          }
        }
        (JSON as any).stringify = (JSON as any).parse = () => 'broken';
        Promise.prototype.then = function () { throw new Error('broken'); } as any;
        (globalThis as any).Error = (globalThis as any).Proxy = undefined;
        const text = await pi.read('a.txt');
        const both = await parallel(['a.txt', 'a.txt'], (file) => pi.read(file));
        print('still', 'here');
        return { files, text, both };
        """,
        files={"a.txt": "one"},
    )
    assert result.value == {"files": "a.txt", "text": "one", "both": ["one", "one"]}
    assert result.logs == ("still here",)


@pytest.mark.requirement("guest:machinery:undefined")
async def test_awaiting_or_serialising_a_namespace_does_no_call(journey: Journey) -> None:
    host = MemoryHost()
    result = await journey.run(
        """
        const same = await (pi as any);
        return [typeof same, JSON.stringify(memory), typeof (pi as any)[Symbol.iterator]];
        """,
        host=host,
    )
    assert result.value == ["object", "{}", "undefined"]
    assert host.calls == []


async def test_a_program_without_a_value_says_so(journey: Journey) -> None:
    result = await journey.run("")
    assert (result.value, result.text, result.outcome) == (UNDEFINED, "(no output)", "succeeded")
