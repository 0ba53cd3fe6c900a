"""The record of a hot session, cache format 5: its entries with their texts, cut to a limit.

Written as it comes, so that a session of any size takes little memory. Where each entry lies in the file
is told, so that later a few of them can be read without the rest.
"""

from array import array
from collections.abc import Sequence
from typing import BinaryIO, Final

import msgspec

from pi_fabric.base.jsonvalue import JsonObject, encode
from pi_fabric.memory.entries import MAX_ENTRY_CHARS, cut_text
from pi_fabric.memory.model import CACHE_VERSION, Entry

_encoder: Final = msgspec.json.Encoder()
_decoder: Final = msgspec.json.Decoder(list[Entry])
# Enough that writing costs nothing beside encoding.
_FLUSH_BYTES: Final = 1 << 20


class ShardWriter:
    """Writes one record.

    Args:
        stream: Where the record goes; written from its start.
        identity: What the record says of its source.
        max_entry_chars: Unicode scalars of an entry's text.
    """

    def __init__(self, stream: BinaryIO, identity: JsonObject, max_entry_chars: int) -> None:
        self.ends: array[int] = array("Q")
        """Where each entry ends in the file; each begins one byte after the end of the one before."""
        self.is_cut = False
        """True when a text was cut."""
        self._stream = stream
        self._max_entry_chars = max_entry_chars
        head = encode({"cacheVersion": CACHE_VERSION, "kind": "shard", **identity})
        self._buffer = bytearray(head[:-1] + b',"entries":[')
        self._flushed = 0
        self.first_start = len(self._buffer)
        """Where the first entry begins."""

    def add(self, entry: Entry) -> None:
        """Cut and write the next entry."""
        cut_text(entry, self._max_entry_chars)
        self.is_cut |= entry.truncated
        if self.ends:
            self._buffer += b","
        _encoder.encode_into(entry, self._buffer, -1)
        self.ends.append(self._flushed + len(self._buffer))
        if len(self._buffer) > _FLUSH_BYTES:
            self._flush()

    def finish(self, reasons: Sequence[str]) -> int:
        """Write what is left with the coverage; the record's size."""
        coverage = {"complete": not reasons, "reasons": list(reasons)}
        self._buffer += b'],"indexCoverage":' + encode(coverage) + b"}"
        self._flush()
        return self._flushed

    def reasons(self, others: frozenset[str]) -> list[str]:
        """Why the record is less than its source: `others`, and a cut text."""
        return sorted(others | {MAX_ENTRY_CHARS} if self.is_cut else others)

    def _flush(self) -> None:
        self._stream.write(self._buffer)
        self._flushed += len(self._buffer)
        self._buffer.clear()


def decode_entries(data: bytes) -> list[Entry]:
    """Entries from the bytes between the start of one and the end of another.

    Raises:
        ValueError: If the bytes are no entries.
    """
    return _decoder.decode(b"".join((b"[", data, b"]")))
