import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import anyio
import psutil
import pytest

from pi_fabric.base.clock import Deadline, SystemClock
from pi_fabric.base.errors import ToolFailed
from pi_fabric.base.jsonvalue import Json
from pi_fabric.host.standalone.limits import MAX_BYTES
from pi_fabric.protocol.actions import CallContext
from pi_fabric.providers.pi import PiProvider
from tests.host.standalone.calling import Caller, content, permissions, until

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def spill_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where long outputs go, so that no test leaves a file behind."""
    folder = tmp_path / "spill"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@contextmanager
def _left_running(pid_file: Path) -> Generator[psutil.Process]:
    """A background process that a command left; ended afterwards."""
    process = psutil.Process(int(pid_file.read_text()))
    try:
        yield process
    finally:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def _is_gone(pid: int) -> bool:
    """True when the process has ended; a zombie of whoever adopted it has."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


async def _pid_in(path: Path) -> int:
    await until(lambda: content(path).endswith(b"\n"))
    return int(content(path))


def _shown(caller: Caller) -> list[str]:
    """Texts of the partial results so far."""
    return [update["content"][0]["text"] for update in caller.updates]


def _size_of_files(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


@pytest.mark.requirement("standalone:bash:merged")
async def test_both_streams_come_in_the_order_in_which_they_were_written(caller: Caller):
    assert await caller.text("bash", command="echo 1; echo 2 >&2; echo 3; echo 4 >&2") == "1\n2\n3\n4\n"


async def test_a_command_without_output_says_so(caller: Caller):
    result = await caller.call("bash", command="true")
    assert (result.text, result.details) == ("(no output)", {"exitCode": 0})


async def test_a_command_runs_in_the_folder_of_the_call_with_our_whole_environment(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SOME_TOKEN", "kept")
    assert await caller.text("bash", command='pwd; echo "$SOME_TOKEN"') == f"{caller.cwd}\nkept\n"


async def test_standard_input_is_empty(caller: Caller):
    with anyio.fail_after(5):
        assert await caller.text("bash", command="cat; echo end") == "end\n"


async def test_a_command_leads_its_own_session(caller: Caller):
    session = int(await caller.text("bash", command="ps -o sid= -p $$"))
    assert session != os.getsid(0)


@pytest.mark.requirement("standalone:bash:exit-code")
async def test_a_command_that_fails_is_an_error_with_its_output_and_exit_code(caller: Caller):
    result = await caller.call("bash", command="echo cause >&2; exit 3")
    assert result.is_error
    assert result.text == "cause\n\n[the command ended with exit code 3]"
    assert result.details == {"exitCode": 3}


async def test_a_signal_is_told_as_a_shell_tells_it(caller: Caller):
    assert "exit code 137 (SIGKILL)" in await caller.error("bash", command="kill -KILL $$")


async def _settled(caller: Caller, command: str, **more: Json) -> Json:
    """What a program gets for a call with `settle`."""
    context = CallContext(
        call_id="fabric_test",
        ref="pi.bash",
        cwd=caller.cwd,
        deadline=Deadline(60, SystemClock()),
        update=caller.updates.append,
        attach=lambda image: None,
        executed=lambda args: None,
        activity=lambda entity: None,
    )
    return await PiProvider(caller.tools).invoke(
        "bash", {"command": command, "settle": True, **more}, context
    )


@pytest.mark.requirement("standalone:bash:settle")
async def test_settle_reports_a_failure_as_a_value(caller: Caller):
    value = await _settled(caller, "echo no; exit 2")
    assert (value["ok"], value["exitCode"]) == (False, 2)
    assert value["output"].startswith("no\n")
    assert await _settled(caller, "echo yes") == {
        "ok": True,
        "output": "yes\n",
        "details": {"exitCode": 0},
    }


@pytest.mark.requirement("standalone:bash:settle-raises")
async def test_settle_does_not_hide_a_timeout_or_a_shell_that_cannot_start(caller: Caller):
    with pytest.raises(ToolFailed, match=r"timeout of 0\.1 s"):
        await _settled(caller, "sleep 60", timeout=0.1)
    caller.cwd.rmdir()
    with pytest.raises(ToolFailed, match="that the command should run in is not there"):
        await _settled(caller, "true")


@pytest.mark.requirement("standalone:bash:timeout")
async def test_a_timeout_ends_the_command_and_keeps_what_it_wrote(caller: Caller):
    with anyio.fail_after(10):
        result = await caller.call("bash", command="echo before; sleep 300; echo after", timeout=0.3)
    assert result.is_error
    assert result.text == ("before\n\n[the command was ended: it took longer than its timeout of 0.3 s]")
    assert result.details == {"timedOut": True}


@pytest.mark.parametrize("seconds", [0, -1])
async def test_a_timeout_without_time_is_refused(caller: Caller, seconds: float):
    assert "more than 0 seconds" in await caller.error("bash", command="true", timeout=seconds)


@pytest.mark.requirement("standalone:bash:daemon")
@pytest.mark.parametrize(
    "holder",
    [
        "sleep 300 &",
        "sleep 300 >/dev/null &",
        "sleep 300 2>/dev/null &",
        "setsid sleep 300 >/dev/null &",
        "(trap '' TERM HUP; exec sleep 300) &",
        "python3 -c 'import time; time.sleep(300)' &",
    ],
)
async def test_a_background_process_that_holds_the_output_does_not_hold_the_call(caller: Caller, holder: str):
    pid = caller.cwd / "pid"
    with anyio.fail_after(5):
        assert await caller.text("bash", command=f"{holder} echo $! > pid; echo done") == "done\n"
    with _left_running(pid) as process:
        assert process.status() != psutil.STATUS_ZOMBIE


async def test_a_background_process_that_keeps_talking_does_not_hold_the_call(caller: Caller):
    with anyio.fail_after(10):
        text = await caller.text("bash", command="yes & echo $! > pid; echo done")
    with _left_running(caller.cwd / "pid") as process:
        # Its output was closed, so that it ends by itself.
        await until(lambda: _is_gone(process.pid))
    assert "done" in text or "y\ny\n" in text


async def test_what_a_reader_behind_the_shell_still_says_is_heard(caller: Caller):
    command = "seq 3 > >(while read -r line; do echo got $line; done)"
    with anyio.fail_after(5):
        assert await caller.text("bash", command=command) == "got 1\ngot 2\ngot 3\n"


@pytest.mark.requirement("standalone:bash:cancel")
@pytest.mark.parametrize(
    "command",
    [
        "echo $$ > pid; sleep 300",
        "trap '' TERM; echo $$ > pid; sleep 300; sleep 300",
        "bash -c 'trap \"\" TERM; echo $$ > pid; while :; do sleep 1; done' & wait",
        "setsid bash -c 'trap \"\" TERM; echo $$ > pid; while :; do sleep 1; done' & wait",
    ],
)
async def test_cancelling_ends_the_whole_tree_though_it_ignores_term(caller: Caller, command: str):
    pid = 0
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: caller.call("bash", command=command))
            pid = await _pid_in(caller.cwd / "pid")
            group.cancel_scope.cancel()
    await until(lambda: _is_gone(pid))


async def test_a_program_that_tidies_up_on_term_may_do_so(caller: Caller):
    command = "trap 'echo tidy > tidied; exit' TERM; echo $$ > pid; while :; do sleep 0.01; done"
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: caller.call("bash", command=command))
            await _pid_in(caller.cwd / "pid")
            group.cancel_scope.cancel()
    assert (caller.cwd / "tidied").exists()


@pytest.mark.requirement("standalone:bash:flood-cancel")
async def test_a_flood_can_be_cancelled(caller: Caller, spill_folder: Path):
    pid = 0
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: caller.call("bash", command="echo $$ > pid; exec yes"))
            pid = await _pid_in(caller.cwd / "pid")
            await until(lambda: _size_of_files(spill_folder) > 1_000_000)
            group.cancel_scope.cancel()
    await until(lambda: _is_gone(pid))
    assert _size_of_files(spill_folder) == 0


@pytest.mark.requirement("standalone:bash:tail")
async def test_a_long_output_keeps_its_tail_and_all_of_it_in_a_private_file(caller: Caller):
    result = await caller.call("bash", command="seq 1 5000")
    assert result.details is not None
    path = Path(result.details["fullOutputPath"])
    shown, notice = result.text.split("\n\n")
    assert shown.split("\n") == [str(number) for number in range(3001, 5001)]
    assert notice.startswith("[the last 2,000 of 5,000 lines shown")
    assert str(path) in notice
    assert content(path).decode() == "".join(f"{number}\n" for number in range(1, 5001))
    assert permissions(path) == 0o600
    assert result.details["truncation"] == {"outputLines": 2000, "totalLines": 5000, "totalBytes": 23893}


@pytest.mark.requirement("standalone:bash:text-once")
async def test_a_cut_output_is_in_the_result_only_once(caller: Caller):
    result = await caller.call("bash", command="seq 1 5000")
    assert result.text.count("4321\n") == 1
    assert "4321" not in str(result.details)


@pytest.mark.requirement("standalone:bash:memory")
async def test_a_gigabyte_of_output_does_not_grow_memory(caller: Caller, monkeypatch: pytest.MonkeyPatch):
    # The file is bounded like everything else; a small bound spares the disk of whoever runs this.
    monkeypatch.setattr("pi_fabric.host.standalone.output_tail.MAX_FILE_BYTES", 10_000_000)
    before = psutil.Process().memory_info().rss
    with anyio.fail_after(50):
        result = await caller.call("bash", command="yes 0123456789abcdef | head -c 1G; echo; echo last")
    assert psutil.Process().memory_info().rss - before < 32 * 1024 * 1024
    assert result.details is not None
    assert result.details["truncation"]["totalBytes"] == 1024**3 + 6
    assert len(content(Path(result.details["fullOutputPath"]))) <= 10_000_000
    assert "last\n\n[the last" in result.text
    assert "is not complete: at most 9.5 MB are kept" in result.text


async def test_an_output_whose_file_cannot_be_written_is_shown_all_the_same(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("tempfile.tempdir", str(caller.cwd / "missing"))
    text = await caller.text("bash", command="seq 1 5000")
    assert "5000\n\n[the last 2,000" in text
    assert text.endswith("the file with all of it is not complete: no such file or directory]")


@pytest.mark.requirement("standalone:bash:progress")
async def test_partial_results_come_while_the_command_runs(caller: Caller):
    command = "echo one; until [ -e go ]; do sleep 0.01; done; echo two; until [ -e on ]; do sleep 0.01; done"
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: caller.call("bash", command=command))
            for sign in ("go", "on"):
                count = len(caller.updates)
                await until(lambda count=count: len(caller.updates) > count)
                (caller.cwd / sign).touch()
    assert _shown(caller)[:2] == ["one\n", "one\ntwo\n"]


async def test_a_partial_result_shows_no_more_than_a_screen(caller: Caller):
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(
                lambda: caller.call("bash", command="seq 3000; until [ -e go ]; do sleep 0.01; done")
            )
            await until(lambda: _shown(caller)[-1:] and _shown(caller)[-1].endswith("3000\n"))
            (caller.cwd / "go").touch()
    assert _shown(caller)[-1] == "".join(f"{number}\n" for number in range(2951, 3001))


async def test_bytes_that_are_not_utf8_are_replaced(caller: Caller):
    assert await caller.text("bash", command="printf 'a\\xffb\\xe2\\x82'") == "a\ufffdb\ufffd"


async def test_a_character_split_between_two_writes_is_whole(caller: Caller):
    command = "printf '\\xe2\\x82'; sleep 0.05; printf '\\xac'"
    assert await caller.text("bash", command=command) == "€"


async def test_one_endless_line_is_shown_by_its_end(caller: Caller):
    text = await caller.text("bash", command="printf 'é%.0s' {1..60000}; printf end")
    shown = text.split("\n\n[")[0]
    assert set(shown[:-3]) == {"é"}
    assert shown.endswith("end")
    assert MAX_BYTES - 4 < len(shown.encode()) <= MAX_BYTES


@pytest.mark.parametrize("length", [30_000, 200_000])
async def test_garbage_stays_within_the_bound_after_replacement(caller: Caller, length: int):
    result = await caller.call("bash", command=f"head -c {length} /dev/zero | tr '\\0' '\\377'")
    assert len(result.text.split("\n\n[")[0].encode()) <= MAX_BYTES
    assert result.details is not None
    assert content(Path(result.details["fullOutputPath"])) == b"\xff" * length


async def test_a_command_that_is_no_command_line_is_refused(caller: Caller):
    assert "NUL character" in await caller.error("bash", command="echo a\0b")
    assert "write it to a file" in await caller.error("bash", command="x" * 200_000)


@pytest.mark.requirement("standalone:bash:no-zombie")
async def test_no_process_and_no_descriptor_is_left_behind(caller: Caller):
    await caller.text("bash", command="true")
    me = psutil.Process()
    descriptors = me.num_fds()
    for command in ("echo hi", "exit 1", "seq 1 5000", "kill -KILL $$"):
        await caller.call("bash", command=command)
    await caller.call("bash", command="sleep 300", timeout=0.05)
    assert me.num_fds() == descriptors
    assert not [child for child in me.children() if child.status() == psutil.STATUS_ZOMBIE]


async def test_many_commands_run_at_once(caller: Caller):
    answers: dict[int, str] = {}

    async def ask(number: int) -> None:
        answers[number] = await caller.text("bash", command=f"echo {number}")

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            for number in range(100):
                group.start_soon(ask, number)
    assert answers == {number: f"{number}\n" for number in range(100)}


async def test_a_pipeline_ends_with_its_reader(caller: Caller):
    # Python ignores SIGPIPE; a command must not inherit that.
    with anyio.fail_after(5):
        assert await caller.text("bash", command="yes | head -n 1") == "y\n"
