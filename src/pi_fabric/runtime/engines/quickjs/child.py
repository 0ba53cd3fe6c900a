"""The host's end of one worker process."""

import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import anyio
from anyio.abc import Process

import pi_fabric
from pi_fabric.base.errors import SandboxError
from pi_fabric.base.process import child_process
from pi_fabric.runtime.engines.quickjs import frames

# The worker runs the very package that the host runs, wherever that was imported from.
BOOTSTRAP: Final = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from pi_fabric.runtime.engines.quickjs.worker import main; main(sys.argv[2])"
)
# The first start on a machine compiles the module: some 2 s, more when the machine is busy.
START_LIMIT_S: Final = 60.0
# A worker exits within milliseconds of its stdin closing; what does not is killed.
EXIT_GRACE_S: Final = 0.5
RECEIVE_BYTES: Final = 2**18


class WorkerGone(Exception):
    """The worker has ended or does not speak the protocol; the message says which."""


class Worker:
    """A worker process that is ready for a program."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._stdin = process.stdin
        self._stdout = process.stdout
        self._buffer = bytearray()
        self._is_waiting = True

    @property
    def is_waiting(self) -> bool:
        """True when the worker has nothing to do before it is sent something."""
        return self._is_waiting

    @property
    def is_alive(self) -> bool:
        """False once the process has ended."""
        return self._process.returncode is None

    async def send(self, frame: bytes) -> None:
        """Write one frame; waits while the worker does not read.

        Raises:
            OSError: If the worker is gone; or anyio.BrokenResourceError, anyio.ClosedResourceError.
        """
        self._is_waiting = False
        await self._stdin.send(frame)

    async def receive(self) -> tuple[int, bytes]:
        """Kind and payload of the next frame.

        Raises:
            WorkerGone: If there is none to come, or what comes is no frame.
        """
        await self._fill(frames.HEADER.size)
        size, kind = frames.HEADER.unpack_from(self._buffer)
        if size > frames.MAX_PAYLOAD_BYTES:
            raise WorkerGone(f"it announced a frame of {size} bytes")
        end = frames.HEADER.size + size
        await self._fill(end)
        payload = bytes(memoryview(self._buffer)[frames.HEADER.size : end])
        del self._buffer[:end]
        self._is_waiting = kind == frames.WAITING
        return kind, payload

    def interrupt(self) -> None:
        """Stop the program at its next loop or call. The worker must not be used for another."""
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGUSR1)

    def kill(self) -> None:
        """End the process now, whatever it does."""
        with suppress(ProcessLookupError):
            self._process.kill()

    async def wait(self) -> None:
        """Return when the process has ended."""
        await self._process.wait()

    async def describe_end(self) -> str:
        """How the process ended, for a message."""
        # Its output ends a moment before its exit is known.
        with anyio.move_on_after(EXIT_GRACE_S):
            await self._process.wait()
        code = self._process.returncode
        if code is None:
            return "it closed its output"
        return f"it was killed by signal {-code}" if code < 0 else f"it exited with code {code}"

    async def _fill(self, size: int) -> None:
        while len(self._buffer) < size:
            try:
                self._buffer += await self._stdout.receive(RECEIVE_BYTES)
            except (anyio.EndOfStream, anyio.ClosedResourceError, OSError):
                raise WorkerGone(await self.describe_end()) from None


@asynccontextmanager
async def start_worker(library: Path) -> AsyncGenerator[Worker]:
    """A worker that is ready, for as long as the block is open; gone afterwards.

    Args:
        library: Source of what its programs find besides the language.

    Raises:
        SandboxError: If it does not become ready in time, or says why it cannot.
    """
    root = Path(pi_fabric.__file__).parent.parent
    argv = [sys.executable, "-I", "-c", BOOTSTRAP, str(root), str(library)]
    async with child_process(argv, cwd=Path("/"), grace_s=EXIT_GRACE_S) as process:
        worker = Worker(process)
        with anyio.move_on_after(START_LIMIT_S) as limit:
            await _expect_ready(worker)
        if limit.cancelled_caught:
            raise SandboxError("start", f"the worker was not ready within {START_LIMIT_S:g} s")
        yield worker


async def _expect_ready(worker: Worker) -> None:
    try:
        kind, payload = await worker.receive()
    except WorkerGone as error:
        raise SandboxError("start", f"the worker did not start: {error}") from error
    if kind == frames.UNUSABLE:
        reason = payload.decode("utf-8", "replace")
        hint = "reinstall pi-fabric (`pip install --force-reinstall pi-fabric`, or `make setup` in a clone)"
        raise SandboxError("start", f"{reason}; {hint}")
    if kind != frames.READY:
        raise SandboxError("start", f"the worker began with a frame of kind {kind}")
