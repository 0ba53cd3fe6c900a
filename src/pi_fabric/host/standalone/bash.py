"""`bash`: one command of a shell, with its output in the order in which it came."""

import errno
import os
import shutil
import signal
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

import anyio
import anyio.lowlevel
import msgspec
from anyio.abc import Process

from pi_fabric.base.deathwatch import DeathWatch
from pi_fabric.base.errors import Unavailable
from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.base.process import DEVNULL, child_process, end_tree
from pi_fabric.host.standalone.call import ToolCall
from pi_fabric.host.standalone.limits import counted, size
from pi_fabric.host.standalone.output_tail import OutputTail, Tail
from pi_fabric.host.standalone.paths import reason
from pi_fabric.protocol.host import ToolResult

# An ended call must be over within half a second; a program that tidies up on TERM has this long.
TERM_GRACE_S = 0.3
# After the command ended: silence of this length means that whoever holds the pipe has nothing to say.
QUIET_S = 0.05
# A background process that keeps talking is listened to for no longer than this.
DRAIN_S = 0.5
# As much as a pipe holds on Linux, so that a flood costs few wake-ups.
READ_BYTES = 64 * 1024
# A pipe holds no more than this unless an administrator allows it.
MAX_PIPE_BYTES = 1024 * 1024
# Between two partial results; faster than this nobody reads.
UPDATE_EVERY_S = 0.1
# A partial result shows about a screen.
UPDATE_BYTES, UPDATE_LINES = 8 * 1024, 50


class BashArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of `bash`."""

    command: str
    timeout: float | None = None
    """Seconds; None leaves the end to the run's own deadline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ended:
    """How the command ended."""

    exit_code: int
    """As a shell tells it: 128 and the number of the signal that ended it."""
    timed_out: bool


async def bash(call: ToolCall, *, deaths: DeathWatch) -> ToolResult:
    """Run a command to its end, which is ours at the latest: `deaths` ends it when we are killed.

    Standard input is empty, the environment is ours. The call is over when the shell has ended, even
    when something it left in the background holds the output open; that is left running. A timeout
    and a cancellation end everything the command started.
    """
    args = call.arguments(BashArguments)
    if "\0" in args.command:
        raise call.failed("the command holds a NUL character, which no command line can")
    if args.timeout is not None and args.timeout <= 0:
        raise call.failed("timeout must be more than 0 seconds")
    argv = [*await anyio.to_thread.run_sync(_shell), args.command]
    async with OutputTail() as output:
        try:
            ended = await _run(argv, call, output, deaths, timeout_s=args.timeout)
        except OSError as error:
            raise call.failed(_start_failure(call, args, error)) from error
        return _result(args, output, await output.finish(), ended)


def _shell() -> list[str]:
    program = "/bin/bash" if Path("/bin/bash").exists() else shutil.which("bash") or shutil.which("sh")
    if program is None:
        raise Unavailable("there is no shell", "Install bash, or put it on PATH.")
    return [program, "-c"]


async def _run(
    argv: list[str], call: ToolCall, output: OutputTail, deaths: DeathWatch, *, timeout_s: float | None
) -> _Ended:
    read_end, write_end = os.pipe()
    with FileIO(read_end, "r") as source, FileIO(write_end, "w") as sink:
        os.set_blocking(read_end, False)
        async with child_process(
            argv,
            cwd=call.cwd,
            env=os.environ,
            stdin=DEVNULL,
            stdout=sink,
            stderr=sink,
            grace_s=TERM_GRACE_S,
            spare_background=True,
        ) as process:
            sink.close()
            async with deaths.over(process.pid):
                timed_out = await _listen(process, source, call, output, timeout_s=timeout_s)
        assert process.returncode is not None
        code = process.returncode
        return _Ended(exit_code=code if code >= 0 else 128 - code, timed_out=timed_out)


async def _listen(
    process: Process, source: FileIO, call: ToolCall, output: OutputTail, *, timeout_s: float | None
) -> bool:
    """Collect the output until the command has ended; True when it had to be ended."""
    closed = anyio.Event()
    timed_out = False
    async with anyio.create_task_group() as group:
        group.start_soon(_collect, source, output, closed)
        group.start_soon(_report, call, output)
        with anyio.move_on_after(timeout_s) as limit:
            await process.wait()
        timed_out = limit.cancelled_caught
        if timed_out:
            await end_tree(process, grace_s=TERM_GRACE_S)
        await _drain(output, closed)
        group.cancel_scope.cancel()
    await _take_rest(source, output)
    return timed_out


async def _collect(source: FileIO, output: OutputTail, closed: anyio.Event) -> None:
    while True:
        # A flood never lets the read wait: others must have their turn all the same.
        await anyio.lowlevel.checkpoint()
        chunk = source.read(READ_BYTES)
        if chunk is None:
            await anyio.wait_readable(source)
        elif chunk:
            await output.feed(chunk)
        else:
            closed.set()
            return


async def _report(call: ToolCall, output: OutputTail) -> None:
    reported_bytes = 0
    while True:
        await anyio.sleep(UPDATE_EVERY_S)
        if output.total_bytes != reported_bytes:
            reported_bytes = output.total_bytes
            tail = output.shown(max_bytes=UPDATE_BYTES, max_lines=UPDATE_LINES, is_final=False)
            call.update({"content": [{"type": "text", "text": tail.text}]})


async def _drain(output: OutputTail, closed: anyio.Event) -> None:
    with anyio.move_on_after(DRAIN_S):
        while not closed.is_set():
            before = output.total_bytes
            with anyio.move_on_after(QUIET_S):
                await closed.wait()
            if output.total_bytes == before:
                return


async def _take_rest(source: FileIO, output: OutputTail) -> None:
    # What was in the pipe when listening ended, should the disk have been slow; no more than a pipe.
    for _ in range(MAX_PIPE_BYTES // READ_BYTES):
        chunk = source.read(READ_BYTES)
        if not chunk:
            return
        await output.feed(chunk)


def _result(args: BashArguments, output: OutputTail, tail: Tail, ended: _Ended) -> ToolResult:
    text, cut = _shown(output, tail)
    if ended.timed_out:
        # Without an exit code: the caller's `settle` is about what the command itself said.
        reason = f"[the command was ended: it took longer than its timeout of {args.timeout:g} s]"
        return ToolResult(text=_joined(text, reason), details={"timedOut": True, **cut}, is_error=True)
    details: JsonObject = {"exitCode": ended.exit_code, **cut}
    if ended.exit_code == 0:
        return ToolResult(text=text, details=details)
    reason = f"[the command ended with exit code {ended.exit_code}{_signal_name(ended.exit_code)}]"
    return ToolResult(text=_joined(text, reason), details=details, is_error=True)


def _shown(output: OutputTail, tail: Tail) -> tuple[str, JsonObject]:
    """The output as text, and the details that tell what is missing from it."""
    if not tail.is_cut:
        return tail.text or "(no output)", {}
    shown = f"the last {tail.lines:,} of {counted(output.total_lines, 'line')}"
    kept = f"all of it is in {output.path}"
    if output.trouble is not None:
        kept = f"{output.path or 'the file with all of it'} is not complete: {output.trouble}"
    part = f"{size(len(tail.text.encode()))} of {size(output.total_bytes)}"
    notice = f"[{shown} shown, {part}; {kept}]"
    cut: JsonObject = {
        "truncation": {
            "outputLines": tail.lines,
            "totalLines": output.total_lines,
            "totalBytes": output.total_bytes,
        }
    }
    if output.path is not None:
        cut["fullOutputPath"] = str(output.path)
    return _joined(tail.text, notice), cut


def _joined(text: str, notice: str) -> str:
    return f"{text.removesuffix(chr(10))}\n\n{notice}"


def _signal_name(exit_code: int) -> str:
    try:
        return f" ({signal.Signals(exit_code - 128).name})"
    except ValueError:
        return ""


def _start_failure(call: ToolCall, args: BashArguments, error: OSError) -> str:
    if error.errno == errno.E2BIG:
        length = size(len(args.command.encode()))
        return f"the command of {length} is too long to start; write it to a file and run that"
    if str(error.filename) == str(call.cwd):
        return f"the folder {call.cwd} that the command should run in is not there: {reason(error)}"
    return f"the shell cannot be started: {reason(error)}"
