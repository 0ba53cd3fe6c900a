import json
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from pi_fabric.base.process import PIPE, child_process, inherited_environment

pytestmark = pytest.mark.anyio
START = [sys.executable, "-c", "import sys; from pi_fabric.cli import main; sys.exit(main())", "exec"]


@dataclass
class Ended:
    code: int
    out: str
    err: str


class Shell:
    """Runs `pi-fabric exec` in a folder and an agent folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = inherited_environment({"PI_CODING_AGENT_DIR": str(folder / "agent"), "NO_COLOR": "1"})

    async def __call__(
        self, *arguments: str, stdin: bytes = b"", setup: str = "", redirect: str = ""
    ) -> Ended:
        """Run the command; `setup` and `redirect` are what a shell does before and around it."""
        chunks: dict[str, bytes] = {}
        argv = [*START, *arguments]
        if setup or redirect:
            argv = ["/bin/sh", "-c", f'{setup or ":"}; exec "$@" {redirect}', "sh", *argv]
        with anyio.fail_after(50):
            async with (
                child_process(argv, cwd=self.folder, env=self.env, stderr=PIPE) as process,
                anyio.create_task_group() as tasks,
            ):
                assert process.stdin is not None

                async def collect(name: str, stream: anyio.abc.ByteReceiveStream | None) -> None:
                    assert stream is not None
                    chunks[name] = b"".join([chunk async for chunk in stream])

                tasks.start_soon(collect, "out", process.stdout)
                tasks.start_soon(collect, "err", process.stderr)
                # A command that was given no input may have closed its end already.
                with suppress(anyio.BrokenResourceError):
                    await process.stdin.send(stdin)
                await process.stdin.aclose()
                await process.wait()
        assert process.returncode is not None
        return Ended(process.returncode, chunks["out"].decode(), chunks["err"].decode())


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def write(shell: Shell, name: str, text: str) -> str:
    (shell.folder / name).write_text(text, encoding="utf-8")
    return name


@pytest.mark.requirement("cli:exec:result")
async def test_a_program_from_a_file_works_in_its_folder(shell: Shell) -> None:
    write(shell, "a.txt", "one\ntwo\n")
    program = write(shell, "p.ts", "print('hi'); return (await pi.read('a.txt')).split('\\n').length;")
    ended = await shell(program)
    assert (ended.code, ended.out, ended.err) == (0, "hi\n\n3\n", "")


@pytest.mark.requirement("cli:exec:stdin")
async def test_a_dash_reads_the_program_from_standard_input(shell: Shell) -> None:
    assert (await shell("-", stdin=b"return 6 * 7;")).out == "42\n"


@pytest.mark.requirement("cli:exec:exit-codes")
@pytest.mark.parametrize(
    ("code", "arguments", "exit_code", "words"),
    [
        ("throw new Error('broken');", (), 1, "broken"),
        ("return nope;", (), 3, "1:8"),
        ("while (true) {}", ("--timeout", "0.5"), 4, "0.5 s"),
    ],
)
async def test_the_exit_code_says_how_it_ended(
    shell: Shell, code: str, arguments: Sequence[str], exit_code: int, words: str
) -> None:
    ended = await shell("-", *arguments, stdin=code.encode())
    assert ended.code == exit_code
    assert words in ended.out


@pytest.mark.requirement("cli:exec:usage")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("none.ts",), "none.ts cannot be read"),
        (("-", "--strings", "x"), "KEY=VALUE"),
        (("-", "--strings", "x=@none"), "none cannot be read"),
        (("-", "--timeout", "0"), "timeout"),
        (("-", "--timeout", "inf"), "timeout"),
        (("/dev/zero",), "128 MiB"),
        (("-", "--strings", "x=@/dev/zero"), "128 MiB"),
        (("-", "--format", "xml"), "xml"),
        ((".",), "cannot be read"),
    ],
)
async def test_wrong_usage_is_one_clear_message(shell: Shell, arguments: Sequence[str], words: str) -> None:
    ended = await shell(*arguments)
    assert ended.code == 2
    assert words in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.requirement("cli:exec:strings")
async def test_named_strings_come_from_the_line_or_from_a_file(shell: Shell) -> None:
    write(shell, "notes.md", "# Notes\n`${x}`\n")
    ended = await shell(
        "-", "--strings", "a=b=c", "--strings", "notes=@notes.md", stdin="return [π.a, π.notes];".encode()
    )
    assert "b=c" in ended.out
    assert "`${x}`" in ended.out


@pytest.mark.requirement("cli:exec:json")
async def test_json_is_one_object_with_the_trace_on_request(shell: Shell) -> None:
    ended = await shell("-", "--json", "--trace", stdin=b"await phase('one'); print('x'); return { a: 10n };")
    shown = json.loads(ended.out)
    assert shown["success"] is True
    assert shown["value"] == {"a": {"$bigint": "10"}}
    assert (shown["logs"], shown["phases"]) == (["x"], ["one"])
    assert shown["trace"]["operations"][0]["ref"] == "fabric.workflow.phase"
    refused = json.loads((await shell("-", "--json", stdin=b"return nope;")).out)
    assert refused["typeErrors"][0]["line"] == 1


@pytest.mark.requirement("cli:exec:trace")
async def test_the_trace_is_a_table_on_standard_error(shell: Shell) -> None:
    ended = await shell("-", "--trace", stdin=b"await pi.ls(); return 1;")
    assert ended.out == "1\n"
    assert "pi.ls" in ended.err
    assert all(len(line) <= 80 for line in ended.err.splitlines())


async def test_the_trace_cannot_steer_the_terminal(shell: Shell) -> None:
    ended = await shell("-", "--trace", stdin=b"await pi.read('a\\u001b[31m').catch(() => 0);")
    assert "\x1b" not in ended.err
    assert "a\\x1b[31m" in ended.err


@pytest.mark.parametrize(
    ("redirect", "out", "err"), [("<&-", "7\n", ""), (">&-", "", ""), ("2>&-", "7\n", "")]
)
async def test_a_closed_standard_stream_is_like_an_empty_one(
    shell: Shell, redirect: str, out: str, err: str
) -> None:
    program = write(shell, "p.ts", "return 7;")
    ended = await shell(program, redirect=redirect)
    assert (ended.code, ended.out, ended.err) == (0, out, err)


async def test_output_that_cannot_be_written_is_a_failure_that_says_so(shell: Shell) -> None:
    ended = await shell("-", stdin=b"return 7;", redirect=">/dev/full")
    assert (ended.code, ended.err) == (
        1,
        "pi-fabric: the output cannot be written: No space left on device\n",
    )


async def test_a_folder_that_was_removed_under_us_is_named(shell: Shell) -> None:
    ended = await shell("-", setup="mkdir gone && cd gone && rmdir ../gone")
    assert ended.code == 2
    assert "the folder you are in has been removed" in ended.err


async def test_a_sandbox_that_cannot_start_is_one_clear_message(shell: Shell) -> None:
    # Less address space than the sandbox reserves.
    ended = await shell("-", stdin=b"return 7;", setup="ulimit -v 2500000")
    assert ended.code == 70
    assert ended.err.startswith("pi-fabric: the sandbox failed (start): ")


@pytest.mark.requirement("cli:exec:interrupt")
async def test_an_interrupt_ends_the_program_and_still_says_so(shell: Shell) -> None:
    program = write(shell, "p.ts", "await pi.write('started', 'x'); await pi.bash('sleep 60');")
    with anyio.fail_after(50):
        async with child_process([*START, program], cwd=shell.folder, env=shell.env) as process:
            while not (shell.folder / "started").exists():  # noqa: ASYNC110 - another process's file
                await anyio.sleep(0.02)
            process.send_signal(signal.SIGINT)
            assert process.stdout is not None
            output = b"".join([chunk async for chunk in process.stdout])
            assert await process.wait() == 5
    assert b"aborted" in output


@pytest.mark.requirement("cli:exec:configuration")
async def test_the_configuration_counts_and_its_corrections_are_told(shell: Shell) -> None:
    (shell.folder / "agent").mkdir()
    settings = {"approvals": {"execute": "deny"}, "executor": {"timeoutMs": 5}}
    (shell.folder / "agent" / "fabric.json").write_text(json.dumps(settings))
    ended = await shell("-", stdin=b"try { await pi.bash('ls'); } catch (error) { return error.message; }")
    assert "approvals.execute is deny" in ended.out
    assert "fabric.json: executor.timeoutMs" in ended.err
