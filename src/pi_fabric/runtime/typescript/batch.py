"""Check one program in a process of its own: slower, and without a server that could be broken.

Differs from the server in one way: when the text cannot be parsed, only that is reported.
"""

from functools import partial
from pathlib import Path
from typing import Final

from pi_fabric.runtime.typescript.compiler import Compiler
from pi_fabric.runtime.typescript.folder import private_folder
from pi_fabric.runtime.typescript.reported import Reported, parse_printed
from pi_fabric.runtime.typescript.run import CompilerFailed, output_of
from pi_fabric.runtime.typescript.server import DECLARATIONS, PROGRAM, write_workspace

# Twenty thousand problems; a program with more of them is told about none.
MAX_PRINTED_BYTES: Final = 4 * 1024 * 1024


async def check_in_process(
    compiler: Compiler, source: str, declarations: str, *, limit_s: float
) -> list[Reported]:
    """Return the errors of a wrapped program.

    Args:
        compiler: Verified compiler.
        source: The wrapped program.
        declarations: What is declared around it.
        limit_s: Seconds the process may take.

    Raises:
        CompilerFailed: If the compiler did not come to an end, or failed for another reason.
    """
    fill = partial(_write, source=source, declarations=declarations)
    async with private_folder(fill) as folder:
        printed = await output_of(
            [str(compiler.path), "--pretty", "false", "--project", "."],
            cwd=folder,
            limit_s=limit_s,
            max_bytes=MAX_PRINTED_BYTES,
        )
    found = parse_printed(printed, source)
    if not found and printed.strip():
        raise CompilerFailed(f"the compiler could not check: {printed.strip()[:200]}")
    return found


def _write(folder: Path, *, source: str, declarations: str) -> None:
    write_workspace(folder)
    (folder / PROGRAM).write_bytes(source.encode())
    (folder / DECLARATIONS).write_bytes(declarations.encode())
