"""The commands that put Fabric into Pi."""

import json
from pathlib import Path

import pytest

from pi_fabric.cli import main
from pi_fabric.host.pi.manifest import EXTENSION_DIR


@pytest.fixture(autouse=True)
def agent_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    return tmp_path / "agent"


def test_install_and_uninstall_say_what_they_did(agent_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said: list[str] = []
    for verb in ("install", "install", "uninstall", "uninstall"):
        assert main(["pi", verb]) == 0
        said.append(capsys.readouterr().out.partition("(")[0].strip())
    assert said == [
        "Fabric is in Pi now",
        "Fabric was in Pi already",
        "Fabric is out of Pi",
        "Fabric was not in Pi",
    ]
    assert json.loads((agent_dir / "settings.json").read_bytes()) == {"packages": []}


def test_path_is_a_folder_that_pi_can_load(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pi", "path"]) == 0
    folder = Path(capsys.readouterr().out.strip())
    assert folder == EXTENSION_DIR
    assert json.loads((folder / "package.json").read_bytes())["pi"]["extensions"] == ["./index.js"]


def test_unreadable_settings_are_one_clear_line_and_a_usage_error(
    agent_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agent_dir.mkdir()
    (agent_dir / "settings.json").write_text("{")
    assert main(["pi", "install"]) == 2
    error = capsys.readouterr().err
    assert "settings.json" in error
    assert len(error.splitlines()) == 1
