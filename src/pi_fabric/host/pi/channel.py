"""Lines over two file descriptors, cut at LF bytes only, without a thread and without blocking.

Owns framing and its bounds; knows nothing of JSON.
"""

import os
from collections.abc import AsyncGenerator

import anyio

from pi_fabric.base.errors import LimitReached

# A frame may carry the largest nested result (20,000,000 characters, escaped) and no more.
MAX_LINE_BYTES = 64 * 1024 * 1024
READ_BYTES = 256 * 1024
# A peer that takes nothing for this long is gone or stopped; we must not wait for it for ever.
SEND_TIMEOUT_S = 30.0


class LineChannel:
    """One duplex line. One reader at a time; any number of senders, whose lines never mix."""

    def __init__(self, read_fd: int, write_fd: int, *, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        os.set_blocking(read_fd, False)
        os.set_blocking(write_fd, False)
        self.read_fd = read_fd
        """Where lines come from; its hang-up is the end."""
        self._write_fd = write_fd
        self._max_line_bytes = max_line_bytes
        self._send_lock = anyio.Lock()
        self.dropped = 0
        """Lines that were longer than the bound and so were skipped."""

    async def lines(self) -> AsyncGenerator[bytes]:
        """Yield each line without its LF until the peer closes; an unfinished last line is dropped."""
        buffer = bytearray()
        is_skipping = False
        while chunk := await self._read():
            scanned = len(buffer)
            buffer += chunk
            while (end := buffer.find(b"\n", scanned)) >= 0:
                line = bytes(buffer[:end])
                del buffer[: end + 1]
                scanned = 0
                if not is_skipping:
                    yield line
                is_skipping = False
            if len(buffer) > self._max_line_bytes:
                self.dropped += not is_skipping
                is_skipping = True
                buffer.clear()

    async def send(self, line: bytes) -> None:
        """Write one line; a cancelled sender still finishes the line it has begun.

        Raises:
            LimitReached: If the line is longer than the bound.
            anyio.BrokenResourceError: If the peer is gone, or takes nothing for 30 seconds.
        """
        if len(line) > self._max_line_bytes:
            raise LimitReached(
                "a frame to Pi", self._max_line_bytes, "bytes", hint="return less from the program"
            )
        async with self._send_lock:
            with anyio.CancelScope(shield=True):
                await self._write_all(line + b"\n")

    async def _read(self) -> bytes:
        while True:
            await anyio.wait_readable(self.read_fd)
            try:
                return os.read(self.read_fd, READ_BYTES)
            except BlockingIOError:
                continue
            except OSError:
                return b""

    async def _write_all(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self._write_fd, rest) :]
            except BlockingIOError:
                with anyio.move_on_after(SEND_TIMEOUT_S) as scope:
                    await anyio.wait_writable(self._write_fd)
                if scope.cancelled_caught:
                    raise anyio.BrokenResourceError from None
            except OSError as error:
                raise anyio.BrokenResourceError from error


def claim_stdio() -> LineChannel:
    """Take standard input and output for frames alone.

    Whatever else prints to standard output from now on, in this process or below, lands on standard
    error; whatever reads standard input gets nothing.
    """
    read_fd, write_fd = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return LineChannel(read_fd, write_fd)
