"""Turns for changes of one file within this process, so that parallel edits lose nothing."""

import os
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio


class PathLocks:
    """One lock per file that is being changed, by the file that links lead to; kept while needed."""

    def __init__(self) -> None:
        self._locks: dict[str, anyio.Lock] = {}
        self._users: Counter[str] = Counter()

    @asynccontextmanager
    async def holding(self, path: Path) -> AsyncGenerator[None]:
        """Wait for the turn to change `path`; turns are taken in order of arrival."""
        key = await anyio.to_thread.run_sync(os.path.realpath, path)
        lock = self._locks.setdefault(key, anyio.Lock())
        self._users[key] += 1
        try:
            async with lock:
                yield
        finally:
            self._users[key] -= 1
            if not self._users[key]:
                del self._users[key], self._locks[key]
