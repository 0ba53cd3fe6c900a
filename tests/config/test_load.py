import json
from pathlib import Path

import pytest

from pi_fabric.base.jsonvalue import Json
from pi_fabric.config import LoadedConfig, Origin, load_config
from pi_fabric.config.load import merge
from pi_fabric.config.trust import TrustState


class Machine:
    """A home folder and a project in which configuration files are put."""

    def __init__(self, root: Path) -> None:
        self.environ = {"HOME": str(root)}
        self.project = root / "project"
        self.global_file = root / ".pi" / "agent" / "fabric.json"
        self.project_file = self.project / ".pi" / "fabric.json"
        for file in (self.global_file, self.project_file):
            file.parent.mkdir(parents=True)

    def put(self, file: Path, value: Json) -> None:
        file.write_text(json.dumps(value))

    def load(self, trust: TrustState | None = "stored", **variables: str) -> LoadedConfig:
        return load_config(cwd=self.project, environ=self.environ | variables, trust=trust)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.requirement("config:layers:order")
def test_without_files_everything_is_the_default(machine: Machine) -> None:
    loaded = machine.load()

    assert {origin.layer for origin in loaded.origins.values()} == {"default"}
    assert [file.state for file in loaded.files] == ["absent", "absent"]
    assert (loaded.corrections, loaded.notices) == ((), ())


@pytest.mark.requirement("config:layers:order")
def test_the_project_lies_over_the_global_file_key_by_key(machine: Machine) -> None:
    machine.put(
        machine.global_file, {"ui": {"maxRows": 3, "refreshMs": 700}, "capture": {"risks": {"a": "read"}}}
    )
    machine.put(machine.project_file, {"ui": {"maxRows": 9}, "capture": {"risks": {"b": "agent"}}})
    loaded = machine.load()

    assert (loaded.config.ui.max_rows, loaded.config.ui.refresh_ms) == (9, 700)
    assert loaded.config.capture.risks["a"] == "read"
    assert loaded.config.capture.risks["b"] == "agent"
    assert loaded.origins["ui.maxRows"] == Origin(layer="project", file=machine.project_file)
    assert loaded.origins["ui.refreshMs"] == Origin(layer="global", file=machine.global_file)
    assert loaded.origins["ui.widget"] == Origin(layer="default")


@pytest.mark.requirement("config:layers:lists")
def test_lists_are_replaced_whole() -> None:
    assert merge({"a": [1, 2], "b": {"c": 1}}, {"a": [3], "b": 5}) == {"a": [3], "b": 5}


@pytest.mark.requirement("config:layers:environment")
@pytest.mark.parametrize(("text", "mode"), [("false", False), ("TRUE", True), ("", False), (" ", False)])
def test_the_environment_decides_the_mode_over_every_file(machine: Machine, text: str, mode: bool) -> None:
    machine.put(machine.project_file, {"fullCodeMode": False})
    loaded = machine.load(PI_FABRIC_FULL_CODE_MODE=text)

    assert loaded.config.full_code_mode is mode
    layer = "environment" if text.strip() else "project"
    assert loaded.origins["fullCodeMode"].layer == layer


@pytest.mark.requirement("config:layers:environment")
def test_a_mode_that_is_neither_true_nor_false_is_reported_and_ignored(machine: Machine) -> None:
    loaded = machine.load(PI_FABRIC_FULL_CODE_MODE="yes")

    assert loaded.config.full_code_mode is True
    assert [str(notice) for notice in loaded.notices] == [
        "PI_FABRIC_FULL_CODE_MODE is neither true nor false; it is ignored."
    ]


@pytest.mark.requirement("config:layers:environment")
def test_the_environment_names_the_claude_binary_and_the_mesh(machine: Machine) -> None:
    machine.put(machine.global_file, {"subagents": {"claude": {"binary": "a", "model": "m"}}})
    loaded = machine.load(PI_FABRIC_CLAUDE_BINARY="/opt/claude", PI_FABRIC_MESH_ROOT="/mesh")

    assert loaded.config.subagents.claude.binary == "/opt/claude"
    assert loaded.config.subagents.claude.model == "m"
    assert loaded.config.mesh.root == "/mesh"
    assert loaded.origins["mesh.root"] == Origin(layer="environment", variable="PI_FABRIC_MESH_ROOT")


@pytest.mark.requirement("config:agent-dir:variable")
def test_the_agent_folder_can_be_moved(machine: Machine, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    machine.put(elsewhere / "fabric.json", {"ui": {"maxRows": 2}})

    assert machine.load(PI_CODING_AGENT_DIR="~/elsewhere").config.ui.max_rows == 2


@pytest.mark.requirement("config:file:ignored")
@pytest.mark.parametrize("text", ["{", "[]", "", "\x00"])
def test_a_file_that_is_no_json_object_is_reported_and_the_rest_counts(machine: Machine, text: str) -> None:
    machine.global_file.write_text(text)
    machine.put(machine.project_file, {"ui": {"maxRows": 9}})
    loaded = machine.load()

    assert loaded.config.ui.max_rows == 9
    assert [file.state for file in loaded.files] == ["unusable", "read"]
    [notice] = loaded.notices
    assert notice.file == machine.global_file
    assert notice.message.endswith("The file is ignored and left as it is.")
    assert machine.global_file.read_text() == text


@pytest.mark.requirement("config:normalize:reported")
def test_a_correction_names_the_file_that_holds_the_value(machine: Machine) -> None:
    machine.put(machine.global_file, {"ui": {"maxRows": 0, "refreshMs": 0}, "mesh": 5})
    machine.put(machine.project_file, {"ui": {"maxRows": 99}, "capture": {"risks": {"x": 1}}})
    corrections = {fault.key: fault.file for fault in machine.load().corrections}

    assert corrections == {
        "mesh": machine.global_file,
        "ui.maxRows": machine.project_file,
        "ui.refreshMs": machine.global_file,
        "capture.risks.x": machine.project_file,
    }


@pytest.mark.requirement("config:normalize:objects")
@pytest.mark.parametrize("trust", ["stored", "default"])
def test_a_misplaced_value_in_a_project_does_not_wipe_out_the_users_section(
    machine: Machine, trust: TrustState
) -> None:
    machine.put(machine.global_file, {"approvals": {"execute": "deny"}, "schema": {"mode": "enforce"}})
    machine.put(machine.project_file, {"approvals": None, "schema": []})
    config = machine.load(trust).config

    assert (config.approvals.execute, config.schema.mode) == ("deny", "enforce")


@pytest.mark.requirement("config:unknown:suggested")
def test_unknown_keys_are_reported_with_the_file(machine: Machine) -> None:
    machine.put(machine.project_file, {"ui": {"maxRow": 1}})

    assert [str(notice) for notice in machine.load().notices] == [
        f"{machine.project_file}: ui.maxRow is no known key; it is ignored. Did you mean ui.maxRows?"
    ]


@pytest.mark.requirement("config:trust:untrusted")
def test_the_file_of_an_untrusted_project_is_not_read_and_that_is_said(machine: Machine) -> None:
    machine.put(machine.project_file, {"ui": {"maxRows": 9}})
    loaded = machine.load("untrusted")

    assert loaded.config.ui.max_rows == 6
    assert loaded.files[1].state == "untrusted"
    assert [notice.file for notice in loaded.notices] == [machine.project_file]


@pytest.mark.requirement("config:trust:untrusted")
def test_an_untrusted_project_without_a_file_is_nothing_to_speak_of(machine: Machine) -> None:
    assert machine.load("untrusted").notices == ()


@pytest.mark.requirement("config:trust:widening")
def test_a_project_trusted_by_default_may_not_widen_and_the_notice_names_the_keys(machine: Machine) -> None:
    machine.put(machine.global_file, {"approvals": {"execute": "ask"}})
    machine.put(
        machine.project_file,
        {"executor": {"runtime": "node-process"}, "approvals": {"execute": "allow"}, "ui": {"maxRows": 9}},
    )
    by_default, decided = machine.load("default"), machine.load("stored")

    assert by_default.config.executor.runtime == "quickjs"
    assert by_default.config.approvals.execute == "ask"
    assert by_default.config.ui.max_rows == 9
    assert "executor.runtime, approvals.execute" in by_default.notices[0].message
    assert "/trust" in by_default.notices[0].message
    assert decided.config.executor.runtime == "node-process"
    assert decided.config.approvals.execute == "allow"
    assert decided.notices == ()


@pytest.mark.requirement("config:trust:default")
def test_without_a_host_the_trust_is_what_pi_has_stored(machine: Machine) -> None:
    machine.put(machine.global_file.with_name("trust.json"), {str(machine.project.parent): False})

    assert machine.load(None).trust == "untrusted"


@pytest.mark.requirement("config:trust:doubt")
def test_a_trust_store_that_cannot_be_read_is_reported(machine: Machine) -> None:
    store = machine.global_file.with_name("trust.json")
    store.write_text("{")
    loaded = machine.load(None)

    assert loaded.trust == "untrusted"
    assert [notice.file for notice in loaded.notices] == [store]
