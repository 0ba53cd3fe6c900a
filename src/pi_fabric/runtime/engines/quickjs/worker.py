"""The worker process: takes one program after another from stdin and drives each in the sandbox.

The main thread only watches: SIGUSR1 interrupts the program, and when stdin closes, which is how this process
learns that its owner is gone, it exits at once, whatever the program is doing. The work is done in a second
thread, whose stack is large enough for the depth that programs may use.

Imports as little as it can: its start is what a first program waits for.
"""

import os
import select
import signal
import threading
import time
from pathlib import Path
from typing import Final

from pi_fabric.runtime.engines.quickjs import frames
from pi_fabric.runtime.engines.quickjs.guest import (
    OP_ANSWERS,
    OP_PROGRAM,
    OP_START,
    OP_TICK,
    STATE_DONE,
    STATE_OUT_OF_MEMORY,
    STATE_WAITING,
    Crashed,
    Guest,
    Interrupted,
)
from pi_fabric.runtime.engines.quickjs.sandbox import NATIVE_STACK_BYTES, Sandbox

# What Python itself needs besides.
THREAD_STACK_BYTES: Final = NATIVE_STACK_BYTES + 16 * 2**20
READ_BYTES: Final = 65536
MODULE: Final = Path(__file__).with_name("quickjs.wasm")
KERNEL: Final = Path(__file__).parent.parent.parent / "guest" / "kernel.js"


class OwnerGone(Exception):
    """The other end of stdin was closed."""


class Channel:
    """Frames over two descriptors, blocking."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._buffer = bytearray()
        self._poll = select.poll()
        self._poll.register(source, select.POLLIN)

    def read(self) -> tuple[int, bytes]:
        """Kind and payload of the next frame.

        Raises:
            OwnerGone: If there is none to come.
            ValueError: If it is larger than a frame may be.
        """
        self._fill(frames.HEADER.size)
        size, kind = frames.HEADER.unpack_from(self._buffer)
        if size > frames.MAX_PAYLOAD_BYTES:
            raise ValueError("a frame is too large")
        end = frames.HEADER.size + size
        self._fill(end)
        payload = bytes(self._buffer[frames.HEADER.size : end])
        del self._buffer[:end]
        return kind, payload

    def is_readable_before(self, monotonic_ms: float) -> bool:
        """Wait until a frame begins, False when the time comes first."""
        left_ms = monotonic_ms - time.monotonic_ns() / 1e6
        return bool(self._buffer) or bool(self._poll.poll(max(0.0, left_ms)))

    def write(self, kind: int, payload: bytes) -> None:
        """Send one frame."""
        rest = memoryview(frames.pack(kind, payload))
        while rest:
            rest = rest[os.write(self._sink, rest) :]

    def _fill(self, size: int) -> None:
        while len(self._buffer) < size:
            chunk = os.read(self._source, max(READ_BYTES, size - len(self._buffer)))
            if not chunk:
                raise OwnerGone
            self._buffer += chunk


def run_program(sandbox: Sandbox, channel: Channel, payload: bytes) -> None:
    """Run one program to its end, which the last frame tells."""
    memory_bytes, seed, settings, script = frames.unpack_program(payload)
    try:
        with sandbox.start(memory_bytes=memory_bytes, seed=seed) as guest:
            try:
                _drive(guest, channel, settings, script)
            except Interrupted:
                channel.write(frames.INTERRUPTED, _lines(guest))
    except Crashed as crash:
        channel.write(frames.CRASHED, str(crash).encode())


def _drive(guest: Guest, channel: Channel, settings: bytes, script: bytes) -> None:
    state = guest.step(OP_START, settings)
    lines = _lines(guest)
    if state == STATE_WAITING:
        # On one line before the script: the script's positions are then the frames' positions.
        state = guest.step(OP_PROGRAM, b"(() => {" + script + b"\nreturn program})()")
        lines += _lines(guest)
    told = None
    while state == STATE_WAITING:
        kind = _kind_of_wait(guest)
        if lines or kind != told:
            _tell(channel, kind, lines)
            told = kind
        if kind == frames.STUCK:
            return
        state = _wait_and_step(guest, channel)
        lines = _lines(guest)
    ends = {STATE_DONE: frames.DONE, STATE_OUT_OF_MEMORY: frames.EXHAUSTED}
    if state not in ends:
        raise Crashed("the engine is broken")
    _tell(channel, ends[state], lines)


def _kind_of_wait(guest: Guest) -> int:
    header = guest.header()
    if header.wake_ms >= 0:
        return frames.TIMED
    return frames.WAITING if header.pending else frames.STUCK


def _wait_and_step(guest: Guest, channel: Channel) -> int:
    wake_ms = guest.header().wake_ms
    if wake_ms >= 0 and not channel.is_readable_before(wake_ms):
        return guest.step(OP_TICK)
    kind, payload = channel.read()
    if kind != frames.ANSWERS:
        raise ValueError(f"a frame of kind {kind} does not belong here")
    return guest.step(OP_ANSWERS, payload)


def _lines(guest: Guest) -> bytes:
    header = guest.header()
    lines = guest.peek(header.out, header.out_bytes)
    # An interrupted program may have left half a line.
    return lines[: lines.rfind(b"\n") + 1]


def _tell(channel: Channel, kind: int, lines: bytes) -> None:
    if len(lines) > frames.MAX_PAYLOAD_BYTES:
        raise Crashed(
            f"{len(lines)} bytes at once leave the program; the limit is {frames.MAX_PAYLOAD_BYTES}"
        )
    channel.write(kind, lines)


def read_prelude(library: Path) -> bytes:
    """The kernel and the guest's library as source of one function."""
    return b'((native) => {"use strict";' + KERNEL.read_bytes() + b"\n" + library.read_bytes() + b"\n})"


class Worker:
    """Ties the two threads together."""

    def __init__(self, library: Path) -> None:
        self._library = library
        # Whatever prints must not write into the frames.
        sink = os.dup(1)
        os.dup2(2, 1)
        self._channel = Channel(0, sink)
        self._sandbox: Sandbox | None = None

    def run(self) -> None:
        """Serve until the owner is gone; never returns."""
        signal.signal(signal.SIGUSR1, self._interrupt)
        threading.stack_size(THREAD_STACK_BYTES)
        threading.Thread(target=self._serve_and_exit, daemon=True).start()
        owner = select.poll()
        owner.register(0, select.POLLHUP)
        owner.poll()
        os._exit(0)

    def _interrupt(self, *_: object) -> None:
        if self._sandbox is not None:
            self._sandbox.interrupt()

    def _serve_and_exit(self) -> None:
        # Handlers run in the main thread, which must be the one that is woken.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
        try:
            self._serve()
        except (OwnerGone, BrokenPipeError):
            os._exit(0)
        finally:
            # Not reached otherwise: without this thread the process is of no use to anyone.
            os._exit(1)

    def _serve(self) -> None:
        try:
            self._sandbox = Sandbox(MODULE, read_prelude(self._library))
        except Exception as error:
            self._channel.write(frames.UNUSABLE, f"{type(error).__name__}: {error}".encode())
            raise
        self._channel.write(frames.READY, b"")
        while True:
            kind, payload = self._channel.read()
            if kind == frames.ANSWERS:
                # It was on its way when the program that had asked ended.
                continue
            if kind != frames.PROGRAM:
                raise ValueError(f"a frame of kind {kind} does not belong here")
            run_program(self._sandbox, self._channel, payload)


def main(library: str) -> None:
    """Entry of the process.

    Args:
        library: Path of the guest's library, evaluated in one scope with the kernel.
    """
    Worker(Path(library)).run()
