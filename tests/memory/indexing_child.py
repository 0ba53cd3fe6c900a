"""A process that asks memory and prints the answers: `python -m tests.memory.indexing_child ORDER`.

The order is JSON: `root` of a lab, `settings` of memory, `queries`, and `dies_at`, the number of the event
of files in the index at which the process kills itself.
"""

import json
import os
import signal
import sys
from itertools import count
from pathlib import Path

import anyio

from tests.memory.index_lab import Lab, everything

# What changes a folder, as Python tells it before it is done.
_EVENTS = frozenset({"open", "os.rename", "os.remove", "os.mkdir", "os.chmod"})


def die_at(number: int, folder: str) -> None:
    """Kill this process at an event."""
    numbers = count(1)

    def see(event: str, args: tuple[object, ...]) -> None:
        if (
            event in _EVENTS
            and any(str(one).startswith(folder) for one in args[:2])
            and next(numbers) == number
        ):
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(see)


def main() -> None:
    """Ask and print."""
    order = json.loads(sys.argv[1])
    lab = Lab.at(Path(order["root"]), **order["settings"])
    if order["dies_at"]:
        die_at(order["dies_at"], str(lab.index))
    memory = lab.memory()
    print(json.dumps(anyio.run(everything, memory, order["queries"])))  # noqa: T201 - the answer


if __name__ == "__main__":
    main()
