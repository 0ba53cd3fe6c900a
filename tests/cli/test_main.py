import importlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import anyio
import pytest

import pi_fabric
from pi_fabric.base.errors import (
    ConfigError,
    Denied,
    FabricError,
    InvalidArguments,
    LimitReached,
    SandboxError,
    StoreError,
    Unavailable,
)
from pi_fabric.base.process import DEVNULL, PIPE, child_process, inherited_environment
from pi_fabric.cli import main
from pi_fabric.cli.commands import COMMANDS, Command
from pi_fabric.cli.output import ExitCode, code_of

SOURCES = str(Path(pi_fabric.__file__).parents[1])
ENTRY = "import sys; from pi_fabric.cli import main; sys.exit(main())"


async def run(arguments: Sequence[str], env: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    """Run the command in a process of its own; gives exit code, output and errors."""
    argv = [sys.executable, "-c", ENTRY, *arguments]
    variables = inherited_environment({"PYTHONPATH": SOURCES, **(env or {})})
    output: dict[str, bytes] = {"out": b"", "err": b""}
    with anyio.fail_after(30):
        async with child_process(argv, env=variables, stdin=DEVNULL, stderr=PIPE) as process:

            async def collect(name: str) -> None:
                stream = process.stdout if name == "out" else process.stderr
                assert stream is not None
                output[name] = b"".join([chunk async for chunk in stream])

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(collect, "out")
                tasks.start_soon(collect, "err")
            code = await process.wait()
    return code, output["out"].decode(), output["err"].decode()


def register(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Make `pi-fabric broken` a command that ends in `error`."""

    def app(*, args: Sequence[str], prog_name: str) -> None:
        raise error

    module = ModuleType("fabric_test_broken")
    module.__dict__["app"] = app
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(COMMANDS, "broken", Command("fabric_test_broken:app", "", ""))


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_the_version_is_told(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([flag]) == 0
    assert capsys.readouterr().out == f"pi-fabric {pi_fabric.__version__}\n"


@pytest.mark.anyio
async def test_the_version_is_told_without_loading_what_commands_need() -> None:
    script = (
        f"import sys; sys.argv = ['pi-fabric', '--version']\ntry:\n {ENTRY.replace('; ', chr(10) + ' ')}\n"
    )
    script += "finally:\n print(*sorted({name.split('.')[0] for name in sys.modules}))"
    env = inherited_environment({"PYTHONPATH": SOURCES})
    with anyio.fail_after(30):
        async with child_process([sys.executable, "-c", script], env=env) as process:
            assert process.stdout is not None
            text = b"".join([chunk async for chunk in process.stdout]).decode()

    loaded = set(text.split())
    assert "pi_fabric" in loaded
    assert loaded.isdisjoint({"typer", "rich", "anyio", "msgspec", "psutil", "asyncio", "wasmtime"})


def test_help_lists_every_command_with_an_example_and_fits_80_columns(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    for name, command in COMMANDS.items():
        assert f"  {name}" in text
        assert command.summary in text
        assert f"pi-fabric {command.example}" in text
    assert max(map(len, text.splitlines())) <= 80


def test_without_a_command_the_overview_is_shown_as_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == ExitCode.USAGE
    assert "Commands:" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("konfig", "there is no command 'konfig'. Did you mean config?"),
        ("zzz", "there is no command 'zzz'. pi-fabric --help lists them."),
        ("--verson", "there is no option '--verson'."),
    ],
)
def test_an_unknown_command_suggests_the_nearest(
    name: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name]) == ExitCode.USAGE
    captured = capsys.readouterr()
    assert captured.out == ""
    assert hint in captured.err


@pytest.mark.parametrize("arguments", [["config", "shw"], ["config", "show", "--colour"], ["config"]])
def test_a_wrong_call_of_a_command_is_a_usage_error(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == ExitCode.USAGE
    assert "Usage: pi-fabric config" in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidArguments("pi.read", ["path is missing"]), 2),
        (ConfigError(Path("/f"), "is bad"), 2),
        (Unavailable("no compiler", "Install one."), 6),
        (SandboxError("memory", "gone"), 70),
        (Denied("pi.bash", "execute", "no"), 1),
        (LimitReached("a result", 1, "bytes"), 1),
        (StoreError(Path("/s"), "is locked"), 1),
    ],
)
def test_a_deliberate_error_is_one_line_and_a_code(
    error: FabricError, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    register(monkeypatch, error)

    assert main(["broken"]) == code == code_of(error)
    assert capsys.readouterr().err == f"pi-fabric: {error.message}\n"


def test_a_fault_of_ours_is_told_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    register(monkeypatch, RuntimeError("oops"))

    assert main(["broken"]) == ExitCode.INTERNAL
    text = capsys.readouterr().err
    assert text.startswith("pi-fabric: internal error: RuntimeError: oops\n")
    assert "Traceback" not in text


def test_the_traceback_is_shown_on_request(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    register(monkeypatch, RuntimeError("oops"))
    monkeypatch.setenv("PI_FABRIC_DEBUG", "1")
    main(["broken"])

    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("end", "code"),
    [(KeyboardInterrupt(), 5), (SystemExit(130), 5), (SystemExit(4), 4), (SystemExit(None), 0)],
)
def test_however_a_command_ends_there_is_a_code(
    end: BaseException, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, end)

    assert main(["broken"]) == code


@pytest.mark.anyio
@pytest.mark.parametrize("arguments", [["config", "show"], ["config", "show", "--json"], ["--help"]])
async def test_a_reader_that_closes_the_pipe_ends_the_command_quietly(
    arguments: list[str], tmp_path: Path
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    env = inherited_environment({"PYTHONPATH": SOURCES, "HOME": str(tmp_path)})
    argv = [sys.executable, "-c", ENTRY, *arguments]
    with anyio.fail_after(30), os.fdopen(writing, "wb") as closed:
        async with child_process(argv, env=env, stdin=DEVNULL, stdout=closed, stderr=PIPE) as process:
            assert process.stderr is not None
            assert b"".join([chunk async for chunk in process.stderr]) == b""
            assert await process.wait() == 0


@pytest.mark.anyio
@pytest.mark.parametrize("arguments", [["--version"], ["config", "show"]])
async def test_a_full_disk_is_told_by_the_version_as_by_a_table(arguments: list[str], tmp_path: Path) -> None:
    env = inherited_environment({"PYTHONPATH": SOURCES, "HOME": str(tmp_path)})
    argv = [sys.executable, "-c", ENTRY, *arguments]
    with anyio.fail_after(30), os.fdopen(os.open("/dev/full", os.O_WRONLY), "wb") as full:
        async with child_process(argv, env=env, stdin=DEVNULL, stdout=full, stderr=PIPE) as process:
            assert process.stderr is not None
            text = b"".join([chunk async for chunk in process.stderr])
            assert await process.wait() == ExitCode.FAILED
    assert text == b"pi-fabric: the output cannot be written: No space left on device\n"


@pytest.mark.anyio
async def test_a_terminal_without_unicode_gets_escapes(tmp_path: Path) -> None:
    (tmp_path / ".pi" / "agent").mkdir(parents=True)
    config = {"subagents": {"model": "\u65e5\u672c"}}
    (tmp_path / ".pi" / "agent" / "fabric.json").write_text(json.dumps(config))
    code, out, err = await run(
        ["config", "show", "--json"], {"HOME": str(tmp_path), "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    )

    assert (code, err) == (0, "")
    assert "\\u65e5\\u672c" in out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_a_typer_app(name: str) -> None:
    module, _, attribute = COMMANDS[name].target.partition(":")
    if find_spec(module) is None:
        pytest.skip(f"{module} is not there yet")
    app = getattr(importlib.import_module(module), attribute)

    assert type(app).__module__.startswith("typer")
