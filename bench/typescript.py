"""Check and emit, warm, side by side as for every program."""

import os
import statistics
import time
from collections.abc import Callable
from functools import partial

import anyio

from bench.rows import Row
from pi_fabric.runtime.typescript import Prepared, TypeScript, generate_declarations
from pi_fabric.runtime.typescript.checker import Checker
from pi_fabric.runtime.typescript.compiler import find_compiler
from pi_fabric.runtime.typescript.emit import Emitter
from pi_fabric.runtime.typescript.wrapper import wrap_for_check

# A sample is the median of so many programs, the first few of a process left out.
PROGRAMS = 15
WARM_UP = 5

SMALL = """\
const text = await pi.read('a.txt');
const lines: string[] = text.split('\\n');
return { count: lines.length };
"""
TEN_LINES = """\
interface Row{0} {{ name: string; size: number }}
async function load{0}(path: string): Promise<Row{0}> {{
  const text = await pi.read({{ path, limit: 20 }});
  const size = text.split('\\n').map((line) => line.length).reduce((a, b) => a + b, 0);
  if (size > 100) print(`large ${{path}}: ${{size}}`);
  const found = (await pi.grep({{ pattern: 'x', path }})) ?? '';
  return {{ name: path + found, size }};
}}
const rows{0}: Row{0}[] = await parallel(['a', 'b'], (path) => load{0}(path), 2);
print(rows{0}.filter((row) => row.size > {0}).map((row) => row.name).join(', '));
"""
LARGE = "".join(TEN_LINES.format(index) for index in range(20))


def sample(code: str) -> float:
    """Milliseconds that one program takes, checker warm."""
    return anyio.run(_prepared, code)


async def _prepared(code: str) -> float:
    declarations = generate_declarations({}, full_code_mode=True)
    times_ms: list[float] = []
    async with TypeScript(environ=os.environ) as typescript:
        for index in range(WARM_UP + PROGRAMS):
            start = time.perf_counter()
            prepared = await typescript.prepare(f"{code}// {index}", declarations)
            times_ms.append((time.perf_counter() - start) * 1000)
            assert isinstance(prepared, Prepared)
            assert prepared.is_checked
    return statistics.median(times_ms[WARM_UP:])


def breakdown(code: str) -> str:
    """What each half takes alone; they run at the same time."""
    check_ms, emit_ms = anyio.run(_halves, code)
    return f"check alone {check_ms:.1f} ms, emit alone {emit_ms:.1f} ms"


async def _halves(code: str) -> tuple[float, float]:
    declarations = generate_declarations({}, full_code_mode=True)
    compiler = await find_compiler(os.environ)
    assert compiler is not None
    emitter = Emitter(compiler, limit_s=20)
    check_ms: list[float] = []
    emit_ms: list[float] = []
    async with anyio.create_task_group() as tasks:
        checker = Checker(compiler, tasks)
        for index in range(WARM_UP + PROGRAMS):
            start = time.perf_counter()
            await checker.check(wrap_for_check(f"{code}// {index}"), declarations)
            check_ms.append((time.perf_counter() - start) * 1000)
            start = time.perf_counter()
            await emitter.emit(f"{code}// {index}")
            emit_ms.append((time.perf_counter() - start) * 1000)
        await checker.aclose()
        tasks.cancel_scope.cancel()
    return statistics.median(check_ms[WARM_UP:]), statistics.median(emit_ms[WARM_UP:])


def _row(name: str, target: str, limit_ms: float, code: str) -> Row:
    measure: Callable[[], float] = partial(sample, code)
    return Row(
        name=name,
        target=target,
        limit=limit_ms,
        unit="ms",
        measure=measure,
        breakdown=partial(breakdown, code),
    )


ROWS: dict[str, Row] = {
    "typescript-small": _row("typescript-small", "<= 20 ms [11-14]", 20, SMALL),
    "typescript-200-lines": _row("typescript-200-lines", "<= 45 ms [83-112]", 45, LARGE),
}
