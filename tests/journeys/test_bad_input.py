import anyio
import pytest
from journey import Journey

from pi_fabric.base.jsonvalue import UNDEFINED

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("bad-input:program:size")
async def test_a_program_of_a_megabyte_runs_and_one_beyond_the_bound_is_refused(journey: Journey) -> None:
    body = "// " + "x" * 97 + "\n"
    result = await journey.run(body * 10_486 + "return 1;")
    assert result.value == 1
    refused = await journey.run("// " + "x" * (3 * 1024 * 1024))
    assert refused.type_problems
    assert "strings" in refused.text


@pytest.mark.requirement("bad-input:programs:hundred")
async def test_a_hundred_programs_at_once_all_finish(journey: Journey) -> None:
    values: dict[int, object] = {}
    async with journey.open() as fabric:

        async def one(number: int) -> None:
            values[number] = (await fabric.execute({"code": f"return {number};"})).value

        async with anyio.create_task_group() as tasks:
            for number in range(100):
                tasks.start_soon(one, number)
    assert values == {number: number for number in range(100)}


@pytest.mark.requirement("bad-input:value:huge")
async def test_a_result_of_a_hundred_megabytes_is_cut_or_refused_with_the_limit(journey: Journey) -> None:
    config = {"executor": {"memoryLimitBytes": 2**30}}
    result = await journey.run("return 'x'.repeat(100 * 1024 * 1024);", config=config)
    assert len(result.text) <= 100_000
    assert "100000" in result.text or "limit" in result.text
    small = await journey.run("return 'x'.repeat(100 * 1024 * 1024);")
    assert not small.success
    assert "executor.memoryLimitBytes" in small.text


@pytest.mark.requirement("bad-input:value:odd")
@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("return undefined;", UNDEFINED),
        ("return null;", None),
        ("return Symbol('odd');", "Symbol(odd)"),
        ("return [undefined, () => 1, Symbol('x'), NaN];", [None, None, None, None]),
        ("return { n: 10n, d: new Date(0), m: new Map([[1, 2]]) };",
         {"n": {"$bigint": "10"}, "d": "1970-01-01T00:00:00.000Z", "m": {}}),
        ("return '\\ud800';", "\ufffd"),
        ("return JSON.parse('{\"__proto__\": 1, \"constructor\": 2}');", {"__proto__": 1, "constructor": 2}),
    ],
)  # fmt: skip
async def test_odd_values_come_back_as_json_can_say_them(journey: Journey, code: str, value: object) -> None:
    result = await journey.run(code)
    assert result.success, result.text
    assert result.value == value


@pytest.mark.requirement("bad-input:value:cycle")
async def test_a_cyclic_value_is_refused_with_the_path_of_the_cycle(journey: Journey) -> None:
    result = await journey.run("const a: any = { b: [{}] }; a.b[0].c = a; return a;")
    assert not result.success
    assert "b[0].c" in result.text
    deep = await journey.run("let a: any = []; for (let i = 0; i < 5000; i++) a = [a]; return a;")
    assert deep.text
    assert deep.outcome in ("succeeded", "failed")


@pytest.mark.requirement("bad-input:promise:never")
async def test_a_promise_that_nothing_can_settle_ends_as_timed_out(journey: Journey) -> None:
    result = await journey.run("await new Promise(() => {});")
    assert result.outcome == "timed_out"
    assert "no host call and no timer is left" in result.text


@pytest.mark.requirement("bad-input:loops:ended")
@pytest.mark.parametrize(
    "code",
    [
        "while (true) {}",
        "await null; while (true) await null;",
        "return /(a+)+$/.test('a'.repeat(40) + 'b');",
        "const spin = () => { for (;;) {} }; setTimeout(spin, 1); await new Promise(() => {});",
        "try { while (true) {} } catch { return 'caught'; } finally { while (true) {} }",
    ],
)
async def test_what_never_ends_is_ended_at_the_limit(journey: Journey, code: str) -> None:
    result = await journey.run(code, timeout_ms=400)
    assert result.outcome == "timed_out"


@pytest.mark.requirement("bad-input:memory:capped")
@pytest.mark.parametrize(
    "code",
    [
        "const a: any[] = []; while (true) a.push(new Array(10000).fill('x'.repeat(100) + a.length));",
        "return (new Array(1e9) + '').length;",
        "new ArrayBuffer(1e9);",
    ],
)
async def test_memory_beyond_the_cap_ends_the_program_and_not_the_host(journey: Journey, code: str) -> None:
    async with journey.open() as fabric:
        result = await fabric.execute({"code": code}, timeout_ms=3_000)
        assert not result.success
        assert (await fabric.execute({"code": "return 'alive';"})).value == "alive"


@pytest.mark.requirement("bad-input:recursion:caught")
async def test_endless_recursion_fails_the_program_and_can_be_caught(journey: Journey) -> None:
    async with journey.open() as fabric:
        result = await fabric.execute({"code": "const f = (): any => f();\nf();"})
        assert result.outcome == "failed"
        assert "guest code:1:" in result.text
        caught = await fabric.execute(
            {"code": "const f = (n: number): number => 1 + f(n); try { f(0); } catch { return 'caught'; }"}
        )
        assert caught.value == "caught"


@pytest.mark.requirement("bad-input:text:separators")
@pytest.mark.parametrize(
    "code",
    [
        "\ufeffreturn 'a';",
        "return 'a';\r\n",
        "\r\nreturn 'a';\r\n\r\n",
        "```ts\nreturn 'a';\n```",
        "return 'a'; // end",
    ],
)
async def test_bom_line_endings_and_fences_do_not_matter(journey: Journey, code: str) -> None:
    assert (await journey.run(code)).value == "a"


@pytest.mark.requirement("bad-input:text:separators")
async def test_line_separators_in_code_and_payload_are_text(journey: Journey) -> None:
    result = await journey.run(
        "const s = 'a\u2028b\u2029c'; return [s.length, π.p];", strings={"p": "x\u2028y"}
    )
    assert result.value == [5, "x\u2028y"]


@pytest.mark.requirement("bad-input:wrapper:closed")
@pytest.mark.parametrize("code", ["} evil(); async function x() {", "});\n(() => {", "}}}"])
async def test_a_program_cannot_leave_its_function(journey: Journey, code: str) -> None:
    assert (await journey.run(code)).type_problems


@pytest.mark.requirement("bad-input:names:prototype")
async def test_names_that_look_like_prototypes_are_only_names(journey: Journey) -> None:
    result = await journey.run(
        """
        const out = [];
        const refs = ['__proto__.x', 'pi.__proto__', 'pi.constructor', 'constructor.name', 'pi.valueOf'];
        for (const ref of refs) {
          try { await tools.call({ ref }); out.push('answered'); } catch (error) { out.push(error.code); }
        }
        const bag = JSON.parse('{"__proto__": {"polluted": true}}');
        return [out, ({} as any).polluted === undefined, Object.keys(bag)];
        """
    )
    assert result.value == [["unknown_action"] * 5, True, ["__proto__"]]


@pytest.mark.requirement("bad-input:code:generated")
async def test_code_made_at_run_time_stays_in_the_sandbox(journey: Journey) -> None:
    result = await journey.run(
        """
        const G = (0, eval)('globalThis');
        const out = [typeof G.process, typeof G.std, typeof G.kernel, typeof G.native];
        try { out.push(typeof (await (0, eval)('import("fs")'))); } catch (error) { out.push('refused'); }
        try { out.push(new Function('return typeof require')()); } catch (error) { out.push('refused'); }
        return out;
        """
    )
    assert result.value == ["undefined", "undefined", "undefined", "undefined", "refused", "undefined"]


async def test_a_flood_of_calls_that_nobody_awaits_costs_no_more_than_the_calls(journey: Journey) -> None:
    config = {"executor": {"memoryLimitBytes": 2**30}}
    # Quadratic work anywhere on the way takes far longer than this.
    with anyio.fail_after(18):
        result = await journey.run(
            "for (let i = 0; i < 70_000; i++) pi.read('a.txt'); return 1;",
            files={"a.txt": "x"},
            config=config,
        )
    assert result.notices == ("Not awaited by the program: pi.read (70000 times).",)
