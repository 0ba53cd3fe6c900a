"""A real certification against each pinned Pi, recorded, and played again with one thing falsified.

What is played are the answers that the real Pi gave to the very same questions, and the session files that it
wrote; memory, the continuation's work and its oracle are real each time.
"""

import functools
import os
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.to_thread

from pi_fabric.base.jsonvalue import Json, JsonObject, decode, encode
from pi_fabric.base.process import inherited_environment
from pi_fabric.certify.context import Certification, DriverMaker, Report, Size
from pi_fabric.certify.pi_driver import PiDriver, drive_pi
from pi_fabric.certify.recollection import Recollection
from pi_fabric.host.pi.program import PiProgram, inspect
from tools import install_pi

SHORT = Size.short()
# Compactions of the short form, in order.
ENDURANCE = range(SHORT.cycles)
CLOSURES = range(10, 16)
SATURATION = 16
CONTINUATION = range(17, 19)
PROBLEM = "its problem"

Falsify = Callable[[str, int, Json], Json]
"""Given a method, how often it was asked before, and the true answer, gives the answer."""
FalsifyMemory = Callable[[int, str, int, JsonObject], JsonObject]
"""Given the memory that is asked (0, then one for each task), an action, how often, and the true answer."""


Change = Callable[[JsonObject], JsonObject]
"""Makes another answer of an answer."""


def by(change: Change) -> Change:
    """Tell the type of a lambda in a table."""
    return change


def truly(_method: str, _number: int, answer: Json) -> Json:
    return answer


def truly_remembered(_memory: int, _action: str, _number: int, answer: JsonObject) -> JsonObject:
    return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One question to the real Pi and its answer."""

    method: str
    params: bytes
    answer: bytes


@dataclass(slots=True)
class Tape:
    """Everything that a real Pi was asked, and the session files that came of it."""

    folder: str = ""
    """The temporary folder, which is in many paths."""
    exchanges: list[Exchange] = field(default_factory=list[Exchange])
    files: dict[str, tuple[bytes, int]] = field(default_factory=dict[str, tuple[bytes, int]])

    def keep_files(self, folder: Path) -> None:
        for file in folder.rglob("*.jsonl"):
            self.files[str(file)] = (file.read_bytes(), file.stat().st_mtime_ns)


class Recorder(PiDriver):
    """A real Pi whose answers are kept."""

    def __init__(self, real: PiDriver, tape: Tape) -> None:
        super().__init__(real._process, real.environ)
        self._tape = tape

    async def _ask(self, method: str, params: JsonObject) -> Json:
        answer = await super()._ask(method, params)
        self._tape.exchanges.append(Exchange(method=method, params=encode(params), answer=encode(answer)))
        return answer


class Played(PiDriver):
    """A recorded Pi; it writes each session file when the session is opened."""

    def __init__(self, tape: Tape, folder: str, environ: Mapping[str, str], falsify: Falsify) -> None:
        self.environ = environ
        self._tape, self._falsify = tape, falsify
        # Pi names the folder of a project's sessions after the project's path.
        self._names = [(tape.folder, folder), (_as_one_name(tape.folder), _as_one_name(folder))]
        self._at = 0

    async def _ask(self, method: str, params: JsonObject) -> Json:
        # A phase that stopped early leaves questions unasked.
        while self._tape.exchanges[self._at].method != method:
            self._at += 1
        exchange = self._tape.exchanges[self._at]
        self._at += 1
        assert self._moved(exchange.params) == encode(params), "another question than the recorded one"
        answer = decode(self._moved(exchange.answer))
        for made in answer if method == "create" else [answer] if method == "open" else []:
            await anyio.to_thread.run_sync(self._write, made["file"])
        number = sum(one.method == method for one in self._tape.exchanges[: self._at - 1])
        return self._falsify(method, number, answer)

    def _moved(self, data: bytes) -> bytes:
        for old, new in self._names:
            data = data.replace(old.encode(), new.encode())
        return data

    def _write(self, file: str) -> None:
        old = file
        for there, here in self._names:
            old = old.replace(here, there)
        data, mtime_ns = self._tape.files[old]
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).write_bytes(self._moved(data))
        os.utime(file, ns=(mtime_ns, mtime_ns))


def _as_one_name(folder: str) -> str:
    return folder.strip("/").replace("/", "-")


class FalseRecollection(Recollection):
    """Memory whose answers may be falsified."""

    def __init__(self, environ: Mapping[str, str], cwd: Path, number: int, falsify: FalsifyMemory) -> None:
        super().__init__(environ, cwd)
        self._number, self._falsify = number, falsify
        self._asked: dict[str, int] = {}

    async def _call(self, name: str, args: JsonObject) -> JsonObject:
        answer = await super()._call(name, args)
        count = self._asked[name] = self._asked.get(name, -1) + 1
        return self._falsify(self._number, name, count, answer)


@functools.cache
def program(version: str) -> PiProgram:
    found = inspect(install_pi.entry(version))
    assert found is not None
    return found


def certify(
    *programs: PiProgram,
    drive: DriverMaker = drive_pi,
    size: Size = SHORT,
    falsify_memory: FalsifyMemory = truly_remembered,
    node: Path | None = None,
) -> Report:
    """Certify each Pi."""
    made: list[Recollection] = []

    def recollect(environ: Mapping[str, str], cwd: Path) -> Recollection:
        made.append(FalseRecollection(environ, cwd, len(made), falsify_memory))
        return made[-1]

    certification = Certification(
        node=node or install_pi.node(), environ=os.environ, size=size, drive=drive, recollect=recollect
    )

    async def run() -> Report:
        return await certification.run(programs, lambda _name, _done, _of: None)

    return anyio.run(run)


def recorded(version: str, size: Size = SHORT) -> tuple[Report, Tape]:
    """The report of one real run, and its tape; made once."""
    return _recorded(version, size)


@functools.cache
def _recorded(version: str, size: Size) -> tuple[Report, Tape]:
    tape = Tape()

    @asynccontextmanager
    async def drive(
        pi: PiProgram, node: Path, agent_dir: Path, environ: Mapping[str, str]
    ) -> AsyncGenerator[PiDriver]:
        tape.folder = str(agent_dir.parent)
        async with drive_pi(pi, node, agent_dir, environ) as real:
            yield Recorder(real, tape)
        await anyio.to_thread.run_sync(tape.keep_files, agent_dir.parent)

    return certify(program(version), drive=drive, size=size), tape


def played(tape: Tape, agent_dir: Path, falsify: Falsify = truly) -> PiDriver:
    """A recorded Pi with an agent folder of its own."""
    variables = {"HOME": str(agent_dir.parent), "PI_CODING_AGENT_DIR": str(agent_dir)}
    return Played(tape, str(agent_dir.parent), inherited_environment(variables), falsify)


def player(version: str, falsify: Falsify = truly, *, size: Size = SHORT) -> DriverMaker:
    """Starts a recorded Pi instead of a real one."""
    _, tape = recorded(version, size)

    @asynccontextmanager
    async def drive(
        _pi: PiProgram, _node: Path, agent_dir: Path, _environ: Mapping[str, str]
    ) -> AsyncGenerator[PiDriver]:
        yield played(tape, agent_dir, falsify)

    return drive


def play(
    version: str,
    falsify: Falsify = truly,
    *,
    falsify_memory: FalsifyMemory = truly_remembered,
    size: Size = SHORT,
) -> Report:
    """Certify against a recorded Pi."""
    drive = player(version, falsify, size=size)
    return certify(program(version), drive=drive, size=size, falsify_memory=falsify_memory)


def failures(report: Report) -> set[tuple[str, str]]:
    """Everything in a report that does not hold, as phase and check."""
    phases = [phase for version in report.versions for phase in version.phases]
    failed = {
        (phase.name, check.name) for phase in phases for check in phase.checks.values() if not check.holds
    }
    return failed | {(phase.name, PROBLEM) for phase in phases if phase.problem}


def compaction(number: int, change: Change) -> Falsify:
    """Falsify what one compaction came to."""

    def falsify(method: str, asked: int, answer: Json) -> Json:
        return change(answer) if (method, asked) == ("compact", number) else answer

    return falsify


def retold(facts: JsonObject, *, summary: str | None = None, details: Json = None) -> JsonObject:
    """A compaction with another summary or other details, stored as such."""
    told = {
        "summary": facts["summary"] if summary is None else summary,
        "details": facts["details"] if details is None else details,
    }
    suffix = facts["stored"]["summary"].removeprefix(facts["summary"])
    stored = facts["stored"] | told | {"summary": told["summary"] + suffix}
    return facts | told | {"stored": stored}


def cut_at(facts: JsonObject, kept_id: str) -> JsonObject:
    """A compaction that keeps from another entry, with everything that follows from it."""
    ids = [entry["id"] for entry in facts["branch"] if entry["type"] != "compaction"]
    kept = ids[ids.index(kept_id) :] if kept_id in ids else []
    context = [facts["compactionId"], *kept]
    moved = facts | {
        "firstKeptEntryId": kept_id,
        "stored": facts["stored"] | {"firstKeptEntryId": kept_id},
        "contextIds": context,
        "publicContextIds": context,
    }
    source = facts["details"]["coverage"]["cumulativeSourceRange"]
    last = ids[ids.index(kept_id) - 1] if kept_id in ids else ids[-1]
    coverage = facts["details"]["coverage"] | {"cumulativeSourceRange": source | {"last": last}}
    return retold(moved, details=facts["details"] | {"coverage": coverage})


def entry_where(facts: JsonObject, holds: Callable[[JsonObject], bool]) -> str:
    """The first entry of a branch for which something holds."""
    return next(entry["id"] for entry in facts["branch"] if holds(entry))
