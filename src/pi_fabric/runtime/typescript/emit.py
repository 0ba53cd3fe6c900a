"""Turn a program into JavaScript: one run of the compiler without any check, beside the checker.

Takes about five milliseconds, because no library is loaded. The compiler writes files only, so each run
has a private folder that is gone afterwards.
"""

import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import msgspec

from pi_fabric.runtime.typescript.compiler import Compiler
from pi_fabric.runtime.typescript.folder import private_folder
from pi_fabric.runtime.typescript.reported import Reported, parse_printed
from pi_fabric.runtime.typescript.run import CompilerFailed, output_of
from pi_fabric.runtime.typescript.sourcemap import MappedPositions
from pi_fabric.runtime.typescript.wrapper import HEADER, closing_offset, wrap

# Twenty thousand syntax errors; a program that has more is told about the first ones.
MAX_PRINTED_BYTES: Final = 4 * 1024 * 1024
# Two at a time keep two cores busy; a hundred at once would only wait for each other.
PARALLEL_EMITS: Final = 2

OPTIONS: Final = (
    "--noCheck", "--noLib", "--noResolve", "--types", "", "--target", "es2022", "--module", "esnext",
    "--strict", "false", "--pretty", "false", "--newLine", "lf", "--removeComments", "--sourceMap",
)  # fmt: skip
# Programs are sloppy scripts: writing to a frozen namespace is ignored, as the specification has it.
_STRICT: Final = '"use strict";\n'
_MAP_COMMENT: Final = "//# sourceMappingURL=program.js.map"
_TOP_LEVEL = re.compile(r"^\S", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Emitted:
    """A script and what the parser said on the way."""

    javascript: str
    positions: MappedPositions
    syntax: tuple[Reported, ...]
    """Parse errors; a script is written in spite of them."""
    early_close: int | None
    """Offset in the wrapped source of a brace that closes the wrapper too early."""


class _Map(msgspec.Struct):
    mappings: str


class Emitter:
    """Emits programs with one compiler; calls may overlap."""

    def __init__(self, compiler: Compiler, *, limit_s: float) -> None:
        self._compiler = compiler
        self._limit_s = limit_s
        self._slots = anyio.CapacityLimiter(PARALLEL_EMITS)

    async def emit(self, code: str) -> Emitted:
        """Compile one program.

        Raises:
            CompilerFailed: If no script came out within the time limit.
        """
        async with self._slots, private_folder(partial(_write, source=wrap(code))) as folder:
            printed = await output_of(
                [str(self._compiler.path), *OPTIONS, "program.ts"],
                cwd=folder,
                limit_s=self._limit_s,
                max_bytes=MAX_PRINTED_BYTES,
            )
            return await anyio.to_thread.run_sync(_read_result, folder, code, printed)


def _write(folder: Path, *, source: str) -> None:
    (folder / "program.ts").write_bytes(source.encode())


def _read_result(folder: Path, code: str, printed: str) -> Emitted:
    try:
        script = (folder / "program.js").read_bytes().decode()
        mappings = msgspec.json.decode((folder / "program.js.map").read_bytes(), type=_Map).mappings
    except (OSError, ValueError) as error:
        said = printed.strip().partition("\n")[0][:200]
        raise CompilerFailed(f"the compiler wrote no script{said and f': {said}'}") from error
    source = wrap(code)
    syntax = tuple(parse_printed(printed, source))
    if script.startswith(_STRICT):
        script = script.removeprefix(_STRICT)
        mappings = mappings.removeprefix(";")
    script = script.rstrip().removesuffix(_MAP_COMMENT)
    positions = MappedPositions(code=code, source=source, javascript=script, mappings=mappings)
    return Emitted(
        javascript=script,
        positions=positions,
        syntax=syntax,
        early_close=_early_close(script, positions, closing_offset(code), is_clean=not syntax),
    )


def _early_close(script: str, positions: MappedPositions, expected: int, *, is_clean: bool) -> int | None:
    """Offset of the brace that closes the wrapper, unless it is the wrapper's own.

    The compiler indents what is inside the function, so what starts a line without a blank is outside
    it or continues a template; only the former starts a segment of the map.
    """
    start = script.index(HEADER) + len(HEADER)
    lines = [match.start() for match in _TOP_LEVEL.finditer(script, start)]
    if is_clean and len(lines) == 1 and script.startswith("}", lines[0]):
        return None
    for offset in lines:
        if positions.starts_segment(offset):
            found = positions.source_offset(offset)
            return found if found is not None and found < expected else None
    return None
