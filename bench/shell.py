"""A new process for each command, as a shell starts it."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

from bench.rows import Row
from bench.sessions import write_session

COMMAND = str(Path(sys.executable).with_name("pi-fabric"))
# A real session of Pi's, which may not be part of the project.
PUBLIC_SESSION = (
    Path(__file__).resolve().parents[2] / "shared/sessions/public/pi-mono-before-compaction.jsonl"
)
PUBLIC_ENTRIES, PUBLIC_BYTES = 1_003, 2_400_000
FOLDER = tempfile.TemporaryDirectory()
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


def compact_session() -> float:
    """Milliseconds of `pi-fabric compact` on a session of 2.4 MB."""
    return timed([COMMAND, "compact", str(session()), "--window", "200000"])


@cache
def session() -> Path:
    """The public session where the shared folder is, else one that is made of the same size."""
    if PUBLIC_SESSION.is_file():
        return PUBLIC_SESSION
    path = Path(FOLDER.name) / "session.jsonl"
    write_session(path, entries=PUBLIC_ENTRIES, size_bytes=PUBLIC_BYTES, seed=1)
    return path


def compact_breakdown() -> str:
    """Where the time of `compact` goes, and which session it was."""
    parts = {"python alone": "pass", "import command": "import pi_fabric.cli.compact"}
    times = (f"{name} {timed([sys.executable, '-c', code]):.0f} ms" for name, code in parts.items())
    made = "" if PUBLIC_SESSION.is_file() else " (made here: the public session is not beside the project)"
    return f"{', '.join(times)}; {session().name}{made}"


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
            name="shell-compact",
            target="<= 600 ms [import alone 1,535]",
            limit=600,
            unit="ms",
            measure=compact_session,
            breakdown=compact_breakdown,
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
