"""The host calls of one program: served concurrently, answered in batches, ended in bounded time.

Calls start in the order in which the guest made them, and a notice is passed on after the calls before it
have started. A call that does not suspend costs no task of its own.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

import anyio
from anyio.abc import TaskGroup

from pi_fabric.base.errors import FabricError
from pi_fabric.base.jsonvalue import UNDEFINED, Json, Undefined, encode
from pi_fabric.runtime.engine import GuestHost, shown_ref
from pi_fabric.runtime.engines.quickjs import frames
from pi_fabric.runtime.engines.quickjs.messages import Call, Notice, UnreadableCall

# Answers of one turn go together up to this size, so that one frame stays far below its bound.
BATCH_BYTES = 4 * 2**20


@dataclass(frozen=True, slots=True)
class _Running:
    """A call that has started."""

    ref: str
    scope: anyio.CancelScope
    task: asyncio.Task[None] | None


class HostCalls:
    """Serves what one program asks for.

    Tasks live in the engine's task group, not in the run's: a call that ignores its cancellation may outlast
    the run, but not hold it.
    """

    def __init__(self, host: GuestHost, tasks: TaskGroup, send: Callable[[bytes], Awaitable[None]]) -> None:
        """Nothing is started yet.

        Args:
            host: Whom to ask.
            tasks: Where calls run.
            send: Takes an ANSWERS frame; may raise OSError or anyio's stream errors once the guest is gone.
        """
        self._host = host
        self._tasks = tasks
        self._send = send
        self._queue: deque[Call | Notice] = deque()
        self._running: dict[int, _Running] = {}
        self._queued_calls = 0
        self._has_server = False
        self._is_over = False
        self._answers: list[bytes] = []
        self._is_flushing = False
        self._idle = anyio.Event()
        self._failure: Exception | None = None

    @property
    def pending(self) -> tuple[str, ...]:
        """Refs of calls that have not ended, oldest first, as people know them."""
        running = [self._running[number].ref for number in sorted(self._running)]
        queued = [item.ref for item in self._queue if isinstance(item, Call)]
        return tuple(map(shown_ref, (*running, *queued)))

    @property
    def is_idle(self) -> bool:
        """True when no call is pending; asked as each call ends, so it must not count them all."""
        return not self._running and not self._queued_calls

    def take(self, item: Call | UnreadableCall | Notice) -> None:
        """Serve one message of the guest, in the order of arrival."""
        if isinstance(item, UnreadableCall):
            self._answers.append(_failure(item.id, item.reason, "invalid_arguments"))
            self._tasks.start_soon(self._flush)
        elif isinstance(item, Notice) and not self._queue:
            self._notify(item)
        else:
            self._queue.append(item)
            self._queued_calls += isinstance(item, Call)
            self._need_server()

    def stop_answering(self) -> None:
        """The program is over: calls go on, but nobody waits for their answers."""
        self._is_over = True
        self._answers.clear()

    async def wait_idle(self) -> None:
        """Return when no call is pending."""
        while not self.is_idle:
            self._idle = anyio.Event()
            await self._idle.wait()

    async def cancel(self, *, grace_s: float) -> None:
        """End every call. One that ignores it is left behind after `grace_s`."""
        self.stop_answering()
        self._drop_queue()
        for running in self._running.values():
            running.scope.cancel()
        with anyio.move_on_after(grace_s, shield=True):
            await self.wait_idle()

    def abandon(self) -> None:
        """End what ignored `cancel`, from below: its shields do not count any more."""
        for running in self._running.values():
            running.scope.cancel()
            # anyio honours a shield for ever, so a stuck call would hold the engine's exit for ever.
            if running.task is not None:
                running.task.cancel()

    def raise_failure(self) -> None:
        """Raise what the host raised at a notice, which it must not."""
        if self._failure is not None:
            raise self._failure

    def _drop_queue(self) -> None:
        for item in self._queue:
            if isinstance(item, Notice):
                self._notify(item)
        self._queue.clear()
        self._queued_calls = 0

    def _notify(self, notice: Notice) -> None:
        try:
            self._host.notify(notice.kind, notice.payload)
        except Exception as error:  # raised again by the run that it belongs to
            self._failure = self._failure or error

    def _need_server(self) -> None:
        if not self._has_server and self._queue:
            self._has_server = True
            self._tasks.start_soon(self._serve)

    async def _serve(self) -> None:
        """Take calls as long as there are any; while one suspends, another server takes the rest."""
        self._has_server = False
        while self._queue:
            item = self._queue.popleft()
            self._need_server()
            if isinstance(item, Notice):
                self._notify(item)
                continue
            self._queued_calls -= 1
            answer = await self._answer(item)
            if not self._is_over and answer is not None:
                self._answers.append(answer)
        if self.is_idle:
            self._idle.set()
        await self._flush()

    async def _answer(self, call: Call) -> bytes | None:
        scope = anyio.CancelScope()
        self._running[call.id] = _Running(call.ref, scope, asyncio.current_task())
        try:
            with scope:
                return _success(call.id, await self._host.call(call.ref, call.args))
        except FabricError as error:
            return _failure(call.id, error.message, error.code)
        except Exception as error:  # the contract: whatever a call raises, the program is told
            return _failure(call.id, str(error) or type(error).__name__, None)
        finally:
            del self._running[call.id]
        return None

    async def _flush(self) -> None:
        if self._is_flushing or not self._answers:
            return
        self._is_flushing = True
        try:
            if self._running:
                # Whatever else ends in this turn of the loop goes into the same frame.
                await anyio.lowlevel.checkpoint()
            while self._answers:
                with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                    await self._send(self._next_batch())
        finally:
            self._is_flushing = False

    def _next_batch(self) -> bytes:
        size, count = 0, 0
        for answer in self._answers:
            if count and size + len(answer) > BATCH_BYTES:
                break
            size += len(answer)
            count += 1
        batch = self._answers[:count]
        del self._answers[:count]
        return frames.pack(frames.ANSWERS, b"[" + b",".join(batch) + b"]")


def _success(number: int, result: Json | Undefined) -> bytes:
    if result is UNDEFINED:
        return b"[%d,1]" % number
    encoded = encode(result)
    if len(encoded) > frames.MAX_PAYLOAD_BYTES - 64:
        return _failure(
            number,
            f"the result has {len(encoded)} bytes; a program can take {frames.MAX_PAYLOAD_BYTES}",
            "limit_reached",
        )
    return b"[%d,0,%s]" % (number, encoded)


def _failure(number: int, message: str, code: str | None) -> bytes:
    return b"[%d,2,%s]" % (number, encode({"message": message, "code": code}))
