"""An agent's home with sessions and an index: what tests of the index begin with."""

import json
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.config.model import MemoryConfig
from pi_fabric.memory import Current, Memory
from pi_fabric.memory.catalogue import Row
from pi_fabric.memory.model import Branches

PROJECT = "/work/a"
# Of the first session; each later one is newer by a minute.
FIRST_MTIME_S = 1_750_000_000
S = 1_000_000_000
MS = 1_000_000


def header(session_id: str, cwd: str = PROJECT) -> JsonObject:
    """The first line of a session."""
    return {
        "type": "session",
        "version": 3,
        "id": session_id,
        "timestamp": "2025-06-01T10:00:00Z",
        "cwd": cwd,
    }


def message(entry_id: str, parent_id: str | None, text: str, role: str = "user") -> JsonObject:
    """A line of a session that says something."""
    return {
        "type": "message",
        "id": entry_id,
        "parentId": parent_id,
        "timestamp": "2025-06-01T10:00:00Z",
        "message": {"role": role, "content": [{"type": "text", "text": text}]},
    }


def lines(values: Iterable[JsonObject]) -> bytes:
    """Values as the lines of a file."""
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


@dataclass(frozen=True, kw_only=True)
class Lab:
    """Sessions below `root`, and indexes over them."""

    root: Path
    config: MemoryConfig

    @classmethod
    def at(cls, root: Path, **settings: Any) -> "Lab":
        """A home without sessions, with an index folder of its own."""
        settings.setdefault("index_dir", str(root / "index"))
        return cls(root=root, config=MemoryConfig(**settings))

    @property
    def index(self) -> Path:
        """The folder of the index."""
        assert self.config.index_dir is not None
        return Path(self.config.index_dir)

    @property
    def own(self) -> Path:
        """What lies beside the records."""
        return self.index / "search-1"

    @property
    def environ(self) -> dict[str, str]:
        """What tells where the sessions are."""
        return {"PI_CODING_AGENT_DIR": str(self.root / "agent"), "HOME": str(self.root)}

    def memory(self, **settings: Any) -> Memory:
        """What a process that starts now has."""
        config = replace(self.config, **settings)
        # Making one looks at the working folder, which must not be done on an event loop.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(lambda: Memory(config=config, environ=self.environ)).result()

    def fresh(self, **settings: Any) -> Memory:
        """One with an index of its own, in which nothing is yet."""
        number = sum(1 for _ in self.root.glob("fresh-*"))
        folder = self.root / f"fresh-{number}"
        folder.mkdir()
        return self.memory(index_dir=str(folder), **settings)

    def path(self, name: str, cwd: str = PROJECT) -> Path:
        """Where a session lies, there or not."""
        folder = self.root / "agent" / "sessions" / f"--{cwd.strip('/').replace('/', '-')}--"
        return folder / f"{name}.jsonl"

    def session(self, name: str, *texts: str, cwd: str = PROJECT, minute: int | None = None) -> Path:
        """Write a session of one message a text, each under the one before."""
        path = self.path(name, cwd)
        path.parent.mkdir(parents=True, exist_ok=True)
        ids = [f"{name}-{number}" for number in range(len(texts))]
        entries = [
            message(one, parent, text) for one, parent, text in zip(ids, [None, *ids], texts, strict=False)
        ]
        path.write_bytes(lines([header(name, cwd), *entries]))
        if minute is not None:
            set_minute(path, minute)
        return path

    def sessions(self, count: int, text: str = "common word{}") -> list[Path]:
        """Several sessions, oldest first; `{}` in the text is the number of each."""
        return [self.session(f"s{number:03}", text.format(number), minute=number) for number in range(count)]

    def catalogue(self, branches: Branches = "active") -> Path:
        """The list of what is known."""
        return self.own / f"catalogue.{branches}.jsonl"

    def rows(self, branches: Branches = "active") -> dict[str, Row]:
        """What the list says last of each session, by the stem of its file; a torn line says nothing."""
        found: dict[str, Row] = {}
        for line in self.catalogue(branches).read_bytes().split(b"\n"):
            with suppress(ValueError):
                told = json.loads(line)
                if told.get("gone"):
                    found.pop(Path(told["gone"]).stem, None)
                elif "row" in told:
                    row = msgspec.convert(told["row"], Row)
                    found[Path(row.file).stem] = row
        return found

    def put_rows(self, rows: Iterable[Row], branches: Branches = "active") -> None:
        """Replace the list."""
        data = b"".join(msgspec.json.encode({"row": row}) + b"\n" for row in rows)
        fresh = self.own / "rewritten"
        fresh.write_bytes(data)
        fresh.replace(self.catalogue(branches))

    def settle(self, after_ns: int = 60 * S, branches: Branches = "active") -> None:
        """Have every reading begin so long after the last change of the file."""
        rows = self.rows(branches).values()
        for row in rows:
            row.read_began_ns = row.stamp.ctime_ns + after_ns
        self.put_rows(rows, branches)

    def records(self) -> list[str]:
        """Names of the records on the disk."""
        return sorted(path.name for path in self.index.glob("*.json"))


def set_minute(path: Path, minute: int) -> None:
    """Set when a file was last written."""
    moment = FIRST_MTIME_S + 60 * minute
    os.utime(path, (moment, moment))


async def ask(
    memory: Memory, query: str | None = None, *, current: Current | None = None, **args: Any
) -> dict[str, Any]:
    """Recall everywhere, in full."""
    asked = {"query": query, "scope": "global", "detail": "full", "pageSize": 200, **args}
    return await memory.recall(asked, cwd=Path(PROJECT), current=current)


async def where(memory: Memory, query: str | None = None, **args: Any) -> list[str]:
    """Names of the sessions in which something is found, sorted; the answer must be complete."""
    answer = await ask(memory, query, **args)
    assert answer["coverage"]["complete"], answer["coverage"]
    return names(answer)


def names(answer: dict[str, Any]) -> list[str]:
    """Names of the sessions in an answer, sorted."""
    files = [one["sessionFile"] for one in [*answer["segments"], *answer["digestHits"]]]
    return sorted(Path(file).stem for file in files)


async def everything(memory: Memory, queries: Sequence[str | None], **args: Any) -> list[dict[str, Any]]:
    """The answers to several questions."""
    return [await ask(memory, query, **args) for query in queries]


QUERIES = ("common", "word1 word3", "common word4", "absent", None)
"""About what `Lab.sessions` writes."""

both_processes = pytest.mark.parametrize("same_process", [True, False], ids=["same", "other"])
"""A test asks the process that has asked before, and one that starts."""


async def same_as_fresh(lab: Lab, memory: Memory, **args: Any) -> None:
    """The answers are those of an index that was made just now."""
    assert await everything(memory, QUERIES, **args) == await everything(lab.fresh(), QUERIES, **args)


def records_of(folder: Path) -> dict[str, tuple[int, int, int]]:
    """What tells of each record whether it was written again."""
    found: dict[str, tuple[int, int, int]] = {}
    for path in folder.glob("*.json"):
        # Another process may be replacing or removing it.
        with suppress(FileNotFoundError):
            status = path.stat()
            found[path.name] = (status.st_ino, status.st_mtime_ns, status.st_size)
    return found
