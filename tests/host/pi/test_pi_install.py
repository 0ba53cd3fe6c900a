"""Two files of the user's: nothing else in them may change."""

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from pi_fabric.base.errors import ConfigError, StoreError
from pi_fabric.host.pi import settings_file
from pi_fabric.host.pi.install import install, is_installed, python_path, settings_path, uninstall
from pi_fabric.host.pi.manifest import EXTENSION_DIR


def entries(agent_dir: Path) -> list[object]:
    listed: list[object] = json.loads(settings_path(agent_dir).read_bytes())["packages"]
    return listed


@pytest.mark.requirement("pi:install:in")
def test_installing_lists_the_extension_and_writes_the_interpreter_down(tmp_path: Path) -> None:
    agent_dir = tmp_path / "not there yet"
    assert install(agent_dir).has_changed
    assert entries(agent_dir) == [str(EXTENSION_DIR)]
    assert json.loads(python_path(agent_dir).read_bytes())["python"] == sys.executable
    assert is_installed(agent_dir)


@pytest.mark.requirement("pi:install:idempotent")
def test_installing_twice_writes_nothing(tmp_path: Path) -> None:
    install(tmp_path)
    before = [path.stat().st_mtime_ns for path in (settings_path(tmp_path), python_path(tmp_path))]
    assert not install(tmp_path).has_changed
    assert [path.stat().st_mtime_ns for path in (settings_path(tmp_path), python_path(tmp_path))] == before


@pytest.mark.requirement("pi:install:keeps")
def test_everything_else_in_the_settings_stays(tmp_path: Path) -> None:
    own: dict[str, Any] = {
        "theme": "dark",
        "packages": ["npm:x", {"source": "git:y", "skills": []}],
        "ünï": {"1e400": 1e300},
    }
    settings_path(tmp_path).write_text(json.dumps(own))
    install(tmp_path)
    assert json.loads(settings_path(tmp_path).read_bytes()) == own | {
        "packages": [*own["packages"], str(EXTENSION_DIR)]
    }
    uninstall(tmp_path)
    assert json.loads(settings_path(tmp_path).read_bytes()) == own
    assert not python_path(tmp_path).exists()
    assert not uninstall(tmp_path).has_changed


@pytest.mark.requirement("pi:install:replaces")
def test_an_older_installation_is_replaced_and_a_relative_entry_is_recognised(tmp_path: Path) -> None:
    old = "/old/venv/lib/python3.11/site-packages/pi_fabric/host/pi/extension"
    settings_path(tmp_path).write_text(json.dumps({"packages": [old, "./mine"]}))
    assert install(tmp_path).replaced == (Path(old),)
    assert entries(tmp_path) == ["./mine", str(EXTENSION_DIR)]
    relative = os.path.relpath(EXTENSION_DIR, tmp_path)
    settings_path(tmp_path).write_text(json.dumps({"packages": [{"source": relative}]}))
    assert not install(tmp_path).has_changed


@pytest.mark.requirement("pi:install:refuses")
@pytest.mark.parametrize("content", ['{"a": ', "[]", '{"packages": {}}'])
def test_settings_that_pi_did_not_write_are_refused_and_left_alone(tmp_path: Path, content: str) -> None:
    settings_path(tmp_path).write_text(content)
    with pytest.raises(ConfigError, match=r"settings\.json"):
        install(tmp_path)
    assert settings_path(tmp_path).read_text() == content
    assert not python_path(tmp_path).exists()


@pytest.mark.requirement("pi:install:lock")
def test_pis_lock_is_respected_and_a_left_over_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings_file, "LOCK_WAIT_S", 0.1)
    lock = tmp_path / "settings.json.lock"
    lock.mkdir()
    with pytest.raises(StoreError, match="locked"):
        install(tmp_path)
    os.utime(lock, (0, 0))
    assert install(tmp_path).has_changed
    assert not lock.exists()


def test_installers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    def add(name: str) -> None:
        settings_file.change_packages(settings_path(tmp_path), lambda entries: [*entries, name])

    threads = [threading.Thread(target=add, args=(f"npm:{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(map(str, entries(tmp_path))) == sorted(f"npm:{n}" for n in range(8))


@pytest.mark.requirement("pi:install:out-of-odd-places")
def test_uninstalling_goes_through_although_fabrics_folder_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "fabric").write_text("")
    settings_path(tmp_path).write_text(json.dumps({"packages": [str(EXTENSION_DIR)]}))
    assert uninstall(tmp_path).has_changed
    assert entries(tmp_path) == []
    assert not uninstall(tmp_path).has_changed
