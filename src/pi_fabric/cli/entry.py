"""The way in: finds the command, runs it, and turns whatever happens into an exit code and one clear line.

Nothing is imported for a command that was not called.
"""

import importlib
import io
import os
import sys
from collections.abc import Sequence

from pi_fabric import __version__

DEBUG_VARIABLE = "PI_FABRIC_DEBUG"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line.

    Args:
        argv: Arguments without the program's name; None takes the process's own.

    Returns:
        The exit code; see `output.ExitCode`.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    _stand_in_for_closed_streams()
    _never_fail_to_print()
    return _guarded(arguments)


def _guarded(arguments: list[str]) -> int:
    from pi_fabric.base.errors import FabricError  # noqa: PLC0415 - `--version` does without
    from pi_fabric.cli.output import ExitCode, code_of, end_quietly, say  # noqa: PLC0415 - as above

    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        end_quietly()
    except KeyboardInterrupt:
        return ExitCode.ABORTED
    except FabricError as error:
        _trace()
        say(f"pi-fabric: {error.message}")
        return code_of(error)
    except Exception as error:
        # The last boundary: a traceback is no message for a user.
        _trace()
        say(f"pi-fabric: internal error: {type(error).__name__}: {error}")
        say(f"Set {DEBUG_VARIABLE}=1 to see where it happened.")
        return ExitCode.INTERNAL
    return code


def _dispatch(arguments: list[str]) -> int:
    from pi_fabric.cli.output import ExitCode, emit  # noqa: PLC0415 - as above

    if arguments in (["--version"], ["-V"]):
        emit(f"pi-fabric {__version__}")
        return ExitCode.OK
    if not arguments or arguments[0] in ("--help", "-h", "help"):
        emit(_overview())
        return ExitCode.OK if arguments else ExitCode.USAGE
    from pi_fabric.cli.commands import COMMANDS  # noqa: PLC0415 - `--version` does without

    name, *rest = arguments
    if name not in COMMANDS:
        return _unknown(name, list(COMMANDS))
    module, _, attribute = COMMANDS[name].target.partition(":")
    app = getattr(importlib.import_module(module), attribute)
    try:
        app(args=rest, prog_name=f"pi-fabric {name}")
    except SystemExit as end:
        # 130 is how typer reports an interrupt from the keyboard.
        return ExitCode.ABORTED if end.code == 130 else _as_code(end.code)
    return ExitCode.OK


def _as_code(code: object) -> int:
    return code if isinstance(code, int) else int(code is not None)


def _overview() -> str:
    from pi_fabric.cli.commands import COMMANDS  # noqa: PLC0415 - as above

    width = max(map(len, COMMANDS))
    rows = (
        f"  {name:<{width}} {command.summary}\n{'':{width + 3}}e.g. pi-fabric {command.example}"
        for name, command in COMMANDS.items()
    )
    return "\n".join(
        (
            f"pi-fabric {__version__}: one programmable tool for coding agents.",
            "",
            "Usage: pi-fabric COMMAND [OPTIONS]",
            "",
            "Commands:",
            *rows,
            "",
            "pi-fabric COMMAND --help says more; pi-fabric --version names the version.",
        )
    )


def _unknown(name: str, known: list[str]) -> int:
    from pi_fabric.base.nearest import nearest  # noqa: PLC0415 - rarely needed
    from pi_fabric.cli.output import ExitCode, say  # noqa: PLC0415 - as above

    kind = "option" if name.startswith("-") else "command"
    close = nearest(name, known)
    hint = f" Did you mean {close[0]}?" if close else " pi-fabric --help lists them."
    say(f"pi-fabric: there is no {kind} {name!r}.{hint}")
    return ExitCode.USAGE


def _stand_in_for_closed_streams() -> None:
    # The lowest free descriptor is taken, so no file of ours becomes a standard stream of a child.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 - never closed


def _never_fail_to_print() -> None:
    # A terminal that cannot show a character gets an escape instead of ending the program.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _trace() -> None:
    if os.environ.get(DEBUG_VARIABLE) == "1":
        import traceback  # noqa: PLC0415 - rarely needed

        traceback.print_exc()
