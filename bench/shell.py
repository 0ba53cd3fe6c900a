"""A new process for each command, as a shell starts it."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from bench.rows import Row

COMMAND = str(Path(sys.executable).with_name("pi-fabric"))
# What a whole exec takes apart; each line is a process of its own.
PARTS = {
    "python alone": "pass",
    "import compose": "import pi_fabric.compose",
    "import command": "import pi_fabric.cli.exec",
}


def timed(argv: Sequence[str]) -> float:
    """Milliseconds from the start of a process to its end."""
    start = time.perf_counter()
    nothing = subprocess.DEVNULL
    subprocess.run(argv, check=True, stdin=nothing, stdout=nothing, stderr=nothing)
    return (time.perf_counter() - start) * 1000


def exec_empty() -> float:
    """Milliseconds of `pi-fabric exec` with an empty program."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "empty.ts"
        program.touch()
        return timed([COMMAND, "exec", str(program), "--cwd", folder])


def exec_breakdown() -> str:
    """Where the time of `exec` goes."""
    parts = (f"{name} {timed([sys.executable, '-c', code]):.0f} ms" for name, code in PARTS.items())
    return ", ".join(parts)


ROWS = {
    row.name: row
    for row in (
        Row(
            name="shell-exec",
            target="<= 600 ms [1,065]",
            limit=600,
            unit="ms",
            measure=exec_empty,
            breakdown=exec_breakdown,
        ),
        Row(
            name="shell-version",
            target="<= 150 ms",
            limit=150,
            unit="ms",
            measure=partial(timed, [COMMAND, "--version"]),
        ),
    )
}
