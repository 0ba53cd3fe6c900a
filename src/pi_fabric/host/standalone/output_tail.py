"""The output of a command while it comes in: its tail in memory, all of it in a file once it is long.

Memory is bounded whatever a command writes; a short output never touches the disk.
"""

import codecs
import os
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Self

import anyio

from pi_fabric.host.standalone.limits import MAX_BYTES, MAX_LINES, size
from pi_fabric.host.standalone.paths import reason

# A runaway command must not fill the disk: what comes after this is counted and not kept.
MAX_FILE_BYTES: Final = 4 * 1024**3
# What a cut leaves of a character at its front.
_CONTINUATIONS: Final = bytes(range(0x80, 0xC0))
_new_decoder = codecs.getincrementaldecoder("utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """The end of an output, within bounds."""

    text: str
    lines: int
    """Lines in `text`."""
    is_cut: bool
    """True when something is missing before `text`."""


class OutputTail:
    """Collects what one command writes; fed by one task, looked at by others.

    An async context manager.
    """

    def __init__(self) -> None:
        self._tail = bytearray()
        self._line_ends = 0
        self._file: int | None = None
        self._kept_bytes = 0
        self.total_bytes = 0
        """Received so far."""
        self.path: Path | None = None
        """0600 file with the output from its start; None while it is short."""
        self.trouble: str | None = None
        """Why the file does not hold everything; None when it does."""

    async def __aenter__(self) -> Self:
        """Nothing is opened until the output is long."""
        return self

    async def __aexit__(self, failure: type[BaseException] | None, *_: object) -> None:
        """Close the file; it stays unless the call failed, for then nobody learns its name."""
        if self._file is not None:
            os.close(self._file)
        if failure is not None and self.path is not None:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(partial(self.path.unlink, missing_ok=True))

    @property
    def total_lines(self) -> int:
        """Lines received so far; the last one counts without its end too."""
        return self._line_ends + (bool(self._tail) and not self._tail.endswith(b"\n"))

    async def feed(self, chunk: bytes) -> None:
        """Take the next piece; waits for the disk when the output is long."""
        self.total_bytes += len(chunk)
        self._line_ends += chunk.count(b"\n")
        if self._file is not None or self.total_bytes > MAX_BYTES or self._line_ends > MAX_LINES:
            await anyio.to_thread.run_sync(self._spill, chunk)
        self._tail += chunk
        # Trimmed at twice the bound, so that it happens rarely.
        if len(self._tail) > 2 * MAX_BYTES:
            del self._tail[:-MAX_BYTES]

    async def finish(self) -> Tail:
        """What is shown of the whole output; when that is cut, all of it is in the file."""
        tail = self.shown()
        if tail.is_cut and self._file is None:
            await anyio.to_thread.run_sync(self._spill, b"")
        return tail

    def shown(self, *, max_bytes: int = MAX_BYTES, max_lines: int = MAX_LINES, is_final: bool = True) -> Tail:
        """The last whole lines within the bounds, or the end of the last line when it is longer.

        Bytes that are not UTF-8 become U+FFFD.

        Args:
            max_bytes: At most `MAX_BYTES`.
            max_lines: At most `MAX_LINES`.
            is_final: False holds back a character of which the end is still to come.
        """
        text, is_cut = self._decoded(max_bytes, is_final=is_final)
        pieces = text.split("\n")
        ends_line = pieces[-1] == ""
        pieces = pieces[-max_lines - ends_line :]
        lines = len(pieces) - ends_line
        return Tail(text="\n".join(pieces), lines=lines, is_cut=is_cut or lines < self.total_lines)

    def _decoded(self, max_bytes: int, *, is_final: bool) -> tuple[str, bool]:
        data = bytes(self._tail[-max_bytes:])
        is_cut = self.total_bytes > len(data)
        if is_cut:
            data = data.lstrip(_CONTINUATIONS)
        text = _new_decoder("replace").decode(data, is_final)
        # A bad byte comes as one and leaves as the three of U+FFFD.
        if not is_cut and len(text.encode()) <= max_bytes:
            return text, False
        text = text.encode()[-max_bytes:].decode("utf-8", "ignore")
        _, _, whole_lines = text.partition("\n")
        return whole_lines or text, True

    def _spill(self, chunk: bytes) -> None:
        if self.trouble is not None:
            return
        try:
            if self._file is None:
                self._file, name = tempfile.mkstemp(prefix="pi-fabric-bash-", suffix=".log")
                self.path = Path(name)
                self._keep(self._file, self._tail)
            self._keep(self._file, chunk)
        except OSError as error:
            self.trouble = reason(error)

    def _keep(self, file: int, data: bytes | bytearray) -> None:
        if self._kept_bytes + len(data) > MAX_FILE_BYTES:
            self.trouble = f"at most {size(MAX_FILE_BYTES)} are kept"
            return
        left = memoryview(bytes(data))
        while left:
            left = left[os.write(file, left) :]
        self._kept_bytes += len(data)
