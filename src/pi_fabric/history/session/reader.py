"""Reading a whole session file, once."""

import stat
from pathlib import Path
from typing import BinaryIO, Final

from pi_fabric.base.collector import collection_paused
from pi_fabric.base.errors import LimitReached, StoreError
from pi_fabric.base.jsonl import read_records
from pi_fabric.history.session.log import Session

# Decoded, a file takes about three times its size in memory.
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
        with open_session(path, max_bytes) as stream, collection_paused():
            for record in read_records(stream):
                session.add(record)
    except OSError as error:
        raise StoreError(path, f"the session cannot be read: {error.strerror or error}") from error
    return session


def open_session(path: Path, max_bytes: int) -> BinaryIO:
    """Open a session file, unless it is too large to hold.

    Raises:
        OSError: If it cannot be opened.
        StoreError: If it is no regular file; opening a pipe would wait for its writer.
        LimitReached: If it is larger than `max_bytes`.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise StoreError(path, "not a regular file, so no session can be read from it")
    if status.st_size > max_bytes:
        hint = f"this one has {status.st_size}: {path}. Fork or compact the session into a new file"
        raise LimitReached("a session file", max_bytes, "bytes", hint=hint)
    return path.open("rb", buffering=0)
