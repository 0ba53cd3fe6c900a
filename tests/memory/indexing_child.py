"""A process that asks memory and prints the answers: `python -m tests.memory.indexing_child ORDER`.

The order is JSON: `root` of a lab, `settings` of memory, `queries`, `opens`, arguments of one expansion or
null, and `dies_at`, the number of the event of files in the index at which the process kills itself. Printed
are the answers, the lengths of the texts that were opened, and the largest memory of this process and its
children in MiB.
"""

import json
import os
import resource
import signal
import sys
from itertools import count
from pathlib import Path

import anyio

from pi_fabric.base.jsonvalue import JsonObject
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


def peak_mib() -> dict[str, int]:
    """The most memory that this process had so far, and the most that any of its children had."""
    status = Path("/proc/self/status")
    # What the system counts for a process includes its parent's before another program was loaded.
    own = (
        next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        if status.exists()
        else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    )
    return {"own": own // 1024, "children": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024}


async def obey(order: JsonObject) -> JsonObject:
    """Ask and open."""
    lab = Lab.at(Path(order["root"]), **order["settings"])
    memory = lab.memory()
    answers = await everything(memory, order["queries"])
    told: JsonObject = {"answers": answers, "peak": peak_mib()}
    if order.get("opens") is not None:
        opened = await memory.expand(order["opens"], cwd=lab.root)
        told["opened"] = [[one["entryId"], len(one["text"])] for one in opened["expanded"]]
        told["peak_opening"] = peak_mib()
    return told


def main() -> None:
    """Obey and print."""
    order = json.loads(sys.argv[1])
    if order.get("dies_at"):
        die_at(order["dies_at"], order["settings"]["index_dir"])
    print(json.dumps(anyio.run(obey, order)))  # noqa: T201 - the answer


if __name__ == "__main__":
    main()
