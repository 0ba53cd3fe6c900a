"""What doctor finds, and the fix it gives."""

import json
from pathlib import Path
from typing import Any

import pytest

from pi_fabric.cli import main
from pi_fabric.host.pi.install import install
from tests.host.pi.fake_pi import make_pi

SOURCES = str(Path(__file__).parents[2] / "src")


class Machine:
    """A PATH with a Node, and perhaps a Pi, and an agent folder."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.project = folder / "project"
        self.project.mkdir()
        self.agent_dir = folder / "agent"
        self._monkeypatch = monkeypatch
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.program("node", "echo v24.1.0")
        monkeypatch.setenv("PATH", f"{self.bin}:/usr/bin:/bin")
        monkeypatch.setenv("HOME", str(folder))
        monkeypatch.setenv("PYTHONPATH", SOURCES)
        monkeypatch.setenv("PI_CODING_AGENT_DIR", str(self.agent_dir))
        monkeypatch.delenv("PI_FABRIC_PYTHON", raising=False)

    def program(self, name: str, script: str) -> Path:
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    def pi(self, version: str, **parts: str) -> None:
        folder = self.folder / "npm"
        self._monkeypatch.setenv("PATH", f"{make_pi(folder, version, **parts)}:{self.bin}:/usr/bin:/bin")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def findings(
    machine: Machine, capsys: pytest.CaptureFixture[str], *, code: int = 0
) -> dict[str, dict[str, Any]]:
    assert main(["pi", "doctor", "--json", "--cwd", str(machine.project)]) == code
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["findings"]
    return {finding["name"]: finding for finding in found}


@pytest.mark.requirement("pi:doctor:healthy")
def test_a_healthy_machine_misses_nothing(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.pi("1.6.0")
    install(machine.agent_dir)
    found = findings(machine, capsys)
    assert {finding["status"] for finding in found.values()} <= {"ok", "note"}
    assert "answers after" in found["sidecar"]["text"]
    assert "tool hooks" not in found


@pytest.mark.requirement("pi:doctor:missing")
def test_what_is_missing_is_named_with_its_fix_and_the_exit_code_is_six(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.program("node", "echo v20.1.0")
    found = findings(machine, capsys, code=6)
    missing = {name: finding["fix"] for name, finding in found.items() if finding["status"] == "missing"}
    assert missing == {
        "node": "install Node 22.19 or later, which Pi runs on",
        "pi": "npm install --global @earendil-works/pi-coding-agent",
        "extension": "pi-fabric pi install",
    }


@pytest.mark.requirement("pi:doctor:old")
def test_a_pi_below_the_floor_is_refused(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.pi("0.79.10")
    assert "0.80.6 or later" in findings(machine, capsys, code=6)["pi"]["fix"]


@pytest.mark.requirement("pi:doctor:hooks", "pi:doctor:parts")
def test_the_floor_version_comes_with_its_two_warnings(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.pi("0.80.6", **{"pi-ai": "0.80.10"})
    found = findings(machine, capsys, code=6)
    assert "permission gates" in found["tool hooks"]["text"]
    assert found["pi's parts"]["status"] == "missing"
    assert "pi-ai@0.80.6" in found["pi's parts"]["fix"]


@pytest.mark.requirement("pi:doctor:sidecar")
@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo 'No module named pi_fabric' >&2; exit 1", "No module named pi_fabric"),
        ("echo hello; exec sleep 60", "no frame"),
        ('echo \'{"error": {"message": "another protocol"}}\'; exec sleep 60', "another protocol"),
    ],
)
def test_a_sidecar_that_does_not_start_is_quoted(
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    script: str,
    words: str,
) -> None:
    monkeypatch.setenv("PI_FABRIC_PYTHON", str(machine.program("snake", script)))
    sidecar = findings(machine, capsys, code=6)["sidecar"]
    assert sidecar["status"] == "missing"
    assert words in sidecar["text"]


def test_an_interpreter_that_is_gone_is_found(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PI_FABRIC_PYTHON", str(machine.folder / "gone"))
    found = findings(machine, capsys, code=6)
    assert found["python"]["status"] == found["sidecar"]["status"] == "missing"
    assert found["python"]["fix"] == "unset it"


@pytest.mark.requirement("pi:doctor:configuration")
def test_configuration_notices_and_trust_are_told(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    install(machine.agent_dir)
    (machine.agent_dir / "fabric.json").write_text('{"fullCodeMode": "yes"}')
    found = findings(machine, capsys, code=6)
    assert "fullCodeMode" in found["configuration"]["text"]
    assert found["project trust"]["status"] == "note"
    (machine.agent_dir / "trust.json").write_text(json.dumps({str(machine.project.resolve()): True}))
    assert findings(machine, capsys, code=6)["project trust"]["text"] == "trusted by your decision"


def test_lines_fit_the_terminal_and_a_fix_stays_in_one_piece(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.pi("0.80.6")
    main(["pi", "doctor", "--cwd", str(machine.project)])
    lines = capsys.readouterr().out.splitlines()
    long = [line for line in lines if len(line) > 80 and "->" not in line and "/" not in line]
    assert long == []
    assert any("-> pi-fabric pi install" in line for line in lines)
