"""A process that asks memory: `recalling.py AGENT CALLS`, with CALLS a JSON list of [method, arguments].

Prints JSON: for each call its milliseconds and how much it found, and when the last record was made.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import anyio

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.config.model import MemoryConfig
from pi_fabric.memory import Memory


async def answered(memory: Memory, method: str, args: JsonObject) -> tuple[float, int, float]:
    """Milliseconds of one call, the items or entries it found, and its milliseconds of making records."""
    start = time.perf_counter()
    made_ms = 0.0

    def progress(_done: int, _total: int) -> None:
        nonlocal made_ms
        made_ms = (time.perf_counter() - start) * 1e3

    answer: dict[str, Any]
    if method == "recall":
        answer = await memory.recall(args, cwd=Path("/"), progress=progress)
    else:
        answer = await memory.expand(args, cwd=Path("/"))
    elapsed_ms = (time.perf_counter() - start) * 1e3
    return elapsed_ms, answer["totalItems"] if method == "recall" else len(answer["expanded"]), made_ms


async def main() -> None:
    """Make the calls in their order, all of one memory."""
    agent, calls = sys.argv[1], json.loads(sys.argv[2])
    environ = {"PI_CODING_AGENT_DIR": agent, "HOME": agent}
    memory = Memory(config=MemoryConfig(), environ=environ)
    answers = [await answered(memory, method, args) for method, args in calls]
    times, found, made = zip(*answers, strict=True)
    print(json.dumps({"ms": times, "found": found, "made_ms": made}))


anyio.run(main)
