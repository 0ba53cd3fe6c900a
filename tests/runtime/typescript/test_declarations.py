import pytest
from stubs import stub_actions

from pi_fabric.protocol.actions import Action, CallShape
from pi_fabric.runtime.typescript import Compiler, Prepared, TypeScript, generate_declarations
from pi_fabric.runtime.typescript.batch import check_in_process


async def positions_of(typescript: TypeScript, code: str, declarations: str) -> list[tuple[int, int]] | None:
    prepared = await typescript.prepare(code, declarations)
    if isinstance(prepared, Prepared):
        assert prepared.is_checked
        return None
    return [(problem.line, problem.column) for problem in prepared.problems]


@pytest.mark.requirement("typescript:declarations:stable")
def test_the_same_catalogue_in_another_order_gives_the_same_bytes() -> None:
    actions = stub_actions()
    turned = {name: list(reversed(actions[name])) for name in reversed(actions)}

    assert generate_declarations(actions, full_code_mode=True) == generate_declarations(
        turned, full_code_mode=True
    )


@pytest.mark.anyio
@pytest.mark.requirement("typescript:declarations:full-code-mode")
async def test_the_hosts_tools_are_unknown_without_full_code_mode(typescript: TypeScript) -> None:
    declarations = generate_declarations(stub_actions(), full_code_mode=False)

    for code in ("return pi;", "return extensions;"):
        assert await positions_of(typescript, code, declarations) == [(1, 8)]
    assert await positions_of(typescript, "return [tools, mcp, agents];", declarations) is None


@pytest.mark.anyio
@pytest.mark.requirement("typescript:declarations:disabled")
async def test_a_namespace_that_is_switched_off_is_unknown(typescript: TypeScript) -> None:
    declarations = generate_declarations(stub_actions(), full_code_mode=True, disabled={"mcp"})

    assert await positions_of(typescript, "return await mcp.servers();", declarations) == [(1, 14)]


@pytest.mark.anyio
async def test_every_namespace_is_known_before_its_provider_exists(typescript: TypeScript) -> None:
    declarations = generate_declarations({}, full_code_mode=True)
    code = (
        "await pi.read('a'); await extensions.web({}); await mcp.srv.tool({ q: 1 }); await memory.recall();"
        "await state.get(); await schema.status(); await compact.request({}); await mesh.get({ key: 'k' });"
        "await agents.run({ task: 't' }); await council.run({}); await rlm.query({}); return π.name;"
    )

    assert await positions_of(typescript, code, declarations) is None


@pytest.mark.anyio
async def test_a_provider_that_is_no_namespace_is_reached_through_tools_only(
    typescript: TypeScript, declarations: str
) -> None:
    assert await positions_of(typescript, "return await stub.echo({});", declarations) == [(1, 14)]


@pytest.mark.anyio
@pytest.mark.parametrize(
    "code",
    [
        "await pi.read('a.txt'); await pi.read({ path: 'a', nonsense: 1 }); await pi.read({ file: 'x' });",
        "await pi.read('a.txt', { limit: 5 }); await pi.bash('ls', { timeout: 5 });",
        "await pi.ls(); await pi.ls('src'); await pi.ls({ dir: 'd' });",
        "await pi.grep('p'); await pi.grep('p', 'src'); await pi.grep('p', 'src', 3); await pi.grep({});",
        "await pi.grep('p', { path: 'src' });",
        "await pi.write('p', 'c'); await pi.edit('p', 'old', 'new'); await pi.edit({ edits: [] });",
        "await tools.search('read'); await tools.list(); await tools.describe({ ref: 'pi.read' });",
        "return await parallel([1, 2], async (n) => n + 1, { concurrency: 2 });",
        "return await parallel([() => 1, async () => 2], 2);",
        "return await pipeline([1], (v) => v, async (v, original, index) => [v, original, index]);",
        "phase('p'); phase({ name: 'p', total: 3 }); print(1); log('a'); console.warn('b');",
        "const id = setTimeout((a) => print(a), 5, 'x'); clearTimeout(id); return budget.remaining();",
        "return [await agent('do it', { label: 'l' }), await workflow.agent('x'), workflow.item({})];",
    ],
)
async def test_the_forms_that_a_program_may_use_pass(
    typescript: TypeScript, declarations: str, code: str
) -> None:
    assert await positions_of(typescript, code, declarations) is None


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("code", "column"),
    [
        ("await state.get({ a: 1 });", 17),
        ("await pi.read('a', 'b');", 20),
        ("await pi.read('a', 5);", 20),
        ("await pi.read('a', 'b', 'c');", 20),
        ("await pi.read();", 10),
        ("await pi.edit('a', 'b');", 10),
        ("await memory.expand();", 14),
        ("await agents.run({}, {});", 22),
    ],
)
@pytest.mark.requirement("typescript:pi:second-argument", "typescript:declarations:arity")
async def test_a_wrong_number_of_arguments_is_refused(
    typescript: TypeScript, declarations: str, code: str, column: int
) -> None:
    assert await positions_of(typescript, code, declarations) == [(1, column)]


@pytest.mark.anyio
async def test_the_catalogues_types_reach_the_program(typescript: TypeScript) -> None:
    action = Action(
        name="read",
        description="Reads; */ and never ends the comment.",
        risk="read",
        input_schema={"properties": {"path": {"type": "string"}}, "required": ["path"]},
        returns="string",
        shape=CallShape(shorthand="path"),
    )
    declarations = generate_declarations({"pi": [action]}, full_code_mode=True)

    assert "read(path: string | { path: string } | AnyObject, ...options: CallOptions[])" in declarations
    assert await positions_of(typescript, "return (await pi.read('a')) * 2;", declarations) == [(1, 8)]


def test_an_action_with_an_unusual_name_is_quoted_or_left_out() -> None:
    actions = [
        Action(name=name, description="", risk="read", input_schema={})
        for name in ("list-issues", 'a"b', "x.y")
    ]
    text = generate_declarations({"extensions": actions}, full_code_mode=True)

    assert '"list-issues"(args?: AnyObject): Promise<any>;' in text
    assert 'a"b' not in text
    assert "x.y" not in text


@pytest.mark.anyio
async def test_declarations_have_no_errors_of_their_own(compiler: Compiler, declarations: str) -> None:
    assert await check_in_process(compiler, declarations, "", limit_s=20) == []
