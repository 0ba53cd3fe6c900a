"""`pi-fabric benchmark real-resume` as a person calls it."""

import json
import os
import sys
import tempfile
from pathlib import Path

import pytest

from pi_fabric.cli import main
from tests.certify.resume.own_fixture import write_fixture
from tests.certify.resume.resume_lab import KEY, KEY_ENV, node_path
from tests.host.pi.fake_pi import make_pi
from tools import install_pi

FAKE = Path(__file__).with_name("fake_pi.py")
REQUIRED = ("PROVIDER", "MODEL", "KEY_ENV", "MAX_USD")


class Shell:
    """Runs the command in a folder of its own; `mode` is what the stand-in for Pi does."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.code = 0
        self.out = ""
        self.err = ""
        self._capsys = capsys
        self._entry = (make_pi(folder / "pi", "1.6.0") / "pi").resolve()
        self.mode("work")

    def mode(self, name: str) -> None:
        """Choose what Pi does."""
        self.script("", mode=name)

    def script(self, before: str, *, mode: str) -> None:
        """Let Pi run shell lines first."""
        run = f'exec "{sys.executable}" "{FAKE}" {mode} "$@"'
        self._entry.write_text(f"#!/bin/sh\n{before}\n{run}\n")

    def __call__(self, *arguments: str) -> str:
        """Run the command and return what it printed."""
        self.code = main(["benchmark", "real-resume", *arguments])
        self.out, self.err = self._capsys.readouterr()
        return self.out


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    for name in [name for name in os.environ if name.startswith(("PI_", KEY_ENV))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setenv("PATH", os.pathsep.join((str(tmp_path / "pi" / "bin"), node_path())))
    write_fixture(tmp_path / "tasks" / "mine")
    return Shell(tmp_path, capsys)


@pytest.fixture
def enabled(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Shell:
    values = {"PROVIDER": "p", "MODEL": "m", "KEY_ENV": KEY_ENV, "MAX_USD": "5", "REPEATS": "2"}
    monkeypatch.setenv("PI_FABRIC_REAL_RESUME", "1")
    for name, value in values.items():
        monkeypatch.setenv(f"PI_FABRIC_BENCH_{name}", value)
    monkeypatch.setenv(KEY_ENV, KEY)
    return shell


def is_empty(shell: Shell) -> bool:
    return not list((shell.folder / "temporary").iterdir())


@pytest.mark.requirement("certify:resume:skip")
def test_without_configuration_it_skips_and_says_how_to_enable_it(shell: Shell) -> None:
    shell()
    assert (shell.code, shell.err) == (0, "")
    assert shell.out.startswith("SKIP: PI_FABRIC_REAL_RESUME is not set")
    assert max(map(len, shell.out.split("\n"))) <= 80
    for name in REQUIRED:
        assert f"  PI_FABRIC_BENCH_{name} " in shell.out
    for name in ("PI_FABRIC_BENCH_REPEATS", "PI_VCC_EXTENSION", "PI_FABRIC_BENCH_MODELS", "PI_FABRIC_PI"):
        assert f"  {name} " in shell.out


@pytest.mark.requirement("certify:resume:skip")
def test_a_skip_for_machines_says_the_same(shell: Shell) -> None:
    found = json.loads(shell("--json"))
    assert (shell.code, found["status"]) == (0, "skip")
    assert [each["name"] for each in found["variables"] if each["required"]][1:] == [
        f"PI_FABRIC_BENCH_{name}" for name in REQUIRED
    ]


@pytest.mark.requirement("certify:resume:gate")
@pytest.mark.parametrize("name", REQUIRED)
def test_a_missing_gate_is_wrong_usage_and_named(
    enabled: Shell, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.delenv(f"PI_FABRIC_BENCH_{name}")
    enabled()
    assert (enabled.code, enabled.out) == (2, "")
    assert f"  PI_FABRIC_BENCH_{name} is not set." in enabled.err
    assert max(map(len, enabled.err.split("\n"))) <= 80
    found = json.loads(enabled("--json"))
    assert (enabled.code, found["status"]) == (2, "refused")
    assert found["problems"] == [f"PI_FABRIC_BENCH_{name} is not set"]


@pytest.mark.requirement("certify:resume:own", "certify:resume:reports", "certify:resume:key")
def test_a_measurement_prints_and_writes_its_reports(enabled: Shell) -> None:
    reports = ["a.html", "b.md", "c.json"]
    enabled("--fixtures", "tasks", *(word for name in reports for word in ("--report", name)))
    assert enabled.code == 0
    # The stand-in cannot write Fabric's summaries, so that arm fails.
    assert "Complete: 6 of 6 runs, $2.00 of $5.00 spent." in enabled.out
    texts = [(enabled.folder / name).read_text(encoding="utf-8") for name in reports]
    shown = [enabled.out, *texts]
    assert all(KEY_ENV in text.replace("\\", "") and KEY not in text for text in shown)
    assert json.loads(texts[2])["arms"][0]["passes"] == 2
    assert is_empty(enabled)


def test_json_is_one_object_and_options_choose_what_is_run(enabled: Shell) -> None:
    found = json.loads(enabled("--fixtures", "tasks", "--json", "--arms", "pi,baseline", "--repeats", "1"))
    assert [figures["arm"] for figures in found["arms"]] == ["baseline", "pi"]
    assert (found["repeats"], found["seed"], len(found["runs"])) == (1, 0, 2)


@pytest.mark.requirement("certify:resume:budget")
def test_a_stop_at_the_budget_is_no_failure(enabled: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PI_FABRIC_BENCH_MAX_USD", "0.4")
    text = enabled("--fixtures", "tasks", "--arms", "baseline")
    assert enabled.code == 0
    assert "Stopped: budget. 1 of 2 runs, $0.5000 of $0.4000 spent." in text


@pytest.mark.requirement("certify:resume:failure", "certify:resume:key")
@pytest.mark.parametrize("mode", ["crash", "fail", "refuse"])
def test_when_no_run_came_to_its_end_the_command_fails_without_showing_the_key(
    enabled: Shell, mode: str
) -> None:
    enabled.mode(mode)
    enabled("--fixtures", "tasks", "--arms", "baseline", "--repeats", "1", "--report", "r.html")
    assert enabled.code == 1
    assert f"[{KEY_ENV}]" in enabled.out
    report = (enabled.folder / "r.html").read_text(encoding="utf-8")
    assert KEY not in enabled.out + enabled.err + report


@pytest.mark.requirement("certify:resume:interrupted")
def test_an_interrupt_still_reports_what_was_paid_for(enabled: Shell, tmp_path: Path) -> None:
    # The stand-in interrupts us in its second run, as a person would, and then hangs.
    enabled.script(
        f"if test -e {tmp_path}/seen; then kill -INT $PPID; mode=hang; else mode=work; fi\n"
        f": > {tmp_path}/seen",
        mode='"$mode"',
    )
    found = json.loads(enabled("--fixtures", "tasks", "--json", "--arms", "baseline"))
    assert enabled.code == 5
    assert (found["stopped"], len(found["runs"]), len(found["notRun"])) == ("interrupted", 1, 1)
    assert is_empty(enabled)


@pytest.mark.requirement("certify:resume:own")
def test_a_broken_fixture_is_wrong_usage_with_file_and_field(enabled: Shell) -> None:
    (enabled.folder / "tasks" / "mine" / "fixture.json").write_text('{"oracle": []}')
    enabled("--fixtures", "tasks")
    assert enabled.code == 2
    assert "mine/fixture.json: $.oracle: Expected" in enabled.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--arms", "fabrik"], "there is no arm 'fabrik'; did you mean fabric?"),
        (["--arms", "pi-vcc"], "the arm pi-vcc needs PI_VCC_EXTENSION"),
        (["--arms", ","], "name one or more of baseline, fabric, pi-vcc, pi"),
        (["--report", "x.pdf"], "x.pdf does not end in .html, .md, .json"),
        (["--fixtures", "nowhere"], "nowhere: cannot be read"),
    ],
)
def test_a_wrong_option_is_told_before_anything_is_spent(
    enabled: Shell, arguments: list[str], words: str
) -> None:
    enabled(*arguments)
    assert enabled.code == 2
    assert words in enabled.err


def test_without_pi_or_node_something_is_missing(enabled: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PI_FABRIC_PI", "nowhere")
    enabled("--fixtures", "tasks")
    assert (enabled.code, "PI_FABRIC_PI names no Pi: nowhere" in enabled.err) == (6, True)
    monkeypatch.delenv("PI_FABRIC_PI")
    monkeypatch.setenv("PATH", str(install_pi.node().parent))
    enabled("--fixtures", "tasks")
    assert (enabled.code, "there is no Pi on PATH" in enabled.err) == (6, True)
    monkeypatch.setattr("pi_fabric.host.pi.node.NODE_FLOOR", (999, 0))
    enabled("--fixtures", "tasks")
    assert (enabled.code, "There is no Node 999.0 or later" in enabled.err) == (6, True)


def test_an_old_pi_is_refused(enabled: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PI_FABRIC_PI", str(make_pi(tmp_path / "old", "0.79.0") / "pi"))
    enabled("--fixtures", "tasks")
    assert (enabled.code, "Pi 0.79.0 cannot be used" in enabled.err) == (6, True)


def test_help_has_an_example(shell: Shell) -> None:
    shell("--help")
    assert shell.code == 0
    assert "Example:" in shell.out
