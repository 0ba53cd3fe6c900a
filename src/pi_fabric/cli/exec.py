"""`pi-fabric exec`: run a program from a file or from standard input, without Pi."""

import os
import signal
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, BinaryIO

import anyio
import anyio.to_thread
import typer

from pi_fabric.base.errors import RequestError
from pi_fabric.base.jsonvalue import UNDEFINED, JsonObject, stringify
from pi_fabric.base.paths import shorten_home
from pi_fabric.cli.options import JsonOption
from pi_fabric.cli.output import ExitCode, emit, say, working_folder
from pi_fabric.config import ResultFormat, load_config
from pi_fabric.execution.model import ExecResult
from pi_fabric.protocol.actions import Outcome
from pi_fabric.protocol.events import EventSink

app = typer.Typer(add_completion=False, rich_markup_mode=None)

STDIN = "-"
# As long as an agent may be waited for.
MAX_TIMEOUT_S = 86_400.0
# More does not reach the sandbox anyway; a device or a pipe may never end.
MAX_INPUT_BYTES = 128 * 1024 * 1024
_EXIT_CODES: dict[Outcome, ExitCode] = {
    "succeeded": ExitCode.OK,
    "failed": ExitCode.FAILED,
    "timed_out": ExitCode.TIMED_OUT,
    "aborted": ExitCode.ABORTED,
}


@app.command(name="exec", epilog="Example: pi-fabric exec count.ts --strings 'text=@notes.md' --timeout 30")
def run(
    file: Annotated[str, typer.Argument(help="TypeScript program; - reads standard input.")],
    strings: Annotated[
        list[str] | None, typer.Option("--strings", metavar="KEY=VALUE", help="π.KEY; =@FILE reads a file.")
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            "--timeout", min=0.001, max=MAX_TIMEOUT_S, help="Seconds, a day at most; else executor.timeoutMs."
        ),
    ] = None,
    result_format: Annotated[
        ResultFormat | None, typer.Option("--format", help="How the value is written.")
    ] = None,
    cwd: Annotated[
        Path, typer.Option("--cwd", help="Folder the program works in.", exists=True, file_okay=False)
    ] = Path(),
    as_json: JsonOption = False,
    trace: Annotated[bool, typer.Option("--trace", help="Show each call (with --json: the trace).")] = False,
) -> None:
    """Run a program in the sandbox and print its result.

    Exit codes: 0 done, 1 the program failed, 2 wrong usage, 3 refused before it ran, 4 timed out,
    5 aborted, 6 something needed is missing.
    """
    arguments: JsonObject = {"code": _read_program(file), "strings": dict(map(_read_string, strings or []))}
    if result_format is not None:
        arguments["resultFormat"] = result_format
    folder = working_folder(cwd)
    interactive = file != STDIN and sys.stdin.isatty() and sys.stderr.isatty()
    with _progress(is_quiet=as_json) as sink:
        result = anyio.run(_execute, arguments, folder, timeout, interactive, sink)
    if as_json:
        emit(stringify(as_object(result, with_trace=trace), indent=2))
    else:
        emit(result.text)
        if trace:
            _print_trace(result)
    raise typer.Exit(ExitCode.TYPE_ERROR if result.type_problems else _EXIT_CODES[result.outcome])


def as_object(result: ExecResult, *, with_trace: bool) -> JsonObject:
    """One result for machines."""
    shown: JsonObject = {
        "success": result.success,
        "outcome": result.outcome,
        "value": None if result.value is UNDEFINED else result.value,
        "valueDefined": result.value is not UNDEFINED,
        "logs": list(result.logs),
        "phases": list(result.phases),
        "typeErrors": [
            {"line": problem.line, "column": problem.column, "message": problem.message}
            for problem in result.type_problems
        ],
        "error": result.error,
        "notices": list(result.notices),
    }
    return shown | ({"trace": result.trace} if with_trace else {})


async def _execute(
    arguments: JsonObject, cwd: Path, timeout_s: float | None, interactive: bool, sink: EventSink | None
) -> ExecResult:
    # Imported when the command line is known to be right: they cost more than everything before.
    from pi_fabric.base.groups import sole_exception  # noqa: PLC0415
    from pi_fabric.compose import open_fabric  # noqa: PLC0415
    from pi_fabric.host.standalone import StandaloneTools  # noqa: PLC0415
    from pi_fabric.host.standalone.approvals import TerminalApprovals  # noqa: PLC0415
    from pi_fabric.protocol.host import HostPorts  # noqa: PLC0415

    loaded = await anyio.to_thread.run_sync(lambda: load_config(cwd=cwd, environ=os.environ, trust=None))
    for remark in (*loaded.notices, *loaded.corrections):
        where = f"{shorten_home(remark.file, os.environ)}: " if remark.file else ""
        say(f"pi-fabric: {where}{remark.message}")
    is_trusted = loaded.trust == "stored"
    timeout_ms = None if timeout_s is None else max(1, round(timeout_s * 1000))
    result: ExecResult | None = None
    with sole_exception():
        async with StandaloneTools() as tools:
            ports = HostPorts(tools=tools, approvals=TerminalApprovals(is_interactive=interactive))
            async with (
                open_fabric(ports=ports, config=loaded.config, cwd=cwd, is_trusted=is_trusted) as fabric,
                anyio.create_task_group() as watchers,
            ):
                abort = anyio.Event()
                watchers.start_soon(_set_on_interrupt, abort)
                result = await fabric.execute(arguments, sink=sink, abort=abort, timeout_ms=timeout_ms)
                watchers.cancel_scope.cancel()
    assert result is not None
    return result


async def _set_on_interrupt(abort: anyio.Event) -> None:
    """Ctrl-C ends the run and not us, so that the result still says what was done."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            abort.set()


def _read_program(file: str) -> str:
    if file == STDIN:
        return _read_bounded(sys.stdin.buffer, "FILE")
    return _read_text(Path(file), "FILE")


def _read_string(option: str) -> tuple[str, str]:
    key, equals, value = option.partition("=")
    if not key or not equals:
        raise RequestError("--strings", f"{option!r} is not KEY=VALUE or KEY=@FILE")
    return key, _read_text(Path(value[1:]), f"--strings {key}") if value.startswith("@") else value


def _read_text(path: Path, what: str) -> str:
    try:
        with path.open("rb") as stream:
            return _read_bounded(stream, what)
    except OSError as error:
        raise RequestError(what, f"{path} cannot be read: {error.strerror or error}") from error


def _read_bounded(stream: BinaryIO, what: str) -> str:
    data = stream.read(MAX_INPUT_BYTES + 1)
    if len(data) > MAX_INPUT_BYTES:
        raise RequestError(what, f"it has more than {MAX_INPUT_BYTES // 2**20} MiB, too much for a program")
    return data.decode("utf-8", "replace")


def _progress(*, is_quiet: bool) -> AbstractContextManager[EventSink | None]:
    if is_quiet or not sys.stderr.isatty():
        return nullcontext()
    from pi_fabric.cli.progress import live_progress  # noqa: PLC0415 - only a person pays for rich

    return live_progress()


def _print_trace(result: ExecResult) -> None:
    from rich.console import Console  # noqa: PLC0415 - as above

    from pi_fabric.cli.trace_table import trace_table  # noqa: PLC0415 - as above

    Console(stderr=True).print(trace_table(result.trace))
