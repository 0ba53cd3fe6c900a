"""What the tests of the memory commands share: a home with session files, and the real command in it."""

import fcntl
import json
import os
import pty
import struct
import sys
import termios
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Literal

import anyio
import anyio.to_thread
import pytest

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.base.process import DEVNULL, PIPE, child_process, inherited_environment
from pi_fabric.cli import main

ENTRY = "import sys; from pi_fabric.cli import main; sys.exit(main())"
COLUMNS = 80
# What decides about colours and width besides the terminal.
_LOOKS = {"NO_COLOR", "COLUMNS", "FORCE_COLOR"}


class Shell:
    """Runs `pi-fabric` in a home of its own that holds session files."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = home
        self.work = home / "work"
        self.index = home / "agent" / "fabric" / "memory-index"
        self._capsys = capsys
        self.code = 0
        self.err = ""

    def __call__(self, *arguments: str) -> str:
        """Run a command line and return what it printed, as a pipe gets it."""
        self.code = main(arguments)
        captured = self._capsys.readouterr()
        self.err = captured.err
        return captured.out

    def json(self, *arguments: str) -> JsonObject:
        return json.loads(self(*arguments, "--json"))

    def configure(self, **memory: Json) -> None:
        (self.home / "agent").mkdir(exist_ok=True)
        (self.home / "agent" / "fabric.json").write_text(json.dumps({"memory": memory}))

    def session(
        self, session_id: str, *texts: str, cwd: Path | None = None, day: int = 1, lines: Sequence[Json] = ()
    ) -> Path:
        """Write a session in which user and assistant take turns, last written on a day of January 2026.

        Entry N has the id `<session>-N` and is a minute later than the one before.
        """
        project = cwd or self.work
        name = "--" + str(project).strip("/").replace("/", "-") + "--"
        file = self.home / "agent" / "sessions" / name / f"2026-01-{day:02}_{session_id}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        header = {"type": "session", "version": 3, "id": session_id, "timestamp": "t", "cwd": str(project)}
        entries: list[Json] = [header]
        for number, text in enumerate(texts):
            role = "assistant" if number % 2 else "user"
            parent = f"{session_id}-{number - 1}" if number else None
            entries.append(entry(f"{session_id}-{number}", parent, role, text, day=day, minute=number))
        file.write_text("".join(json.dumps(line) + "\n" for line in (*entries, *lines)), encoding="utf-8")
        noon_s = 1_767_268_800 + (day - 1) * 86_400
        os.utime(file, (noon_s, noon_s))
        return file


@dataclass
class Ended:
    """How a process ended, and what a terminal or a pipe got of it."""

    code: int
    out: str
    err: str


async def in_terminal(
    shell: Shell, *arguments: str, stream: Literal["out", "err"], **variables: str
) -> Ended:
    """Run a command line in a process; one of its streams is a terminal of 80 columns, the other a pipe."""
    env = inherited_environment({"TERM": "xterm-256color", "PYTHONPATH": os.pathsep.join(sys.path)})
    env |= {"HOME": str(shell.home), "PI_CODING_AGENT_DIR": str(shell.home / "agent")}
    env = {name: value for name, value in env.items() if name not in _LOOKS} | variables
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    got = {"out": b"", "err": b""}
    argv = [sys.executable, "-c", ENTRY, *arguments]
    with (
        anyio.fail_after(50),
        os.fdopen(ours, "rb", buffering=0) as screen,
        os.fdopen(theirs, "wb", buffering=0) as terminal,
    ):
        async with child_process(
            argv,
            cwd=shell.work,
            env=env,
            stdin=DEVNULL,
            stdout=terminal if stream == "out" else PIPE,
            stderr=terminal if stream == "err" else PIPE,
        ) as process:
            # The child alone holds it now, so that its end ends the reading.
            terminal.close()
            pipe = process.stderr if stream == "out" else process.stdout
            assert pipe is not None
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_collect, screen, stream, got)
                got["err" if stream == "out" else "out"] = b"".join([chunk async for chunk in pipe])
            code = await process.wait()
    return Ended(code, got["out"].decode(), got["err"].decode())


async def _collect(screen: FileIO, name: str, got: dict[str, bytes]) -> None:
    def read() -> bytes:
        chunks: list[bytes] = []
        # Linux calls it an error when nobody is left who could write.
        with suppress(OSError):
            while chunk := screen.read(65_536):
                chunks.append(chunk)
        return b"".join(chunks)

    got[name] = (await anyio.to_thread.run_sync(read)).replace(b"\r\n", b"\n")


def entry(
    entry_id: str, parent: str | None, role: str, text: str, *, day: int = 1, minute: int = 0
) -> JsonObject:
    content: Json = text if role == "user" else [{"type": "text", "text": text}]
    return {
        "type": "message",
        "id": entry_id,
        "parentId": parent,
        "timestamp": f"2026-01-{day:02}T12:{minute:02}:00.000Z",
        "message": {"role": role, "content": content},
    }
