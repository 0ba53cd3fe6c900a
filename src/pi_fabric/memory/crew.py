"""Building many sessions at once: a few worker processes that take groups of tasks from one queue."""

import os
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio
import msgspec
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from pi_fabric.base.errors import StoreError
from pi_fabric.base.process import child_process, inherited_environment
from pi_fabric.memory.building import INDEX_ERROR, Built, Options, Task
from pi_fabric.memory.cache import Cache
from pi_fabric.memory.worker import Order

# A group's words lie in one file: many sessions make few files, and a worker tells often how far it is.
GROUP_TASKS: Final = 64
GROUP_BYTES: Final = 16 * 1024 * 1024
MAX_WORKERS: Final = 8
# Rows of the largest group are far below it.
_MAX_ANSWER_BYTES: Final = 64 * 1024 * 1024
# For the largest session that the budgets allow, on a slow disk.
_ANSWER_TIMEOUT_S: Final = 600.0

Sink = Callable[[list[Built]], Awaitable[None]]

_decoder: Final = msgspec.json.Decoder(list[Built] | str)


def grouped(tasks: Sequence[tuple[Task, int]]) -> list[list[Task]]:
    """Tasks in groups of bounded size; each comes with the bytes of its source."""
    groups: list[list[Task]] = []
    size = GROUP_BYTES
    for task, source_bytes in tasks:
        if not groups or size + source_bytes > GROUP_BYTES or len(groups[-1]) == GROUP_TASKS:
            groups.append([])
            size = 0
        groups[-1].append(task)
        size += source_bytes
    return groups


@dataclass(frozen=True, slots=True)
class _Batch:
    tasks: Sequence[Task]
    is_retry: bool = False
    """True when a worker has died of them already."""


async def build_with_workers(
    cache: Cache, options: Options, groups: Sequence[Sequence[Task]], sink: Sink
) -> None:
    """Build all groups; what comes of each goes to `sink`, one at a time.

    A worker that dies takes nothing with it: its tasks are tried again one by one, and one that ends a
    worker a second time is told as not built.

    Raises:
        OSError: If a worker cannot be started, or cannot write.
        StoreError: As `sink` does.
    """
    queue = deque(_Batch(group) for group in groups)
    order = msgspec.json.encode(Order(folder=str(cache.folder), options=options)) + b"\n"
    giving = anyio.Lock()
    failures: list[OSError | StoreError] = []

    async def give(built: list[Built]) -> None:
        async with giving:
            await sink(built)

    async def work() -> None:
        try:
            while queue:
                await _run_worker(order, queue, give)
        except (OSError, StoreError) as error:
            # Raised below as it is and not within a group.
            failures.append(error)
            group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for _ in range(min(_processors(), MAX_WORKERS, len(queue))):
            group.start_soon(work)
    if failures:
        raise failures[0]


async def _run_worker(order: bytes, queue: deque[_Batch], give: Sink) -> None:
    """One worker's life: until the queue is empty or the worker fails."""
    argv = [sys.executable, "-m", "pi_fabric.memory.worker"]
    env = inherited_environment({"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)})
    async with child_process(argv, cwd=Path("/"), env=env) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        answers = BufferedByteReceiveStream(process.stdout)
        with suppress(anyio.BrokenResourceError):
            await process.stdin.send(order)
        while queue:
            batch = queue.popleft()
            answer = await _ask(process, answers, batch.tasks)
            if answer is None:
                if batch.is_retry:
                    await give([Built(file=task.file, problem=INDEX_ERROR) for task in batch.tasks])
                else:
                    queue.extend(_Batch([task], is_retry=True) for task in batch.tasks)
                return
            built = _decoder.decode(answer)
            if isinstance(built, str):
                raise OSError(built)
            await give(built)


async def _ask(process: Process, answers: BufferedByteReceiveStream, tasks: Sequence[Task]) -> bytes | None:
    """The line that answers a group; None when the worker failed."""
    assert process.stdin is not None
    try:
        with anyio.fail_after(_ANSWER_TIMEOUT_S):
            await process.stdin.send(msgspec.json.encode(tasks) + b"\n")
            return await answers.receive_until(b"\n", _MAX_ANSWER_BYTES)
    except (
        anyio.BrokenResourceError,
        anyio.ClosedResourceError,
        anyio.EndOfStream,
        anyio.IncompleteRead,
        anyio.DelimiterNotFound,
        TimeoutError,
    ):
        return None


def _processors() -> int:
    """How many processors we may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
