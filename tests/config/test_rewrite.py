import json
import multiprocessing
from pathlib import Path

import pytest
from filelock import FileLock

from pi_fabric.base.errors import ConfigError, StoreError
from pi_fabric.base.jsonvalue import UNDEFINED, Json
from pi_fabric.config import rewrite
from pi_fabric.config.rewrite import update_file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / ".pi" / "fabric.json"


def put(file: Path, data: bytes) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(data)


def test_a_missing_file_is_made_with_its_folder(file: Path) -> None:
    update_file(file, {"ui.maxRows": 3, "fullCodeMode": False})

    assert file.read_text() == '{\n  "ui": {\n    "maxRows": 3\n  },\n  "fullCodeMode": false\n}\n'


@pytest.mark.requirement("config:rewrite:kept")
def test_unknown_keys_and_the_order_of_keys_stay(file: Path) -> None:
    put(file, b'{"zeta": {"10": 1, "2": [1.50, null]}, "ui": {"mine": "\xc3\xa4", "maxRows": 1}, "alpha": 1}')
    update_file(file, {"ui.maxRows": 3, "ui.widget": "hidden"})

    assert list(json.loads(file.read_bytes()).items()) == [
        ("zeta", {"10": 1, "2": [1.5, None]}),
        ("ui", {"mine": "ä", "maxRows": 3, "widget": "hidden"}),
        ("alpha", 1),
    ]
    assert '"10": 1' in file.read_text("utf-8").partition('"2"')[0]
    assert "ä" in file.read_text("utf-8")


@pytest.mark.requirement("config:rewrite:kept")
@pytest.mark.parametrize("indent", ["\t", "    "])
def test_the_indentation_and_line_ends_stay(file: Path, indent: str) -> None:
    put(file, f'{{\r\n{indent}"fullCodeMode": true\r\n}}\r\n'.encode())
    update_file(file, {"fullCodeMode": False})

    assert file.read_bytes() == f'{{\r\n{indent}"fullCodeMode": false\r\n}}\r\n'.encode()


def test_a_key_can_be_taken_out(file: Path) -> None:
    put(file, b'{"ui": {"maxRows": 1, "widget": "auto"}}')
    update_file(file, {"ui.maxRows": UNDEFINED, "mesh.root": UNDEFINED})

    assert json.loads(file.read_bytes()) == {"ui": {"widget": "auto"}}


def test_a_misplaced_section_is_replaced(file: Path) -> None:
    put(file, b'{"ui": 5}')
    update_file(file, {"ui.maxRows": 2})

    assert json.loads(file.read_bytes()) == {"ui": {"maxRows": 2}}


@pytest.mark.requirement("config:rewrite:refused")
@pytest.mark.parametrize("data", [b"{", b"", b"[]", b'{"a": "\xff"}', b'{"a": "\\ud800"}', b'{"a": 1e999}'])
def test_a_file_that_cannot_be_read_exactly_is_never_overwritten(file: Path, data: bytes) -> None:
    put(file, data)
    with pytest.raises(ConfigError, match="it was left as it is"):
        update_file(file, {"ui.maxRows": 2})

    assert file.read_bytes() == data


@pytest.mark.requirement("config:rewrite:refused")
@pytest.mark.parametrize(
    ("key", "value"),
    [("ui.maxRows", 99), ("ui.maxRow", 1), ("ui", {"maxRows": 1}), ("approvals.read", "never"), ("", 1)],
)
def test_a_change_that_would_be_corrected_is_refused(file: Path, key: str, value: Json) -> None:
    put(file, b"{}")
    with pytest.raises(ConfigError) as raised:
        update_file(file, {"ui.widget": "hidden", key: value})

    assert raised.value.pointer == key
    assert file.read_bytes() == b"{}"


def test_a_folder_in_the_files_place_is_refused(file: Path) -> None:
    file.mkdir(parents=True)
    with pytest.raises(ConfigError, match="is a folder"):
        update_file(file, {"ui.maxRows": 2})


def test_a_place_that_cannot_be_written_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be written"):
        update_file(tmp_path / "file" / "fabric.json", {"ui.maxRows": 2})


def test_a_lock_that_another_holds_is_waited_for_within_a_bound(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(file, b"{}")
    monkeypatch.setattr(rewrite, "LOCK_WAIT_S", 0.05)
    with FileLock(file.with_name(".fabric.json.lock")), pytest.raises(StoreError, match="locked"):
        update_file(file, {"ui.maxRows": 2})

    assert file.read_bytes() == b"{}"


WRITERS = {"a": "ui.maxRows", "b": "ui.refreshMs", "c": "ui.eventHistory", "d": "memory.maxSessions"}


def write_often(file: Path, key: str) -> None:
    for number in range(100, 120):
        update_file(file, {key: min(number, 20) if key == "ui.maxRows" else number})


@pytest.mark.requirement("config:rewrite:kept")
def test_writers_in_several_processes_lose_nothing(file: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write_often, args=(file, key)) for key in WRITERS.values()]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(timeout=30)

    assert [writer.exitcode for writer in writers] == [0, 0, 0, 0]
    assert json.loads(file.read_bytes()) == {
        "ui": {"maxRows": 20, "refreshMs": 119, "eventHistory": 119},
        "memory": {"maxSessions": 119},
    }
