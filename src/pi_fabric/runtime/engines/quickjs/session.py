"""One program on one worker, seen from the host: from the frame that starts it to the one that ends it."""

import secrets
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

import anyio

from pi_fabric.base.errors import SandboxLost
from pi_fabric.base.jsonvalue import UNDEFINED, Json, encode, scrub
from pi_fabric.runtime.engine import GuestError, Program, Termination
from pi_fabric.runtime.engines.quickjs import frames
from pi_fabric.runtime.engines.quickjs.calls import HostCalls
from pi_fabric.runtime.engines.quickjs.child import Worker, WorkerGone
from pi_fabric.runtime.engines.quickjs.messages import (
    BadMessage,
    Message,
    Notice,
    Returned,
    Threw,
    read_messages,
)

# Larger frames are decoded in a thread: what is below takes less than a millisecond.
INLINE_DECODE_BYTES: Final = 65536
# An interrupted program answers at its next loop or call; what does not is in a native loop.
INTERRUPT_GRACE_S: Final = 0.25

STUCK_MESSAGE: Final = (
    "the program waits for something that cannot come: no host call and no timer is left that could settle "
    "the promise it awaits"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a program ended."""

    termination: Termination
    value: Json = UNDEFINED
    error: GuestError | None = None
    is_clean: bool = True
    """True when the worker can take another program."""
    pending: tuple[str, ...] = ()
    """Refs of the host calls that were running when it ended."""


class Session:
    """Drives one program."""

    def __init__(self, worker: Worker, calls: HostCalls, *, memory_bytes: int) -> None:
        self._worker = worker
        self._calls = calls
        self._memory_bytes = memory_bytes

    async def run(self, program: Program) -> Ending:
        """Start `program` and follow it to its end. After cancellation, only `stop` may be called.

        Raises:
            SandboxLost: If the worker fails.
        """
        frame = frames.pack_program(
            memory_bytes=self._memory_bytes,
            seed=secrets.randbits(64),
            settings=encode({"strings": dict(program.strings), "surface": program.surface}),
            script=_utf8(program.javascript),
        )
        if len(frame) > frames.MAX_PAYLOAD_BYTES:
            return _failed(_too_large(len(frame)), is_clean=True)
        try:
            await self._worker.send(frame)
            while True:
                ending = await self._take(*await self._worker.receive())
                if ending is not None:
                    # Taken here: by the time the caller's tasks are unwound, short calls have ended.
                    return replace(ending, pending=self._calls.pending)
        except (WorkerGone, OSError, anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            reason = str(error) if isinstance(error, WorkerGone) else await self._worker.describe_end()
            raise SandboxLost("worker", f"it was lost while a program ran: {reason}") from error
        except BadMessage as error:
            raise SandboxLost("protocol", str(error)) from error

    async def stop(self) -> None:
        """Stop a program that is still running, and pass on what it told before. The worker is spent."""
        if not self._worker.is_waiting:
            self._worker.interrupt()
            with anyio.move_on_after(INTERRUPT_GRACE_S, shield=True), suppress(WorkerGone, BadMessage):
                await self._pass_last_notices()
        self._worker.kill()

    async def _pass_last_notices(self) -> None:
        kind = frames.WAITING
        while kind in (frames.WAITING, frames.TIMED):
            kind, payload = await self._worker.receive()
            for message in read_messages(payload if kind != frames.CRASHED else b""):
                if isinstance(message, Notice):
                    self._calls.take(message)

    async def _take(self, kind: int, payload: bytes) -> Ending | None:
        if kind == frames.CRASHED:
            text = payload.decode("utf-8", "replace")
            return _failed(GuestError(name="SandboxCrash", message=text, stack=""), is_clean=False)
        if len(payload) <= INLINE_DECODE_BYTES:
            messages = read_messages(payload)
        else:
            messages = await anyio.to_thread.run_sync(read_messages, payload)
        last = messages[-1] if messages else None
        for message in messages:
            if not isinstance(message, Returned | Threw):
                self._calls.take(message)
        if kind in (frames.WAITING, frames.TIMED):
            return None
        return self._ending(kind, last)

    def _ending(self, kind: int, last: Message | None) -> Ending:
        if kind == frames.STUCK:
            error = GuestError(name="Deadlock", message=STUCK_MESSAGE, stack="")
            return Ending(termination="timed_out", error=error)
        if kind == frames.EXHAUSTED:
            return _failed(self._out_of_memory(""), is_clean=True)
        if kind == frames.DONE and isinstance(last, Returned):
            return Ending(termination="completed", value=last.value)
        if kind == frames.DONE and isinstance(last, Threw):
            if last.is_out_of_memory:
                return _failed(self._out_of_memory(last.stack), is_clean=True)
            return _failed(GuestError(name=last.name, message=last.message, stack=last.stack), is_clean=True)
        raise BadMessage(f"a frame of kind {kind} cannot come here")

    def _out_of_memory(self, stack: str) -> GuestError:
        cap = f"{self._memory_bytes / 2**20:g} MiB"
        message = (
            f"out of memory: the program may use {cap}; hold less at once or raise executor.memoryLimitBytes"
        )
        return GuestError(name="OutOfMemory", message=message, stack=stack)


def _failed(error: GuestError, *, is_clean: bool) -> Ending:
    return Ending(termination="runtime_error", error=error, is_clean=is_clean)


def _too_large(size: int) -> GuestError:
    message = f"program and strings have {size} bytes; at most {frames.MAX_PAYLOAD_BYTES} reach the sandbox"
    return GuestError(name="RangeError", message=message, stack="")


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return str(scrub(text)).encode()
