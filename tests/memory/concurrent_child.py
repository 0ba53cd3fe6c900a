"""One process of several over one index: `python -m tests.memory.concurrent_child ORDER`.

The order is JSON: `root` of a lab, `settings` of memory, `role`, `name`, `rounds`, `peers`. A writer appends
marked messages to sessions and tells of each in the file `flushed` once it is written; a reader asks for
markers that were told before it asked, and prints how often it asked and what was wrong.
"""

import json
import random
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.memory import Memory
from tests.memory.index_lab import PROJECT, Lab, ask, lines, message, names

# A writer waits this long for readers that have ended.
PATIENCE_S = 20.0
WRITTEN = ("s000", "s001", "s002", "s003")
CHANGED = ["source_changed_during_index"]


def write(lab: Lab, rounds: int, peers: list[str]) -> None:
    """Append, each time when a reader has asked since."""
    chance = random.Random(rounds)
    told = lab.root / "flushed"
    parents = {name: f"{name}-0" for name in WRITTEN}
    for number in range(rounds):
        name = chance.choice(WRITTEN)
        entry_id = f"m{number}"
        data = lines([message(entry_id, parents[name], f"common marker{number} end")])
        parents[name] = entry_id
        with lab.path(name).open("ab", buffering=0) as stream:
            at = chance.randrange(len(data))
            stream.write(data[:at])
            stream.write(data[at:])
        with told.open("a") as stream:
            stream.write(json.dumps([number, name]) + "\n")
        _wait_for_a_reader(lab, peers)
    (lab.root / "over").touch()


def _wait_for_a_reader(lab: Lab, peers: list[str]) -> None:
    def rounds() -> list[int]:
        return [path.stat().st_size if (path := lab.root / peer).exists() else 0 for peer in peers]

    before, until = rounds(), time.monotonic() + PATIENCE_S
    while rounds() == before and time.monotonic() < until:
        time.sleep(0.0005)


@dataclass
class Reader:
    """Asks until the writer is done, and once more."""

    lab: Lab
    name: str
    chance: random.Random
    problems: list[str] = field(default_factory=list[str])
    rounds: int = 0
    incomplete: int = 0
    counts: dict[str, int] = field(default_factory=dict[str, int])

    async def run(self) -> JsonObject:
        """What came of it."""
        memory = self.lab.memory()
        is_over = False
        while not is_over:
            is_over = (self.lab.root / "over").exists()
            if self.chance.random() < 0.2:
                memory = self.lab.memory()
            await self._ask(memory)
            self.rounds += 1
            with (self.lab.root / self.name).open("a") as stream:
                stream.write(".")
        return {"rounds": self.rounds, "incomplete": self.incomplete, "problems": self.problems[:10]}

    async def _ask(self, memory: Memory) -> None:
        told = self.lab.root / "flushed"
        flushed = [json.loads(line) for line in told.read_text().splitlines()] if told.exists() else []
        for number, name in [*flushed[-1:], *self.chance.sample(flushed, min(1, len(flushed)))]:
            answer = await ask(memory, f"marker{number}")
            if self._is_complete(answer) and names(answer) != [name]:
                self.problems.append(f"marker{number} of {name} found in {names(answer)}")
            for segment in answer["segments"]:
                texts = [one["entry"]["text"] for one in segment["entries"] if one["matched"]]
                if texts != [f"common marker{number} end"]:
                    self.problems.append(f"marker{number} found as {texts}")
            await self._open(memory, number, name)
        answer = await ask(memory, "common")
        if self._is_complete(answer) and len(set(names(answer))) != 12:
            self.problems.append(f"common found in {names(answer)}")
        self._count(flushed, await memory.sessions({"scope": "global"}, cwd=Path(PROJECT)))

    async def _open(self, memory: Memory, number: int, name: str) -> None:
        request = {"session": str(self.lab.path(name)), "entryIds": [f"m{number}"]}
        opened = await memory.expand(request, cwd=Path(PROJECT))
        texts = [one["text"] for one in opened["expanded"]]
        # A session that never held still while it was read is told as unavailable.
        if texts != [f"common marker{number} end"] and opened["error"]["code"] != "source_unavailable":
            self.problems.append(f"m{number} opened as {opened}")

    def _is_complete(self, answer: dict[str, Any]) -> bool:
        coverage = answer["coverage"]
        if coverage["complete"]:
            if (coverage["indexedSessions"], coverage["staleSessions"]) != (12, 0):
                self.problems.append(f"called complete: {coverage}")
        elif coverage["reasons"] == CHANGED and coverage["indexedSessions"] + coverage["staleSessions"] == 12:
            self.incomplete += 1
        else:
            self.problems.append(f"not complete because of {coverage}")
        return coverage["complete"]

    def _count(self, flushed: list[Any], listed: JsonObject) -> None:
        for row in listed["sessions"]:
            name, count = Path(row["file"]).stem, row["entryCount"]
            least = max(self.counts.get(name, 0), 1 + sum(one[1] == name for one in flushed))
            # None for a session that was written while it was read.
            if 0 < count < least:
                self.problems.append(f"{name} had {least} entries and now {count}")
            self.counts[name] = max(least, count)


def main() -> None:
    """Play a role and print what came of it."""
    order = json.loads(sys.argv[1])
    lab = Lab.at(Path(order["root"]), **order["settings"])
    if order["role"] == "write":
        write(lab, order["rounds"], order["peers"])
        print("{}")  # noqa: T201 - the answer
    else:
        reader = Reader(lab, order["name"], random.Random(order["name"]))
        print(json.dumps(anyio.run(reader.run)))  # noqa: T201 - the answer


if __name__ == "__main__":
    main()
