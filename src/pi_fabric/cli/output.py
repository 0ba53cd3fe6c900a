"""What the commands share: exit codes, and writing to a terminal, a file or a pipe that may close."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from pi_fabric.base.errors import ConfigError, FabricError, RequestError, SandboxError, Unavailable

if TYPE_CHECKING:
    from rich.console import Console

# Tables are laid out for the narrowest terminal in common use.
TABLE_COLUMNS = 80


class ExitCode(IntEnum):
    """How a command ended."""

    OK = 0
    """It did what it was asked."""
    FAILED = 1
    """The program or the action failed."""
    USAGE = 2
    """The command line or a file it names is wrong."""
    TYPE_ERROR = 3
    """The program was refused before it ran."""
    TIMED_OUT = 4
    """The time limit ended it."""
    ABORTED = 5
    """The user ended it."""
    UNAVAILABLE = 6
    """Something that is needed is missing."""
    INTERNAL = 70
    """A fault of ours."""


_BY_ERROR: tuple[tuple[type[FabricError], ExitCode], ...] = (
    (RequestError, ExitCode.USAGE),
    (ConfigError, ExitCode.USAGE),
    (Unavailable, ExitCode.UNAVAILABLE),
    (SandboxError, ExitCode.INTERNAL),
)


def code_of(error: FabricError) -> ExitCode:
    """The exit code that says what the user can do about an error."""
    return next((code for kind, code in _BY_ERROR if isinstance(error, kind)), ExitCode.FAILED)


def emit(text: str) -> None:
    """Write lines to standard output; ends the process quietly when nobody reads them any more.

    Raises:
        FabricError: If they cannot be written, as on a full disk.
    """
    try:
        print(text, flush=True)
    except BrokenPipeError:
        end_quietly()
    except OSError as error:
        _give_up_output()
        raise FabricError(f"the output cannot be written: {error.strerror or error}") from error


def say(text: str) -> None:
    """Write a line for a person to standard error; lost when that cannot be written."""
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def end_quietly() -> NoReturn:
    """Leave after the reader has closed the pipe: it has what it wanted, so this is no failure."""
    _give_up_output()
    raise SystemExit(ExitCode.OK)


def working_folder(cwd: Path) -> Path:
    """An option's folder as an absolute path.

    Raises:
        RequestError: If it is relative and the folder that we are in has been removed.
    """
    try:
        return cwd.absolute()
    except FileNotFoundError:
        reason = "the folder you are in has been removed; change to another one"
        raise RequestError("--cwd", reason) from None


def _give_up_output() -> None:
    # Python flushes at exit and would complain then.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def table_console() -> Generator["Console"]:
    """A console for tables, at most 80 columns; plain where colour is not wanted.

    What it was given goes to standard output at the end, as `emit` writes.
    """
    from rich.console import Console  # noqa: PLC0415 - costs 50 ms that --json need not pay

    console = Console(highlight=False, markup=False, emoji=False)
    console.width = min(console.width, TABLE_COLUMNS)
    with console.capture() as captured:
        yield console
    emit(captured.get().removesuffix("\n"))
