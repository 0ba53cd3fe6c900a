"""Pi's line protocol, strictly: a frame ends at LF and nowhere else.

One CR before the LF is dropped. U+2028 and U+2029 are text, and characters may be split across reads:
bytes are put together before anything is decoded.
"""

from typing import Final

from pi_fabric.base.errors import LimitReached

# The event that ends a run repeats all of its messages.
MAX_FRAME_BYTES: Final = 256 * 1024 * 1024


class FrameSplitter:
    """Cuts a stream of bytes into frames, whatever the sizes of its reads."""

    def __init__(self, *, max_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max_bytes = max_bytes
        self._pieces: list[bytes] = []
        self._size = 0

    @property
    def pending_bytes(self) -> int:
        """Bytes of a frame that has not ended yet."""
        return self._size

    def feed(self, data: bytes) -> list[bytes]:
        """Take in the next read and return the frames that it ended, blank ones left out.

        Raises:
            LimitReached: If a frame is longer than the bound; the stream is then of no further use.
        """
        *ended, rest = data.split(b"\n")
        frames: list[bytes] = []
        for piece in ended:
            self._add(piece)
            frame = b"".join(self._pieces).removesuffix(b"\r")
            self._pieces, self._size = [], 0
            if frame:
                frames.append(frame)
        self._add(rest)
        return frames

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._max_bytes:
            raise LimitReached("a line of Pi's", self._max_bytes, "bytes")
        if piece:
            self._pieces.append(piece)
