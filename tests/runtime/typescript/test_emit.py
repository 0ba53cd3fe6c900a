import os
import tempfile
from pathlib import Path

import anyio
import pytest

from pi_fabric.runtime.typescript.compiler import Compiler
from pi_fabric.runtime.typescript.emit import Emitter
from pi_fabric.runtime.typescript.run import CompilerFailed
from pi_fabric.runtime.typescript.wrapper import CHARS_BEFORE


@pytest.mark.anyio
async def test_types_are_gone_and_the_wrapper_opens_the_script(compiler: Compiler) -> None:
    emitted = await Emitter(compiler, limit_s=20).emit("const n = 1 as number;\nreturn n;")

    assert emitted.javascript == "async function program() {\n    const n = 1;\n    return n;\n}\n"


@pytest.mark.anyio
async def test_an_empty_program_is_an_empty_function(compiler: Compiler) -> None:
    assert (await Emitter(compiler, limit_s=20).emit("")).javascript == "async function program() {\n}\n"


@pytest.mark.anyio
async def test_a_comment_on_the_last_line_does_not_swallow_the_wrapper(compiler: Compiler) -> None:
    emitted = await Emitter(compiler, limit_s=20).emit("return 1; // done")

    assert emitted.javascript.endswith("return 1;\n}\n")


@pytest.mark.anyio
@pytest.mark.requirement("typescript:emit:features")
async def test_enums_namespaces_and_parameter_properties_become_javascript(compiler: Compiler) -> None:
    code = (
        "enum E { A = 1 }\nnamespace N { export const a = 1 }\nclass P { constructor(private a: number) {} }"
    )
    emitted = await Emitter(compiler, limit_s=20).emit(code)

    for piece in ('E["A"] = 1', "N.a = 1", "this.a = a"):
        assert piece in emitted.javascript


@pytest.mark.anyio
@pytest.mark.parametrize("code", ["using x = null as any;", "const d = (a: any) => a;\n@d class A {}"])
async def test_helpers_stand_before_the_program(compiler: Compiler, code: str) -> None:
    script = (await Emitter(compiler, limit_s=20).emit(code)).javascript

    assert script.startswith("var __")
    assert script.count("\nasync function program() {\n") == 1


@pytest.mark.anyio
async def test_the_script_is_sloppy(compiler: Compiler) -> None:
    assert "use strict" not in (await Emitter(compiler, limit_s=20).emit("return 1;")).javascript


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("code", "offset"),
    [
        ("} foo(); async function x() {", 0),
        ("}", 0),
        ("if (a) {}}\nreturn 2;", 9),
        ("using x = null as any;\n} {", 23),
        ("const s = `\n}`; } foo(); async function y() { `\n}`;", 16),
    ],
)
async def test_a_brace_that_ends_the_program_early_is_found(
    compiler: Compiler, code: str, offset: int
) -> None:
    assert (await Emitter(compiler, limit_s=20).emit(code)).early_close == CHARS_BEFORE + offset


@pytest.mark.anyio
@pytest.mark.parametrize(
    "code",
    [
        "const s = `a\n} b\nasync function program() {`; return s;",
        "/*! kept\n} */ return 1;",
        "return { a: [1,\n2] };",
        "if (true) {",
        "const x = ;",
        "const r = /[}]/; return r;",
    ],
)
async def test_a_brace_inside_text_ends_nothing(compiler: Compiler, code: str) -> None:
    assert (await Emitter(compiler, limit_s=20).emit(code)).early_close is None


@pytest.mark.anyio
async def test_parse_errors_come_with_the_script(compiler: Compiler) -> None:
    emitted = await Emitter(compiler, limit_s=20).emit("const x = ;")

    assert [(found.code, found.offset - CHARS_BEFORE) for found in emitted.syntax] == [(1109, 10)]


@pytest.mark.anyio
async def test_a_compiler_that_is_gone_is_named(tmp_path: Path) -> None:
    emitter = Emitter(Compiler(path=tmp_path / "tsgo", version="7.0.0"), limit_s=20)

    with pytest.raises(CompilerFailed, match="could not be started"):
        await emitter.emit("return 1;")


@pytest.mark.anyio
async def test_a_compiler_that_hangs_is_ended(tmp_path: Path) -> None:
    script = tmp_path / "tsgo"
    script.write_text("#!/bin/sh\nexec sleep 60\n")
    script.chmod(0o755)
    emitter = Emitter(Compiler(path=script, version="7.0.0"), limit_s=0.2)

    with anyio.fail_after(20), pytest.raises(CompilerFailed, match=r"longer than 0\.2 s"):
        await emitter.emit("return 1;")


@pytest.mark.anyio
async def test_a_compiler_that_writes_nothing_is_quoted(tmp_path: Path) -> None:
    script = tmp_path / "tsgo"
    script.write_text("#!/bin/sh\necho out of order\n")
    script.chmod(0o755)

    with pytest.raises(CompilerFailed, match="wrote no script: out of order"):
        await Emitter(Compiler(path=script, version="7.0.0"), limit_s=20).emit("return 1;")


@pytest.mark.anyio
async def test_no_file_of_a_program_stays_behind(
    compiler: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    await Emitter(compiler, limit_s=20).emit("return 1;")

    assert await anyio.to_thread.run_sync(os.listdir, tmp_path) == []
