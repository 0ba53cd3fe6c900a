"""What leaves a program: values and errors."""

import pytest
from engine_lab import Lab

from pi_fabric.base.jsonvalue import UNDEFINED, Json

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("engine:value:json")
@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("{ a: [1, 'x', null, true], d: undefined }", {"a": [1, "x", None, True]}),
        ("new Date(0)", "1970-01-01T00:00:00.000Z"),
        ("new Map([[1, 2]])", {}),
        ("[NaN, Infinity, -0]", [None, None, 0]),
        ("[() => 1, Symbol('s'), undefined]", [None, None, None]),
        ("{ toJSON() { return 'mine'; } }", "mine"),
        ("'\\ud83d\\ude00\\u2028'", "\U0001f600\u2028"),
        ("null", None),
        ("", UNDEFINED),
        ("undefined", UNDEFINED),
    ],
)
async def test_a_value_leaves_as_json_writes_it(lab: Lab, expression: str, expected: Json) -> None:
    assert await lab.value_of(f"return {expression}") == expected


@pytest.mark.requirement("engine:value:function", "engine:value:bigint")
@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("(a, b) => a + b", "(a, b) => a + b"),
        ("Symbol('mine')", "Symbol(mine)"),
        ("10n", {"$bigint": "10"}),
        ("{ n: [1n, { m: -2n }] }", {"n": [{"$bigint": "1"}, {"m": {"$bigint": "-2"}}]}),
    ],
)
async def test_what_json_cannot_say_has_a_form_of_its_own(lab: Lab, expression: str, expected: Json) -> None:
    assert await lab.value_of(f"return {expression}") == expected


@pytest.mark.requirement("engine:value:surrogate")
async def test_a_lone_surrogate_is_replaced(lab: Lab) -> None:
    assert await lab.value_of("return ['\\ud800a', '\\udc00']") == ["\ufffda", "\ufffd"]


@pytest.mark.requirement("engine:value:cycle")
async def test_a_cycle_fails_the_program_and_names_its_path(lab: Lab) -> None:
    name, message = await lab.error_of("const a = { list: [{}] }; a.list[0]['odd key'] = a.list; return a")
    assert name == "TypeError"
    assert message.startswith('the returned value.list[0]["odd key"] refers back to the returned value.list;')


async def test_a_sibling_that_is_used_twice_is_no_cycle(lab: Lab) -> None:
    assert await lab.value_of("const a = {}; return [a, a, 1n, a]") == [{}, {}, {"$bigint": "1"}, {}]


async def test_a_value_of_a_hundred_megabytes_fails_by_name_at_the_memory_cap(lab: Lab) -> None:
    name, message = await lab.error_of("return 'x'.repeat(100e6)")
    assert name == "OutOfMemory"
    assert "64 MiB" in message
    assert await lab.value_of("return 1") == 1


async def test_a_large_value_arrives_whole(lab: Lab) -> None:
    value = await lab.value_of("return Array(200).fill('x'.repeat(1e5))", memory_bytes=512 * 2**20)
    assert value == ["x" * 100_000] * 200


async def test_a_value_nested_deeper_than_can_be_decoded_fails_by_name(lab: Lab) -> None:
    name, message = await lab.error_of("let a = 1; for (let i = 0; i < 2000; i++) a = [a]; return a")
    assert name == "RangeError"
    assert "nested too deeply" in message


@pytest.mark.requirement("engine:error:thrown")
@pytest.mark.parametrize(
    ("thrown", "expected"),
    [
        ("new RangeError('r')", ("RangeError", "r")),
        ("Object.assign(new Error('m'), { name: 'Mine' })", ("Mine", "m")),
        ("{ message: 'plain', name: 'Odd' }", ("Odd", "plain")),
        ("5", ("Thrown", "5")),
        ("null", ("Thrown", "null")),
        ("undefined", ("Thrown", "undefined")),
        ("{ a: 1 }", ("Thrown", '{"a":1}')),
        ("Symbol('s')", ("Thrown", "Symbol(s)")),
        ("new Proxy({}, { get() { throw 1; } })", ("Thrown", "an object that cannot be read")),
        (
            "{ get message() { throw 1; }, toJSON() { throw 2; } }",
            ("Thrown", "an object that cannot be read"),
        ),
        ("new AggregateError([new Error('a')], 'all')", ("AggregateError", "all")),
    ],
)
async def test_whatever_is_thrown_is_described(lab: Lab, thrown: str, expected: tuple[str, str]) -> None:
    assert await lab.error_of(f"throw {thrown}") == expected


@pytest.mark.requirement("engine:error:position")
async def test_frames_count_in_lines_of_the_script(lab: Lab) -> None:
    result = await lab.run_script(
        "async function program() {\nconst inner = () => {\n  null.x;\n};\nawait 1;\ninner();\n}"
    )
    assert result.error is not None
    frames = [line.strip() for line in result.error.stack.splitlines()]
    assert frames == ["at inner (program.js:3:3)", "at program (program.js:6:1)"]


@pytest.mark.requirement("engine:error:syntax")
async def test_a_script_that_cannot_be_parsed_is_a_syntax_error_with_its_position(lab: Lab) -> None:
    result = await lab.run_script("async function program() {\n  let y = ;\n}")
    assert result.termination == "runtime_error"
    assert result.error is not None
    assert result.error.name == "SyntaxError"
    assert "program.js:2:" in result.error.stack


async def test_a_rejected_host_call_says_where_it_was_made(lab: Lab) -> None:
    result = await lab.run("\nawait 1;\nawait host.call('break', 1);")
    assert result.error is not None
    assert result.error.message == "no such file: /a"
    assert "program.js:3:" in result.error.stack


async def test_odd_characters_in_the_script_change_nothing(lab: Lab) -> None:
    script = "\ufeffasync function program() {\r\n// \u2028 const a = 1\r\nreturn '\u2029\ud800' // end"
    assert (await lab.run_script(script + "\r\n}")).value == "\u2029\ufffd"


async def test_a_program_of_a_megabyte_runs(lab: Lab) -> None:
    assert await lab.value_of("let n = 0;\n" + "n += 1;\n" * 130_000 + "return n") == 130_000
