import json
from pathlib import Path

import pytest

from pi_fabric.base.jsonvalue import Json
from pi_fabric.cli import main
from pi_fabric.config import KEYS, FabricConfig


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with an empty home folder around it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("PI_CODING_AGENT_DIR", "PI_FABRIC_FULL_CODE_MODE", "PI_FABRIC_CLAUDE_BINARY", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "project"
    (folder / ".pi").mkdir(parents=True)
    return folder


def put(project: Path, value: Json) -> Path:
    file = project / ".pi" / "fabric.json"
    file.write_text(json.dumps(value))
    return file


def show(project: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["config", "show", "--cwd", str(project), *options]) == 0
    return capsys.readouterr().out


def test_every_effective_value_is_shown_with_its_origin(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(project, {"ui": {"maxRows": 9}, "subagents": {"model": "p/m"}})
    rows = {
        line.split()[0]: line.split()[1:] for line in show(project, capsys).splitlines() if line[:1].isalpha()
    }

    assert set(rows) >= {key.name for key in KEYS}
    assert rows["ui.maxRows"] == ["9", "project"]
    assert rows["subagents.model"] == ["p/m", "project"]
    assert rows["ui.widget"] == ["auto", "default"]
    assert rows["mesh.root"] == ["(not", "set)", "default"]


def test_the_table_fits_80_columns_with_long_values(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(project, {"capture": {"keepVisible": ["x" * 200]}, "subagents": {"model": "m" * 200}})
    table = show(project, capsys).split("\n\n")[0]

    assert max(map(len, table.splitlines())) <= 80


def test_corrected_values_are_marked_and_explained(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(project, {"ui": {"maxRows": 99}, "capture": {"risks": {"web": "none"}}})
    text = show(project, capsys)

    assert "project *" in next(line for line in text.splitlines() if line.startswith("ui.maxRows"))
    assert "  ~/project/.pi/fabric.json: ui.maxRows: 99 is above the maximum; 20 is used" in text
    assert "capture.risks.web" in text


def test_notices_are_shown_with_their_file(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(project, {"mcp": {"enabled": False}})

    assert "~/project/.pi/fabric.json: left out, because nobody has decided" in show(project, capsys)


def test_the_files_that_were_looked_for_are_listed(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = show(project, capsys)

    assert "global   ~/.pi/agent/fabric.json (not there)" in text
    assert "project  ~/project/.pi/fabric.json (not there)" in text


def test_output_that_goes_to_no_terminal_is_plain(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "\x1b" not in show(project, capsys)


def test_control_characters_of_a_file_do_not_reach_the_terminal(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(project, {"subagents": {"model": "m\x1b]0;x\x07"}, "\x9b2J": 1, "capture": {"risks": {"\x1bc": 1}}})

    assert all(char == "\n" or char.isprintable() for char in show(project, capsys))


def test_many_corrections_are_listed_in_part(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(project, {"capture": {"risks": {f"tool{number}": 0 for number in range(50)}}})

    assert "  and 30 more; --json lists them all" in show(project, capsys)


def test_json_holds_the_whole_configuration_with_origins(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PI_FABRIC_CLAUDE_BINARY", "/opt/claude")
    file = put(project, {"ui": {"maxRows": 99}, "mehs": 1})
    shown = json.loads(show(project, capsys, "--json"))

    assert shown["config"]["memory"] == FabricConfig().to_json()["memory"]
    assert list(shown["keys"]) == [key.name for key in KEYS]
    assert shown["keys"]["ui.maxRows"] == {
        "value": 20, "origin": "project", "file": str(file), "variable": None,
    }  # fmt: skip
    assert shown["keys"]["subagents.claude.binary"]["variable"] == "PI_FABRIC_CLAUDE_BINARY"
    assert shown["trust"] == "default"
    assert [entry["state"] for entry in shown["files"]] == ["absent", "read"]
    assert shown["corrections"] == [
        {
            "key": "ui.maxRows",
            "file": str(file),
            "given": "99",
            "used": "20",
            "reason": "is above the maximum",
        }
    ]
    assert shown["notices"] == [
        {"message": "mehs is no known key; it is ignored. Did you mean mesh?", "file": str(file)}
    ]


def test_a_folder_that_does_not_exist_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "show", "--cwd", str(tmp_path / "none")]) == 2
    assert "does not exist" in capsys.readouterr().err
