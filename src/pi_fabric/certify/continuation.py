"""Continuation: a task goes on after a compaction, with nothing but what was handed over.

The one who resumes has the summary, its details, and memory. What it does is in the session's source and
nowhere else; an oracle outside scores the files.
"""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio

from pi_fabric.base.errors import FabricError
from pi_fabric.base.jsonvalue import Json, JsonObject, decode, encode, is_object
from pi_fabric.base.process import child_process
from pi_fabric.certify.checks import Phase
from pi_fabric.certify.messages import Clock, assistant, call, result, user
from pi_fabric.certify.pi_driver import PiDriver
from pi_fabric.certify.recollection import Recollection

MARK: Final = "CERT_TASK_V1"
_ORACLE_TIMEOUT_S: Final = 30.0

_SILENT: Final = "{}: what is handed over does not tell the task"
_SHOWN: Final = "{}: the handed over address is in the summary"
_RESOLVED: Final = "{}: the address resolves through memory"
_EXACT: Final = "{}: the files are exactly as expected"
_UNTOUCHED: Final = "{}: forbidden files are untouched"
_PASSES: Final = "{}: the oracle passes"
CHECKS: Final = (_SILENT, _SHOWN, _RESOLVED, _EXACT, _UNTOUCHED, _PASSES)

# Long before the task itself: a summary shows the beginning of what the user wants.
_PREFACE: Final = "\n".join(
    f"Point {number} is for the one who reads on in the source." for number in range(40)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One small repository with something to do."""

    name: str
    files: Mapping[str, str]
    """As the repository is at the start."""
    operations: tuple[JsonObject, ...]
    """What is to be done; known to the session alone."""
    expected: Mapping[str, str]
    """Files that must hold exactly this at the end."""
    forbidden: tuple[str, ...]
    """Files that must not change."""
    oracle: str
    """A Node program that ends with 0 when the work is done."""


class HandoffFailed(FabricError):
    """The work cannot go on: something that was handed over is missing."""

    code = "handoff_failed"


TASKS: Final = (
    Task(
        name="rename with a caller",
        files={
            "price.mjs": "export const vat = (net) => net * 0.19;\n",
            "invoice.mjs": 'import { vat } from "./price.mjs";\n'
            "export const gross = (net) => net + vat(net);\n",
            "LICENSE": "All rights with the authors.\n",
        },
        operations=(
            {"op": "replace", "path": "price.mjs", "old": "vat", "new": "valueAddedTax"},
            {"op": "replace", "path": "invoice.mjs", "old": "vat", "new": "valueAddedTax"},
        ),
        expected={
            "price.mjs": "export const valueAddedTax = (net) => net * 0.19;\n",
            "invoice.mjs": 'import { valueAddedTax } from "./price.mjs";\n'
            "export const gross = (net) => net + valueAddedTax(net);\n",
        },
        forbidden=("LICENSE",),
        oracle="const { gross } = await import(process.argv[2] + '/invoice.mjs');\n"
        "const { valueAddedTax } = await import(process.argv[2] + '/price.mjs');\n"
        "process.exit(gross(100) === 119 && valueAddedTax?.(100) === 19 ? 0 : 1);\n",
    ),
    Task(
        name="new file with exact text",
        files={
            "greet.mjs": 'export const greet = () => "hello";\n',
            "data/names.json": '["Zoë", "鯨"]\n',
        },
        operations=(
            {
                "op": "write",
                "path": "farewell.mjs",
                "content": 'export const farewell = () => "tschüß 鯨";\n',
            },
            {"op": "replace", "path": "greet.mjs", "old": "hello", "new": "grüß dich"},
        ),
        expected={
            "farewell.mjs": 'export const farewell = () => "tschüß 鯨";\n',
            "greet.mjs": 'export const greet = () => "grüß dich";\n',
        },
        forbidden=("data/names.json",),
        oracle="const { farewell } = await import(process.argv[2] + '/farewell.mjs');\n"
        "const { greet } = await import(process.argv[2] + '/greet.mjs');\n"
        "process.exit(farewell() === 'tschüß 鯨' && greet() === 'grüß dich' ? 0 : 1);\n",
    ),
)


async def continue_work(
    driver: PiDriver,
    phase: Phase,
    *,
    folder: Path,
    session_dir: Path,
    node: Path,
    recollect: Callable[[Mapping[str, str], Path], Recollection] = Recollection,
) -> None:
    """Hand each task over and let it be finished; see `CHECKS`."""
    for number, task in enumerate(TASKS):
        phase.require(*(check.format(task.name) for check in CHECKS))
        repository = folder / f"repository-{number}"
        await anyio.to_thread.run_sync(write_files, repository, task.files)
        handoff = folder / f"handoff-{number}.json"
        shown, resolved, silent = (name.format(task.name) for name in (_SHOWN, _RESOLVED, _SILENT))
        try:
            await hand_over(driver, task, repository, session_dir, handoff)
            envelope = await anyio.Path(handoff).read_text(encoding="utf-8")
            phase.see(silent, payload_of(task) not in envelope and MARK not in envelope, "it does")
            told = await resume(handoff, recollect(driver.environ, repository), repository)
        except HandoffFailed as error:
            phase.see(resolved, False, error.message)
            continue
        phase.see(shown, told.is_in_summary)
        phase.see(resolved, told.is_resolved)
        await score(phase, task, repository, node)
    phase.figures["tasks"] = len(TASKS)


async def hand_over(driver: PiDriver, task: Task, repository: Path, session_dir: Path, handoff: Path) -> None:
    """Talk about a task, compact, and write down what the next one gets: nothing of the task itself.

    Raises:
        HandoffFailed: If there was no compaction.
    """
    opened = await driver.open(repository, session_dir)
    clock = Clock()
    await driver.append(
        [
            user(clock, f"Work in the repository: {task.name}.\n{_PREFACE}\n{MARK} {payload_of(task)}"),
            assistant(clock, "", call("look", "ls", path=".")),
            result(clock, "look", "ls", "\n".join(task.files)),
            assistant(clock, "I have seen the files."),
            user(clock, "Good. Take a break before you begin."),
            assistant(clock, "I will go on from here."),
        ]
    )
    facts = await driver.compact()
    if facts["kind"] != "compaction":
        raise HandoffFailed(f"the session was not compacted: {facts['kind']}")
    context = {"summary": facts["summary"], "details": facts["details"]}
    envelope = {"compactedContext": context, "sessionId": opened["id"]}
    await anyio.Path(handoff).write_bytes(encode(envelope))


def payload_of(task: Task) -> str:
    """A task's operations as the source has them."""
    return base64.b64encode(encode({"operations": list(task.operations)})).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """How the one who resumed came to know what to do."""

    is_in_summary: bool
    """The address was in the summary's text."""
    is_resolved: bool
    """Memory gave exactly the entry of that address."""


async def resume(handoff: Path, recollection: Recollection, repository: Path) -> Resumed:
    """Go on with a task from what was handed over, and do it.

    Raises:
        HandoffFailed: If an address does not open, or what it opens to is no task; nothing is invented.
    """
    envelope = decode(await anyio.Path(handoff).read_bytes())
    context = envelope["compactedContext"]
    address = _address_in(context["details"])
    pointer = await _pointer(recollection, envelope["sessionId"])
    bound = {
        "expectedSourceHash": pointer["sourceHash"],
        "expectedLineageFingerprint": pointer["lineageFingerprint"],
    }
    opened = await recollection.expand(pointer["sessionFile"], [address], **bound)
    if opened.get("error") or len(opened["expanded"]) != 1:
        raise HandoffFailed(f"{address} does not open: {opened.get('error')}")
    [entry] = opened["expanded"]
    operations = _task_in(entry["text"])
    await anyio.to_thread.run_sync(apply_operations, repository, operations)
    return Resumed(
        is_in_summary=address in context["summary"],
        is_resolved=entry["entryId"] == address and opened["sourceHash"] == pointer["sourceHash"],
    )


def _address_in(details: Json) -> str:
    try:
        return details["coverage"]["cumulativeSourceRange"]["first"]
    except (KeyError, TypeError) as error:
        raise HandoffFailed("the details name no source to go on from") from error


async def _pointer(recollection: Recollection, session_id: str) -> JsonObject:
    """Where the session is now, bound to its bytes."""
    found = await recollection.recall(scope=f"session:{session_id}", pageSize=1)
    if not found.get("segments"):
        raise HandoffFailed(f"session {session_id} is not found: {found.get('error') or found['coverage']}")
    return found["segments"][0]


def _task_in(text: str) -> list[JsonObject]:
    _, mark, payload = text.partition(f"{MARK} ")
    try:
        task = decode(base64.b64decode(payload.split()[0], validate=True))
    except (ValueError, IndexError) as error:
        raise HandoffFailed("what the address opens to is no task") from error
    if not mark or not is_object(task) or not isinstance(task.get("operations"), list):
        raise HandoffFailed("what the address opens to is no task")
    return task["operations"]


def apply_operations(repository: Path, operations: list[JsonObject]) -> None:
    """Carry out a task's operations.

    Raises:
        HandoffFailed: If one is not exactly possible.
    """
    for operation in operations:
        try:
            _apply(repository, operation)
        except (KeyError, TypeError, ValueError, AttributeError, OSError) as error:
            raise HandoffFailed(f"{encode(operation).decode()} is not possible: {error!r}") from error


def _apply(repository: Path, operation: JsonObject) -> None:
    path = repository / operation["path"]
    if not path.resolve().is_relative_to(repository.resolve()):
        raise ValueError("outside of the repository")
    match operation["op"]:
        case "write":
            content = operation["content"].encode()
        case "replace" if (old := operation["old"].encode()) in (found := path.read_bytes()):
            content = found.replace(old, operation["new"].encode())
        case op:
            raise ValueError(op)
    path.write_bytes(content)


async def score(phase: Phase, task: Task, repository: Path, node: Path) -> None:
    """Let the oracle look at the repository: it knows nothing of how the work was done."""
    exact, untouched, passes = (check.format(task.name) for check in (_EXACT, _UNTOUCHED, _PASSES))
    found = await anyio.to_thread.run_sync(read_files, repository)
    wrong = [path for path, text in task.expected.items() if found.get(path) != text.encode()]
    extra = sorted(found.keys() - task.files.keys() - task.expected.keys())
    phase.see(exact, not wrong and not extra, f"other than expected: {', '.join(wrong + extra)}")
    changed = [path for path in task.forbidden if found.get(path) != task.files[path].encode()]
    phase.see(untouched, not changed, f"changed: {', '.join(changed)}")
    phase.see(passes, (code := await run_oracle(task, repository, node)) == 0, f"it ended with {code}")


async def run_oracle(task: Task, repository: Path, node: Path) -> int | None:
    """Exit code of the oracle; None when it did not end in time."""
    oracle = repository.with_name(f"{repository.name}-oracle.mjs")
    await anyio.Path(oracle).write_text(task.oracle, encoding="utf-8")
    with anyio.move_on_after(_ORACLE_TIMEOUT_S):
        async with child_process([str(node), str(oracle), str(repository)]) as process:
            return await process.wait()
    return None


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write a repository."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")


def read_files(folder: Path) -> dict[str, bytes]:
    """All files of a repository by their path in it, byte for byte."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
