"""Reading a whole session file, once."""

from pathlib import Path
from typing import Final

from pi_fabric.base.collector import collection_paused
from pi_fabric.base.errors import LimitReached, StoreError
from pi_fabric.base.jsonl import read_records
from pi_fabric.history.session.log import Session

# Decoded, a file takes up to three times its size in memory.
MAX_SESSION_BYTES: Final = 1024 * 1024 * 1024


def read_session(path: Path, *, max_bytes: int = MAX_SESSION_BYTES) -> Session:
    """Read a session file of any format; the file is never written. Blocking.

    Lines that cannot be used are skipped and counted in `faults`; only a file that cannot be read at all
    raises. Memory beyond the entries themselves is that of the longest line.

    Args:
        path: The file.
        max_bytes: A larger file is refused before anything of it is read.

    Raises:
        StoreError: If the file cannot be read.
        LimitReached: If it is too large.
    """
    session = Session(path)
    try:
        with path.open("rb", buffering=0) as stream:
            check_size(path, stream.seek(0, 2), max_bytes)
            stream.seek(0)
            with collection_paused():
                for record in read_records(stream):
                    session.add(record)
    except OSError as error:
        raise StoreError(path, f"the session cannot be read: {error.strerror or error}") from error
    return session


def check_size(path: Path, size_bytes: int, max_bytes: int) -> None:
    """Refuse a file that is too large to hold.

    Raises:
        LimitReached: If it is.
    """
    if size_bytes > max_bytes:
        hint = f"this one has {size_bytes}: {path}. Fork or compact the session into a new file"
        raise LimitReached("a session file", max_bytes, "bytes", hint=hint)
