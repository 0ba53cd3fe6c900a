"""One Pi in RPC mode, as the benchmark drives it: commands, the end of a run, and how Pi ended.

Nothing of what goes over the line is kept but answers. Every wait ends when Pi does; the caller bounds the
rest.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import anyio
from anyio.abc import Process

from pi_fabric.base.errors import HostError, LimitReached
from pi_fabric.base.groups import sole_exception
from pi_fabric.base.jsonvalue import (
    Json,
    JsonObject,
    decode,
    encode,
    is_object,
    object_or_empty,
    text_or_empty,
)
from pi_fabric.base.process import PIPE, child_process
from pi_fabric.certify.resume.frames import FrameSplitter
from pi_fabric.certify.resume.scrub import Scrubber

PI_REFUSED: Final = 1
"""Code of a `HostError`: Pi answered that it could not do something."""
PI_GONE: Final = 2
"""Code of a `HostError`: Pi has ended, or what it writes is no protocol."""

# The last words of a crash; the stack above them helps nobody in a report.
STDERR_BYTES: Final = 8 * 1024
MAX_WORDS_BYTES: Final = 300
# After its output has ended, Pi's exit code is there within this.
_EXIT_S: Final = 5.0
# Dialogs that wait for an answer; the others only tell.
_QUESTIONS: Final = {"select", "confirm", "input", "editor"}


class PiLine:
    """The line to one Pi; made by `open_pi`."""

    def __init__(self, process: Process, scrub: Scrubber) -> None:
        self._process = process
        self._scrub = scrub
        self._count = 0
        self._answers: dict[str, JsonObject] = {}
        self._changed = anyio.Event()
        self._settled = 0
        self._notice = ""
        self._ended = ""
        self._stderr = bytearray()
        self._is_cut = False
        self._stderr_ended = anyio.Event()

    async def command(self, kind: str, **fields: Json) -> JsonObject:
        """Send one command and return the data of its answer.

        Raises:
            HostError: If Pi refuses it (`PI_REFUSED`) or is gone (`PI_GONE`).
        """
        self._count += 1
        identity = f"r{self._count}"
        self._notice = ""
        await self._send({"id": identity, "type": kind, **fields})
        while identity not in self._answers:
            await self._wait()
        answer = self._answers.pop(identity)
        if answer.get("success") is not True:
            words = str(answer.get("error") or "no reason given")
            # Pi says only that it was cancelled; an extension has told the person why.
            told = f"{words} ({self._notice})" if self._notice else words
            raise HostError(PI_REFUSED, f"Pi refused {kind}: {self._scrub.line(told, MAX_WORDS_BYTES)}")
        return object_or_empty(answer.get("data"))

    async def prompt(self, text: str) -> None:
        """Send a prompt and return when everything that came of it has ended.

        Raises:
            HostError: If Pi refuses it or is gone.
        """
        before = self._settled
        data = await self.command("prompt", message=text)
        if data.get("disposition") == "handled":
            raise HostError(PI_REFUSED, "an extension took the prompt, so the model never saw it")
        while self._settled == before:
            await self._wait()

    async def read_output(self) -> None:
        """Take in frames until Pi's output ends."""
        assert self._process.stdout is not None
        splitter = FrameSplitter()
        try:
            with suppress(OSError, anyio.ClosedResourceError, anyio.BrokenResourceError):
                async for data in self._process.stdout:
                    for frame in splitter.feed(data):
                        await self._take(frame)
            with anyio.move_on_after(_EXIT_S):
                await self._process.wait()
                # Its last words say why it ended; a grandchild may hold the pipe for ever.
                await self._stderr_ended.wait()
            code = self._process.returncode
            self._end("Pi ended" if code is None else f"Pi ended (exit code {code})")
        except (LimitReached, ValueError) as error:
            self._end(f"what Pi writes is no protocol ({error})")

    async def read_stderr(self) -> None:
        """Keep the last of what Pi says on standard error."""
        assert self._process.stderr is not None
        with suppress(OSError, anyio.ClosedResourceError, anyio.BrokenResourceError):
            async for data in self._process.stderr:
                self._stderr += data
                excess = len(self._stderr) - STDERR_BYTES
                if excess > 0:
                    self._is_cut = True
                    del self._stderr[:excess]
        self._stderr_ended.set()

    def last_words(self) -> str:
        """The end of Pi's standard error in one line, without the credential; "" when it said nothing."""
        text = self._scrub(self._stderr.decode("utf-8", "replace"))
        if self._is_cut:
            # Inside a key perhaps, of which the rest then stands at the beginning, not recognized.
            text = text[self._scrub.longest_bytes :]
        lines = text.strip().split("\n")
        told = [line for line in lines if line.strip() and not line.lstrip().startswith(("at ", "Node.js v"))]
        return self._scrub.line(" ".join(told[-3:]), MAX_WORDS_BYTES)

    async def _take(self, frame: bytes) -> None:
        message = decode(frame)
        if not is_object(message):
            return
        kind, method = message.get("type"), text_or_empty(message.get("method"))
        if kind == "response" and isinstance(message.get("id"), str):
            self._answers[message["id"]] = message
        elif kind == "agent_settled":
            self._settled += 1
        elif kind == "extension_ui_request" and method == "notify":
            self._notice = text_or_empty(message.get("message"))
        elif kind == "extension_ui_request" and method in _QUESTIONS:
            # Nobody is there to ask, and a question that stays open would hang the run.
            with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                await self._write(
                    {"type": "extension_ui_response", "id": message.get("id"), "cancelled": True}
                )
        else:
            return
        self._wake()

    async def _send(self, message: JsonObject) -> None:
        try:
            await self._write(message)
        except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            # Pi is ending; how, its output's end will tell.
            while not self._ended:
                await self._wait()

    async def _write(self, message: JsonObject) -> None:
        assert self._process.stdin is not None
        await self._process.stdin.send(encode(message) + b"\n")

    async def _wait(self) -> None:
        if self._ended:
            words = self.last_words()
            raise HostError(PI_GONE, f"{self._ended}: {words}" if words else self._ended)
        await self._changed.wait()

    def _end(self, how: str) -> None:
        self._ended = how
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


@asynccontextmanager
async def open_pi(
    argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], scrub: Scrubber
) -> AsyncGenerator[PiLine]:
    """Run Pi while the block is open; its whole tree is gone afterwards.

    Args:
        argv: Whole command line.
        cwd: The repository.
        env: Whole environment.
        scrub: Goes over every word of Pi's that is shown.

    Raises:
        OSError: If Pi cannot be started.
    """
    with sole_exception():
        async with (
            child_process(argv, cwd=cwd, env=env, stdin=PIPE, stdout=PIPE, stderr=PIPE) as process,
            anyio.create_task_group() as readers,
        ):
            line = PiLine(process, scrub)
            readers.start_soon(line.read_output)
            readers.start_soon(line.read_stderr)
            yield line
            # Read on while Pi ends by itself: one that is stuck on a full pipe never would.
            assert process.stdin is not None
            with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                await process.stdin.aclose()
            with anyio.move_on_after(_EXIT_S):
                await process.wait()
            readers.cancel_scope.cancel()
