"""Drives one real Pi in RPC mode, for tests, the demo and the bench."""

import json
import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from pi_fabric.base.process import PIPE, child_process
from tools import install_pi
from tools.scripted_model import ScriptedModel

Event: TypeAlias = dict[str, Any]
Dialog: TypeAlias = Callable[[Event], Event | None]
"""Answers a question of Pi's: `{"confirmed": true}`, `{"value": ...}`; None leaves it open."""

MAX_EVENT_BYTES = 256 * 1024 * 1024
# Longer than any test may take: a hang guard, not a measure.
ANSWER_TIMEOUT_S = 60.0


def write_agent_dir(folder: Path, model: ScriptedModel, **settings: Any) -> Path:
    """Make a Pi agent folder that knows only the scripted model; `settings` come on top."""
    folder.mkdir(parents=True, exist_ok=True)
    files = model.pi_files()
    files["settings.json"] = json.dumps(json.loads(files["settings.json"]) | settings)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def pi_environment(agent_dir: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Environment for an isolated, offline Pi."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    home = agent_dir.parent
    isolated = {"HOME": str(home), "PI_CODING_AGENT_DIR": str(agent_dir), "PI_OFFLINE": "1"}
    return kept | isolated | dict(extra or {})


def pi_argv(version: str, *arguments: str) -> list[str]:
    """Command line of an installed Pi."""
    return [str(install_pi.node()), str(install_pi.entry(version)), *arguments]


class PiSession:
    """One running Pi; every event it wrote is kept in `events`."""

    def __init__(self, process: Process, dialog: Dialog) -> None:
        self._process = process
        self._dialog = dialog
        self._count = 0
        self._arrived = anyio.Event()
        self._has_ended = False
        self.events: list[Event] = []

    @property
    def pid(self) -> int:
        """Process id of Pi."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """Exit code of Pi, None while it runs."""
        return self._process.returncode

    async def command(self, kind: str, **fields: Any) -> Event:
        """Send one command and return its response."""
        identity = await self.send(kind, **fields)
        return await self.wait_for(lambda e: e.get("type") == "response" and e.get("id") == identity)

    async def send(self, kind: str, **fields: Any) -> str:
        """Send one command without waiting; returns its id."""
        self._count += 1
        identity = f"c{self._count}"
        await self._write({"id": identity, "type": kind} | fields)
        return identity

    async def prompt(self, text: str) -> list[Event]:
        """Send a prompt and return the events up to the end of the whole run.

        Raises:
            RuntimeError: If Pi refused it.
        """
        start = len(self.events)
        response = await self.command("prompt", message=text)
        if not response.get("success"):
            raise RuntimeError(str(response))
        if not text.startswith("/"):
            await self.wait_for(lambda event: event.get("type") == "agent_settled", start=start)
        return self.events[start:]

    async def wait_for(self, matches: Callable[[Event], bool], *, start: int = 0) -> Event:
        """Return the first event from `start` on that matches, now or when it arrives.

        Raises:
            EOFError: If Pi ended without it.
        """
        with anyio.fail_after(ANSWER_TIMEOUT_S):
            seen = start
            while True:
                for event in self.events[seen:]:
                    if matches(event):
                        return event
                seen = max(start, len(self.events))
                if self._has_ended:
                    message = f"Pi ended (exit code {self._process.returncode})"
                    raise EOFError(message)
                await self._arrived.wait()

    async def close(self) -> int | None:
        """Close Pi's stdin, which is its orderly end, and return its exit code."""
        assert self._process.stdin is not None
        await self._process.stdin.aclose()
        with anyio.fail_after(ANSWER_TIMEOUT_S):
            return await self._process.wait()

    async def read_events(self) -> None:
        """Collect events until Pi's stdout ends."""
        assert self._process.stdout is not None
        stream = BufferedByteReceiveStream(self._process.stdout)
        with suppress(anyio.EndOfStream, anyio.IncompleteRead, anyio.ClosedResourceError):
            while True:
                event: Event = json.loads(await stream.receive_until(b"\n", MAX_EVENT_BYTES))
                self.events.append(event)
                if event.get("type") == "extension_ui_request":
                    await self._answer(event)
                self._wake()
        self._has_ended = True
        self._wake()

    async def _answer(self, request: Event) -> None:
        answer = self._dialog(request)
        if answer is not None:
            await self._write({"type": "extension_ui_response", "id": request["id"]} | answer)

    async def _write(self, message: Event) -> None:
        assert self._process.stdin is not None
        await self._process.stdin.send(json.dumps(message).encode() + b"\n")

    def _wake(self) -> None:
        self._arrived.set()
        self._arrived = anyio.Event()


def confirm_everything(request: Event) -> Event | None:
    """A dialog that says yes to every question of yes or no."""
    return {"confirmed": True} if request["method"] == "confirm" else None


@asynccontextmanager
async def pi_session(
    version: str,
    *,
    cwd: Path,
    env: Mapping[str, str],
    arguments: Sequence[str] = (),
    dialog: Dialog = confirm_everything,
    stderr: Path | None = None,
) -> AsyncGenerator[PiSession]:
    """Run Pi in RPC mode; the whole tree is gone afterwards.

    Args:
        version: An installed version.
        cwd: The project.
        env: Whole environment, see `pi_environment`.
        arguments: More of Pi's arguments.
        dialog: Answers Pi's questions.
        stderr: File for Pi's log; None drops it.
    """
    argv = pi_argv(version, "--mode", "rpc", *arguments)
    with (stderr or Path(os.devnull)).open("ab") as log:
        async with (
            child_process(argv, cwd=cwd, env=env, stdin=PIPE, stdout=PIPE, stderr=log) as process,
            anyio.create_task_group() as tasks,
        ):
            session = PiSession(process, dialog)
            tasks.start_soon(session.read_events)
            yield session
            # While its events are still read, Pi ends by itself; the block's end only makes sure.
            with anyio.move_on_after(2):
                await session.close()
            tasks.cancel_scope.cancel()
