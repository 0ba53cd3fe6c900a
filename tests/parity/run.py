"""Compare this project with recorded behaviour: `python tests/parity/run.py FILE...`.

A file holds one case a line, `{"name", "input", "output"}`; its kind is its name up to the first `-` or
`.`, so `config-more.jsonl` is of kind `config`. Ends with 1 when a case fails or a file cannot be used.
"""

import importlib
import inspect
import json
import re
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias, cast

import anyio
import anyio.to_thread

from pi_fabric.base.jsonvalue import Json, JsonObject, is_object

Check: TypeAlias = Callable[[JsonObject], list[str] | Awaitable[list[str]]]
"""Takes a case, with the `folder` of its file, and returns a line per difference."""

KINDS = {
    "branch_details": "kinds.events:check_branch_details",
    "branch_summary": "kinds.compaction_summary:check_branch_summary",
    "clip": "kinds.text:check_clip",
    "compaction": "kinds.compaction_summary:check_compaction",
    "compaction_events": "kinds.events:check_compaction_events",
    "config": "kinds.config:check",
    "details_version": "kinds.compaction_summary:check_details_version",
    "digest": "kinds.memory:check_digest",
    "encode": "kinds.compaction_cut:check_encode",
    "exec_programs": "kinds.exec_programs:check",
    "expand": "kinds.memory:check_memory",
    "format_value": "kinds.text:check_format_value",
    "instructions": "kinds.compaction_cut:check_instructions",
    "livecut": "kinds.compaction_cut:check_livecut",
    "normalize": "kinds.memory:check_normalize",
    "pi_context": "kinds.session:check_pi_context",
    "projections": "kinds.compaction_summary:check_projections",
    "recall": "kinds.memory:check_memory",
    "sessions": "kinds.memory:check_memory",
    "tokenizer": "kinds.memory:check_tokenizer",
    "trace": "kinds.trace:check_trace",
    "trace_record": "kinds.trace:check_trace_record",
}
"""Kind to `module:function`; a new kind is a module in `kinds/` and a row here."""

# What is printed of a failing file: enough to see the pattern, never a flood.
SHOWN_CASES = 10
SHOWN_DIFFERENCES = 5
SHOWN_CHARS = 300
# A case that hangs must not keep the others from being told.
CASE_TIMEOUT_S = 60.0


@dataclass(slots=True)
class FileResult:
    """What came of one file."""

    passed: int = 0
    failures: list[tuple[str, list[str]]] = field(default_factory=list[tuple[str, list[str]]])
    """Case name with its differences."""
    problem: str = ""
    """Why the file could not be used; it then counts as a failure."""


def kind_of(path: Path) -> str:
    """The kind that a file's name stands for."""
    return re.split(r"[-.]", path.name, maxsplit=1)[0]


async def run_file(path: Path) -> FileResult:
    """Check every case of one file."""
    result = FileResult()
    kind = kind_of(path)
    if kind not in KINDS:
        result.problem = f"unknown kind {kind!r}; known: {', '.join(KINDS)}"
        return result
    try:
        data = await anyio.Path(path).read_bytes()
        check = _load(KINDS[kind])
    except OSError as error:
        result.problem = f"cannot be read: {error.strerror or error}"
        return result
    except (ImportError, AttributeError) as error:
        result.problem = f"the check for {kind} cannot be loaded: {error}"
        return result
    lines = [line for line in data.split(b"\n") if line.strip()]
    if not lines:
        result.problem = "holds no cases"
    for number, line in enumerate(lines, start=1):
        name, found = await _run_case(check, line, number, path.parent)
        if found:
            result.failures.append((name, found))
        else:
            result.passed += 1
    return result


async def run(paths: Sequence[Path]) -> int:
    """Check files one after the other, tell what came of each, and return the exit code."""
    passed = failed = 0
    for path in paths:
        result = await run_file(path)
        passed += result.passed
        failed += len(result.failures) + bool(result.problem)
        for line in _report(path, result):
            _say(line)
    _say(f"{passed} passed, {failed} failed")
    return 1 if failed or not paths else 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _load(target: str) -> Check:
    module, _, name = target.partition(":")
    return cast("Check", getattr(importlib.import_module(module), name))


async def _run_case(check: Check, line: bytes, number: int, folder: Path) -> tuple[str, list[str]]:
    name = f"line {number}"
    try:
        # Not our own decoder: it would repair the lone surrogates that cases are about.
        case: Json = json.loads(line)
        if not is_object(case):
            return name, ["the line holds no object"]
        name = str(case.get("name", name))
        with anyio.fail_after(CASE_TIMEOUT_S):
            # In a thread, since most checks read files; one that waits for something gives what to wait for.
            found = await anyio.to_thread.run_sync(check, case | {"folder": str(folder)})
            return name, await found if inspect.isawaitable(found) else found
    except Exception as error:
        # Whatever a check raises is a difference of its case, and the next case still counts.
        return name, [f"{type(error).__name__}: {error}"]


def _report(path: Path, result: FileResult) -> Iterator[str]:
    if result.problem:
        yield f"{path}: {result.problem}"
        return
    yield f"{path}: {result.passed} passed, {len(result.failures)} failed"
    for name, found in result.failures[:SHOWN_CASES]:
        yield f"  {name}"
        yield from (f"    {_bounded(line)}" for line in found[:SHOWN_DIFFERENCES])
        if len(found) > SHOWN_DIFFERENCES:
            yield f"    and {len(found) - SHOWN_DIFFERENCES} more differences"
    if len(result.failures) > SHOWN_CASES:
        yield f"  and {len(result.failures) - SHOWN_CASES} more cases"


def _bounded(line: str) -> str:
    text = line.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"


if __name__ == "__main__":
    sys.exit(anyio.run(run, [Path(argument) for argument in sys.argv[1:]]))
