"""Scores a repository from outside the model: files, then a program. It decides alone; nobody is asked.

Reasons hold what a model wrote; whoever shows them scrubs them first.
"""

import json
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
from anyio.abc import ByteReceiveStream

from pi_fabric.base.groups import sole_exception
from pi_fabric.base.process import DEVNULL, PIPE, child_process
from pi_fabric.certify.resume.fixture import Comparison, Fixture, files_below

# An expected file is something that a person wrote down; whatever is longer differs anyway.
MAX_COMPARED_BYTES: Final = 4 * 1024 * 1024
# Of an oracle's output: its last words say what failed.
_OUTPUT_BYTES: Final = 64 * 1024
_ERROR: Final = re.compile(r"\w*Error\b.*:")
# A model may have changed a thousand files; the first ones say enough.
MAX_REASONS: Final = 10


async def score(
    fixture: Fixture, repo: Path, *, node: Path, environment: Mapping[str, str]
) -> tuple[str, ...]:
    """Compare a repository with what is expected of it, and run the oracle.

    Args:
        fixture: What is expected.
        repo: Where a model worked.
        node: Node, for an oracle that needs it.
        environment: Of the oracle; must not hold a credential, for it runs what a model wrote.

    Returns:
        One line for each thing that is wrong, at most `MAX_REASONS` and one that counts the rest; none when
        the task is done.
    """
    reasons = await anyio.to_thread.run_sync(_compared, fixture, repo)
    failure = await _run_oracle(fixture, repo, node, environment)
    reasons += [failure] if failure else []
    if len(reasons) > MAX_REASONS:
        reasons = [*reasons[:MAX_REASONS], f"and {len(reasons) - MAX_REASONS} more"]
    return tuple(reasons)


def _compared(fixture: Fixture, repo: Path) -> list[str]:
    reasons: list[str] = []
    try:
        reasons += _differences(fixture, repo)
        reasons += _changes(fixture, repo)
    except OSError as error:
        # A model may have taken away permissions.
        reasons.append(f"the repository cannot be read: {error.strerror or error}")
    return reasons


def missing_program(fixture: Fixture, repo: Path, node: Path) -> str:
    """The oracle's program when it cannot be found from a repository; "" when it can. Blocking."""
    program = _argv(fixture, node)[0]
    # As the system does: only a bare name is looked up.
    found = shutil.which(str(repo / program) if "/" in program else program)
    return "" if found else program


def _differences(fixture: Fixture, repo: Path) -> Iterator[str]:
    for path, comparison in fixture.expected.items():
        wanted = fixture.expected_file(path).read_bytes()
        found = _content(repo, path)
        reason = found if isinstance(found, str) else _difference(wanted, found, comparison)
        if reason:
            yield f"{path}: {reason}"


def _difference(wanted: bytes, found: bytes, comparison: Comparison) -> str:
    if comparison == "json":
        try:
            value = json.loads(found)
        except (ValueError, RecursionError):
            return "is not JSON"
        # As text: for Python 1 and true are equal.
        if _canonical(value) == _canonical(json.loads(wanted)):
            return ""
        return _first_line(_canonical(json.loads(wanted)), _canonical(value), is_numbered=False)
    if comparison == "bytes":
        if found == wanted:
            return ""
        return _first_line(wanted.decode("utf-8", "replace"), found.decode("utf-8", "replace"))
    expected, actual = _plain(wanted), _plain(found)
    return "" if expected == actual else _first_line(expected, actual)


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False)


def _plain(data: bytes) -> str:
    lines = data.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines).rstrip("\n")


def _first_line(expected: str, actual: str, *, is_numbered: bool = True) -> str:
    wanted, found = expected.split("\n"), actual.split("\n")
    at = next((n for n, pair in enumerate(zip(wanted, found, strict=False)) if pair[0] != pair[1]), None)
    if at is None:
        at = min(len(wanted), len(found))
    shown = [_quoted(lines[at]) if at < len(lines) else "the end" for lines in (wanted, found)]
    where = f"line {at + 1}: " if is_numbered else ""
    return f"{where}expected {shown[0]}, found {shown[1]}"


def _quoted(line: str) -> str:
    # Not cut here: what is cut inside a credential can no longer be scrubbed.
    return f"“{line.strip()}”"


def _changes(fixture: Fixture, repo: Path) -> Iterator[str]:
    for path in fixture.forbidden:
        original = fixture.repo / path
        if original.is_file():
            yield from _change(original, repo, path)
            continue
        known = [file.relative_to(fixture.repo).as_posix() for file in files_below(original)]
        for each in known:
            yield from _change(fixture.repo / each, repo, each)
        if (repo / path).is_dir() and not (repo / path).is_symlink():
            there = (file.relative_to(repo).as_posix() for file in files_below(repo / path))
            yield from (f"{each}: was added where nothing may change" for each in there if each not in known)


def _change(original: Path, repo: Path, path: str) -> Iterator[str]:
    found = _content(repo, path)
    if isinstance(found, str):
        yield f"{path}: must not change, but {found}"
    elif found != original.read_bytes():
        yield f"{path}: must not change, but did"


def _content(repo: Path, path: str) -> bytes | str:
    """Bytes of a file, or why there are none; never follows a link out of the repository."""
    at = repo
    for part in Path(path).parts:
        at /= part
        if at.is_symlink():
            return "is reached through a link"
    try:
        if not at.is_file():
            return "is not a file" if at.exists() else "is not there"
        if at.stat().st_size > MAX_COMPARED_BYTES:
            return f"is larger than {MAX_COMPARED_BYTES // 2**20} MiB"
        return at.read_bytes()
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"


async def _run_oracle(fixture: Fixture, repo: Path, node: Path, environment: Mapping[str, str]) -> str:
    argv = _argv(fixture, node)
    output = bytearray()
    try:
        with anyio.move_on_after(fixture.oracle_timeout_s), sole_exception():
            code = await _run(argv, repo, environment, output)
            return "" if code == 0 else f"the oracle failed ({_how(code)}){_last_line(output)}"
    except OSError as error:
        return f"the oracle cannot be started: {error.strerror or error}"
    return f"the oracle took longer than {fixture.oracle_timeout_s:g} s"


async def _run(argv: Sequence[str], repo: Path, environment: Mapping[str, str], output: bytearray) -> int:
    async with child_process(
        argv, cwd=repo, env=environment, stdin=DEVNULL, stdout=PIPE, stderr=PIPE
    ) as process:
        async with anyio.create_task_group() as readers:
            for stream in (process.stdout, process.stderr):
                assert stream is not None
                readers.start_soon(_keep_end, stream, output)
        return await process.wait()


async def _keep_end(stream: ByteReceiveStream, output: bytearray) -> None:
    async for data in stream:
        output += data
        del output[:-_OUTPUT_BYTES]


def _argv(fixture: Fixture, node: Path) -> list[str]:
    values = {"{python}": sys.executable, "{node}": str(node), "{fixture}": str(fixture.folder)}
    return [_filled(word, values) for word in fixture.oracle]


def _filled(word: str, values: Mapping[str, str]) -> str:
    for placeholder, value in values.items():
        word = word.replace(placeholder, value)
    return word


def _how(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {-code}"


def _last_line(output: bytearray) -> str:
    lines = output.decode("utf-8", "replace").split("\n")
    if len(output) >= _OUTPUT_BYTES:
        # Cut inside a credential perhaps, the rest of which nobody would recognize.
        del lines[0]
    told = [line.strip() for line in lines if line.strip()]
    # Node's stack trace ends with what nobody needs; its message stands above it.
    named = [line for line in told if _ERROR.match(line)]
    return f": {(named or told)[-1]}" if told else ""
