"""Files that others may read or write at the same time: replaced atomically, never half written."""

import os
import tempfile
from pathlib import Path

# A scanner or a sync client may hold the target for a moment; EBUSY and friends pass within this.
REPLACE_ATTEMPTS = 5


def write_atomic(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Put `data` at `path` by renaming a complete, synced file over it. Blocking.

    Args:
        path: Target; a symbolic link is followed, so that the link itself stays.
        data: Whole new content.
        mode: Permission bits; None keeps those of an existing target, else the umask's default.

    Raises:
        OSError: If the folder is missing or not writable; the old content is then untouched.
    """
    target = Path(os.path.realpath(path))
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(_mode_for(target) if mode is None else mode)
        _replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _mode_for(target: Path) -> int:
    try:
        return target.stat().st_mode & 0o7777
    except FileNotFoundError:
        umask = os.umask(0)
        os.umask(umask)
        return 0o666 & ~umask


def _replace(temporary: Path, target: Path) -> None:
    for attempt in range(REPLACE_ATTEMPTS):
        try:
            temporary.replace(target)
        except PermissionError:
            if attempt == REPLACE_ATTEMPTS - 1:
                raise
        else:
            return
