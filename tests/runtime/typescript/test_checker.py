import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import psutil
import pytest

from pi_fabric.base.process import child_process, inherited_environment
from pi_fabric.runtime.typescript.batch import check_in_process
from pi_fabric.runtime.typescript.checker import Checker, CheckTooCostly
from pi_fabric.runtime.typescript.compiler import Compiler
from pi_fabric.runtime.typescript.run import CompilerFailed
from pi_fabric.runtime.typescript.wrapper import CHARS_BEFORE, wrap_for_check

# Each level of this type triples the work of the one above.
ENDLESS = """
type Grow<T extends any[], N> = N extends 0 ? T : [...Grow<[...T, 0], 1 | 2 | N>, ...T];
type Wide<A extends string> = A extends `${infer H}${infer R}` ? `${H}${Wide<R>}` | `${R}${H}` : A;
type Digit = '0'|'1'|'2'|'3'|'4'|'5'|'6'|'7'|'8'|'9';
type Hundred = `${Digit}${Digit}`;
type Many = `${Hundred}${Hundred}`;
const a: Wide<Many> = null as any; const b: Wide<`${Many}`> = a;
"""


@asynccontextmanager
async def open_checker(compiler: Compiler, **limits: float) -> AsyncGenerator[Checker]:
    async with anyio.create_task_group() as tasks:
        checker = Checker(
            compiler,
            tasks,
            limit_s=limits.get("limit_s", 10),
            idle_s=limits.get("idle_s", 300),
            memory_bytes=int(limits.get("memory_bytes", 1024**3)),
        )
        try:
            yield checker
        finally:
            await checker.aclose()
            tasks.cancel_scope.cancel()


async def codes(checker: Checker, code: str, declarations: str = "") -> list[int]:
    return [found.code for found in await checker.check(wrap_for_check(code), declarations)]


@pytest.mark.anyio
@pytest.mark.requirement("typescript:checker:lazy")
async def test_nothing_runs_before_the_first_check_and_after_the_last(compiler: Compiler) -> None:
    async with open_checker(compiler) as checker:
        assert checker.pid is None
        await codes(checker, "return 1;")
        pid = checker.pid
        assert pid is not None
        assert psutil.pid_exists(pid)

    assert not psutil.pid_exists(pid)


@pytest.mark.anyio
@pytest.mark.requirement("typescript:checker:resident")
async def test_one_server_checks_program_after_program(compiler: Compiler) -> None:
    async with open_checker(compiler) as checker:
        assert await codes(checker, "foo();") == [2304]
        pid = checker.pid
        assert await codes(checker, "return 1;") == []
        assert await codes(checker, "const x = ;") == [1109]
        assert checker.pid == pid


@pytest.mark.anyio
async def test_new_declarations_count_from_the_next_check(compiler: Compiler) -> None:
    async with open_checker(compiler) as checker:
        assert await codes(checker, "foo();", "declare function foo(): void;") == []
        assert await codes(checker, "foo();", "declare function bar(): void;") == [2304]


@pytest.mark.anyio
@pytest.mark.requirement("typescript:checker:restart")
async def test_a_server_that_died_between_checks_is_replaced(compiler: Compiler) -> None:
    async with open_checker(compiler) as checker:
        await codes(checker, "return 1;")
        first = checker.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)

        assert await codes(checker, "foo();") == [2304]
        assert checker.pid not in (None, first)


@pytest.mark.anyio
@pytest.mark.requirement("typescript:checker:fallback")
async def test_a_server_that_never_answers_leaves_a_process_per_check(
    compiler: Compiler, tmp_path: Path
) -> None:
    script = tmp_path / "tsgo"
    script.write_text(f'#!/bin/sh\n[ "$1" = --lsp ] && exit 1\nexec \'{compiler.path}\' "$@"\n')
    script.chmod(0o755)

    async with open_checker(Compiler(path=script, version="7.0.0")) as checker:
        assert await codes(checker, "foo();") == [2304]
        assert await codes(checker, "return 1;") == []


@pytest.mark.anyio
@pytest.mark.parametrize(
    "noise", ["garbage", "Content-Length: 999999999999\\r\\n\\r\\n", "Content-Length: 2\\r\\n\\r\\n[]"]
)
async def test_a_server_that_talks_nonsense_is_not_believed(
    compiler: Compiler, tmp_path: Path, noise: str
) -> None:
    script = tmp_path / "tsgo"
    script.write_text(
        f"#!/bin/sh\n[ \"$1\" = --lsp ] && {{ printf '{noise}'; exit 0; }}\nexec '{compiler.path}' \"$@\"\n"
    )
    script.chmod(0o755)

    async with open_checker(Compiler(path=script, version="7.0.0")) as checker:
        assert await codes(checker, "foo();") == [2304]


@pytest.mark.anyio
async def test_a_compiler_that_can_do_nothing_is_reported(tmp_path: Path) -> None:
    script = tmp_path / "tsgo"
    script.write_text("#!/bin/sh\necho out of order\n")
    script.chmod(0o755)

    async with open_checker(Compiler(path=script, version="7.0.0")) as checker:
        with pytest.raises(CompilerFailed, match="out of order"):
            await codes(checker, "return 1;")


@pytest.mark.anyio
@pytest.mark.requirement("typescript:checker:time")
async def test_a_check_without_end_is_ended_and_the_next_one_works(compiler: Compiler) -> None:
    async with open_checker(compiler, limit_s=1.0) as checker:
        with anyio.fail_after(30), pytest.raises(CheckTooCostly, match="longer than 1 s"):
            await codes(checker, ENDLESS)

        assert await codes(checker, "foo();") == [2304]


@pytest.mark.anyio
@pytest.mark.requirement("typescript:checker:memory")
async def test_a_check_that_grows_too_large_is_ended_and_the_next_one_works(compiler: Compiler) -> None:
    async with open_checker(compiler, limit_s=20, memory_bytes=96 * 1024**2) as checker:
        with anyio.fail_after(30), pytest.raises(CheckTooCostly, match="more than 96 MiB"):
            await codes(checker, ENDLESS)

        assert await codes(checker, "foo();") == [2304]


@pytest.mark.anyio
@pytest.mark.requirement("typescript:checker:idle")
async def test_an_idle_server_ends_and_comes_back(compiler: Compiler) -> None:
    async with open_checker(compiler, idle_s=0.05) as checker:
        await codes(checker, "return 1;")
        pid = checker.pid
        assert pid is not None
        await anyio.to_thread.run_sync(psutil.Process(pid).wait, 20)

        assert await codes(checker, "foo();") == [2304]


def sizes_of(name: str, folder: Path) -> list[int]:
    return [path.stat().st_size for path in folder.glob(f"*/{name}")]


OWNER = """
import anyio, sys
from pi_fabric.runtime.typescript import find_compiler
from pi_fabric.runtime.typescript.checker import Checker
from pi_fabric.runtime.typescript.wrapper import wrap_for_check

async def main():
    async with anyio.create_task_group() as tasks:
        checker = Checker(await find_compiler({}), tasks)
        await checker.check(wrap_for_check("return 1;"), "")
        print(checker.pid, flush=True)
        await checker.check(wrap_for_check(sys.stdin.read()), "")

anyio.run(main)
"""


@pytest.mark.anyio
@pytest.mark.requirement("typescript:checker:lazy")
async def test_a_killed_owner_takes_a_busy_server_with_it(tmp_path: Path) -> None:
    # The workspace of an owner that was killed stays; it holds no program.
    environ = inherited_environment({"PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)})
    with anyio.fail_after(30):
        async with child_process([sys.executable, "-c", OWNER], env=environ) as owner:
            assert owner.stdin is not None
            assert owner.stdout is not None
            server = psutil.Process(int(await owner.stdout.receive()))
            await owner.stdin.send(ENDLESS.encode())
            await owner.stdin.aclose()
            before_s = server.cpu_times().user
            while server.cpu_times().user < before_s + 0.1:  # noqa: ASYNC110 - busy by now, and not before
                await anyio.sleep(0.01)
            owner.kill()
            await anyio.to_thread.run_sync(server.wait, 20)

    assert sizes_of("program.ts", tmp_path) == [0]


@pytest.mark.anyio
async def test_a_cancelled_check_leaves_the_next_one_unharmed(compiler: Compiler) -> None:
    async with open_checker(compiler) as checker:
        with anyio.move_on_after(0.2):
            await codes(checker, ENDLESS)

        with anyio.fail_after(30):
            assert await codes(checker, "foo();") == [2304]


@pytest.mark.anyio
async def test_checks_at_the_same_time_take_turns(compiler: Compiler) -> None:
    found: dict[int, list[int]] = {}

    async with open_checker(compiler) as checker:

        async def check(index: int) -> None:
            found[index] = await codes(checker, "foo();" if index % 2 else "return 1;")

        async with anyio.create_task_group() as tasks:
            for index in range(20):
                tasks.start_soon(check, index)

    assert found == {index: [2304] if index % 2 else [] for index in range(20)}


@pytest.mark.anyio
@pytest.mark.parametrize(
    "code",
    [
        "foo();\r\n'😀'; bar();\r\n",
        "const x = ;",
        "'\u2028'; foo();\u2028bar();",
        "[1].map((a, b, c, d) => 1); f(1);",
        "// @ts-nocheck\nfoo()",
    ],
)
@pytest.mark.requirement("typescript:checker:fallback")
async def test_both_ways_find_the_same(compiler: Compiler, code: str) -> None:
    source = wrap_for_check(code)
    async with open_checker(compiler) as checker:
        resident = await checker.check(source, "declare function f(): void;")
    alone = await check_in_process(compiler, source, "declare function f(): void;", limit_s=20)

    assert [(one.code, one.offset) for one in alone] == [(one.code, one.offset) for one in resident]
    assert [one.message.split() for one in alone] == [one.message.split() for one in resident]


@pytest.mark.anyio
@pytest.mark.requirement("typescript:checker:files")
@pytest.mark.parametrize(
    "form", ['/// <reference path="{0}"/>', "await import('{0}');", "type T = import('{0}').T;"]
)
async def test_a_program_cannot_make_the_checker_read_a_file(
    compiler: Compiler, tmp_path: Path, form: str
) -> None:
    secret = tmp_path / "secret.ts"
    secret.write_text("const leaked: number = 'SECRET';\ndeclare const fromSecret: 1;\n")
    code = f"{form.format(secret)}\nfromSecret;"

    async with open_checker(compiler) as checker:
        found = await checker.check(wrap_for_check(code), "")

    assert any(
        one.code in (2304, 2552) and one.offset == CHARS_BEFORE + code.index("fromSecret") for one in found
    )
    assert not any("SECRET" in one.message for one in found)
