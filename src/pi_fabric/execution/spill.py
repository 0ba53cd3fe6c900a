"""Keep the whole text of a result that was cut, for its owner alone.

Files are 0600 in a 0700 folder of the user below the system's temporary folder. The folder is bounded by
age, number and bytes; whoever writes sweeps.
"""

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from pi_fabric.base.clock import Clock, SystemClock
from pi_fabric.base.jsonvalue import scrub

# Long enough to look into a run of last week.
MAX_AGE_MS = 7 * 24 * 60 * 60 * 1000
# The newest stay: a busy session cuts a few results an hour.
MAX_FILES = 100
MAX_TOTAL_BYTES = 512 * 1024 * 1024
# More than any result that could be read, less than what fills a small disk.
MAX_FILE_BYTES = 128 * 1024 * 1024

_PREFIX, _SUFFIX = "result-", ".txt"


def spill_text(text: str) -> Path | None:
    """Save `text` in the user's folder below the system's temporary folder. Blocking.

    Returns:
        The file, or None when it could not be written: the folder belongs to somebody else, is a link, or
        the disk is full. A text beyond 128 MiB is saved up to there.
    """
    try:
        folder = Path(tempfile.gettempdir())
    except OSError:  # nowhere can be written
        return None
    return SpillFolder(folder / f"pi-fabric-{os.getuid()}").write(text)


class SpillFolder:
    """One folder of saved results."""

    def __init__(self, path: Path, *, clock: Clock | None = None) -> None:
        self._path = path
        self._clock = clock or SystemClock()

    def write(self, text: str) -> Path | None:
        """Save `text` in a new file and sweep out old ones. Blocking.

        Returns:
            The file, or None when it could not be written safely.
        """
        try:
            if not self._is_ours():
                return None
            self._sweep()
            return self._write(scrub(text).encode()[:MAX_FILE_BYTES])
        except OSError:
            return None

    def _is_ours(self) -> bool:
        """Make the folder; False when somebody else could have put something there."""
        with suppress(FileExistsError):
            self._path.mkdir(mode=0o700)
        status = self._path.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
            return False
        if stat.S_IMODE(status.st_mode) != 0o700:
            self._path.chmod(0o700)
        return True

    def _write(self, data: bytes) -> Path:
        # mkstemp creates with 0600 and never through a link.
        handle, name = tempfile.mkstemp(prefix=_PREFIX, suffix=_SUFFIX, dir=self._path)
        path = Path(name)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
        except OSError:
            path.unlink(missing_ok=True)
            raise
        return path

    def _sweep(self) -> None:
        """Leave room for one more file within the bounds; the oldest go first."""
        found: list[tuple[float, int, Path]] = []
        for path in self._path.glob(f"{_PREFIX}*{_SUFFIX}"):
            with suppress(OSError):
                status = path.lstat()
                found.append((status.st_mtime, status.st_size, path))
        found.sort(reverse=True)
        oldest_s = (self._clock.wall_ms() - MAX_AGE_MS) / 1000
        total = 0
        for place, (modified_s, size, path) in enumerate(found, start=1):
            total += size
            if place >= MAX_FILES or modified_s < oldest_s or total > MAX_TOTAL_BYTES:
                with suppress(OSError):
                    path.unlink()
