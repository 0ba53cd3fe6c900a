"""The folder of the index: what each file is called, and that only the user can read it.

Records lie at the top and are the specification's, so that both implementations can share a folder. What
is ours alone lies in a folder below.
"""

import hashlib
import os
import re
import stat
import tempfile
import time
from collections import deque
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from pi_fabric.memory.model import Branches, Tier

FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600
OWN_FOLDER: Final = "search-1"
"""Of this version's own files; another version leaves it alone."""

ENTRIES_SUFFIX: Final = ".entries"

# Longer than a question takes. What is left when a process ends is removed as any file that no row names.
_RETIREMENT_S: Final = 30.0

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")
# A name has to fit where file systems allow 255 bytes, with what is put around it.
_MAX_NAME_CHARS: Final = 120
_HASH_CHARS: Final = 16
_RECORD_NAME: Final = re.compile(rf"[0-9a-f]{{{_HASH_CHARS}}}-[A-Za-z0-9._-]*\.json")


@dataclass(slots=True)
class NewFile:
    """A file that is being written."""

    stream: BinaryIO
    status: os.stat_result
    """Once it is in its place."""


class Cache:
    """Where everything of one index is."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.own = folder / OWN_FOLDER
        self._retired: deque[tuple[float, str]] = deque()

    def prepare(self) -> None:
        """Make the folders, for the user alone where the file system can say so.

        Raises:
            OSError: If they cannot be made.
        """
        for folder in (self.folder, self.own):
            folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            with suppress(OSError):
                mode = stat.S_IMODE(folder.stat().st_mode)
                if mode & ~FOLDER_MODE:
                    # One that its owner made read-only stays so.
                    folder.chmod(mode & FOLDER_MODE)

    def record(self, name: str) -> Path:
        """A record by its name."""
        return self.folder / name

    def catalogue(self, branches: Branches) -> Path:
        """The list of what is known of every session."""
        return self.own / f"catalogue.{branches}.jsonl"

    def lock(self) -> Path:
        """Held by whoever changes the catalogue or removes files."""
        return self.own / "lock"

    def entries(self, group: str) -> Path:
        """The record of a hot session under a second name, which stays when another process replaces it."""
        return self.own / f"{group}{ENTRIES_SUFFIX}"

    def rows(self, group: str) -> Path:
        """Rows of a hot session."""
        return self.own / f"{group}.rows"

    def words(self, group: str) -> Path:
        """Words of a hot session, or of a group of cold ones."""
        return self.own / f"{group}.words"

    def folded(self, group: str) -> Path:
        """Folded words of a hot session, or of a group of cold ones."""
        return self.own / f"{group}.folded"

    def write(self, path: Path, data: bytes) -> os.stat_result:
        """Put a complete file in place; what was there before is replaced as a whole.

        Raises:
            OSError: If it cannot be written.
        """
        return self.write_parts(path, (data,))

    def write_parts(self, path: Path, parts: Iterable[bytes]) -> os.stat_result:
        """As `write`, from parts that need not all be in memory.

        Raises:
            OSError: If it cannot be written.
        """
        with self.replacing(path) as new:
            new.stream.writelines(parts)
        return new.status

    @contextmanager
    def replacing(self, path: Path, *, also: Path | None = None) -> Generator["NewFile"]:
        """Write a file beside `path` and put it there when the block ends well.

        Where the file system can, it gets the name `also` as well.

        Nothing waits for the disk: after a crash of the machine a file may be missing or short, which is
        noticed, and all of it can be made again.
        """
        handle, name = tempfile.mkstemp(prefix=".new-", dir=self.own)
        try:
            with os.fdopen(handle, "wb") as stream:
                new = NewFile(stream, os.fstat(handle))
                yield new
                stream.flush()
                if also is not None:
                    with suppress(OSError):
                        os.link(name, also)
                os.replace(name, path)  # noqa: PTH105 - a text costs less than a Path here
                # Of what we wrote, whatever another process puts in its place meanwhile.
                new.status = os.fstat(handle)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)  # noqa: PTH108
            raise

    def remove(self, *paths: Path) -> None:
        """Remove files; one that is not there is no error."""
        for path in paths:
            with suppress(OSError):
                path.unlink()

    def retire_group(self, group: str) -> None:
        """Remove, in a while, what lies beside a record that was replaced: others may be reading it."""
        now = time.monotonic()
        self._retired.append((now, group))
        while self._retired[0][0] < now - _RETIREMENT_S:
            self.remove_group(self._retired.popleft()[1])

    def remove_group(self, group: str) -> None:
        """Remove what lies beside one or more records."""
        self.remove(self.entries(group), self.rows(group), self.words(group), self.folded(group))


def is_record_name(name: str) -> bool:
    """True for a name that a record can have; any other file in the folder is somebody else's."""
    return _RECORD_NAME.fullmatch(name) is not None


def record_name(source: str, branches: Branches, tier: Tier) -> str:
    """The name of a session's record: it tells the path, the branch mode and the tier."""
    path = Path(source)
    digest = hashlib.sha1(os.fsencode(source), usedforsecurity=False).hexdigest()[:_HASH_CHARS]
    base = _UNSAFE.sub("_", path.name.removesuffix(".jsonl"))[:_MAX_NAME_CHARS]
    mode = ".all" if branches == "all" else ""
    return f"{digest}-{base}{mode}{'.digest' if tier == 'cold' else ''}.json"
