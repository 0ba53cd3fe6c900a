import os
import stat
from pathlib import Path

import pytest

from pi_fabric.base.clock import FakeClock
from pi_fabric.execution.spill import MAX_AGE_MS, MAX_FILES, SpillFolder, spill_text


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "spill"


@pytest.mark.requirement("result:spill:private")
def test_the_file_and_its_folder_are_the_users_alone(folder: Path) -> None:
    path = SpillFolder(folder).write("whole\ntext")

    assert path is not None
    assert path.read_text() == "whole\ntext"
    assert (mode_of(path), mode_of(folder)) == (0o600, 0o700)


def test_without_any_temporary_folder_nothing_is_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> str:
        raise FileNotFoundError("no usable temporary directory")

    monkeypatch.setattr("tempfile.gettempdir", nowhere)

    assert spill_text("a") is None


def test_each_text_gets_its_own_file(folder: Path) -> None:
    spill = SpillFolder(folder)

    assert spill.write("a") != spill.write("b")


def test_a_folder_that_others_may_read_is_closed(folder: Path) -> None:
    folder.mkdir(mode=0o755)

    assert SpillFolder(folder).write("a") is not None
    assert mode_of(folder) == 0o700


@pytest.mark.requirement("result:spill:refused")
def test_a_link_in_place_of_the_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder.symlink_to(elsewhere)

    assert SpillFolder(folder).write("a") is None
    assert list(elsewhere.iterdir()) == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_somebody_else_is_refused(folder: Path) -> None:
    folder.mkdir()
    os.chown(folder, 12345, -1)

    assert SpillFolder(folder).write("a") is None


def test_a_file_in_place_of_the_folder_is_refused(folder: Path) -> None:
    folder.write_text("mine")

    assert SpillFolder(folder).write("a") is None
    assert folder.read_text() == "mine"


@pytest.mark.requirement("result:spill:bounded")
def test_old_files_are_swept_by_age_and_foreign_ones_left(folder: Path) -> None:
    clock = FakeClock(wall_ms=10 * MAX_AGE_MS)
    folder.mkdir()
    ages = {"result-old.txt": MAX_AGE_MS + 1_000, "result-new.txt": 1_000, "notes.txt": 5 * MAX_AGE_MS}
    for name, age_ms in ages.items():
        (folder / name).write_text("x")
        modified_s = (clock.wall_ms() - age_ms) / 1000
        os.utime(folder / name, (modified_s, modified_s))

    path = SpillFolder(folder, clock=clock).write("a")

    assert path is not None
    assert {file.name for file in folder.iterdir()} == {"result-new.txt", "notes.txt", path.name}


def test_only_so_many_files_are_kept(folder: Path) -> None:
    spill = SpillFolder(folder)
    written = [spill.write("a") for _ in range(MAX_FILES + 5)]

    files = list(folder.iterdir())
    assert len(files) == MAX_FILES
    assert written[-1] in files


def test_lone_surrogates_are_written_as_replacement_characters(folder: Path) -> None:
    path = SpillFolder(folder).write("a\ud83c")

    assert path is not None
    assert path.read_text() == "a\ufffd"


def test_the_users_folder_lies_in_the_systems_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    path = spill_text("a")

    assert path is not None
    assert path.parent == tmp_path / f"pi-fabric-{os.getuid()}"
