import os
from pathlib import Path

import pytest

from pi_fabric.base.files import write_atomic


def test_the_whole_content_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"a long old content")
    write_atomic(target, b"new")

    assert target.read_bytes() == b"new"


def test_nothing_else_is_left_in_the_folder(tmp_path: Path) -> None:
    write_atomic(tmp_path / "file", b"x")

    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_an_existing_file_keeps_its_permissions(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.touch(mode=0o640)
    target.chmod(0o640)
    write_atomic(target, b"x")

    assert target.stat().st_mode & 0o7777 == 0o640


def test_a_new_file_gets_the_permissions_that_the_umask_gives(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    write_atomic(tmp_path / "file", b"x")

    assert (tmp_path / "file").stat().st_mode == plain.stat().st_mode


def test_a_given_mode_is_set(tmp_path: Path) -> None:
    write_atomic(tmp_path / "file", b"x", mode=0o600)

    assert (tmp_path / "file").stat().st_mode & 0o7777 == 0o600


def test_a_symbolic_link_stays_and_its_target_is_written(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_atomic(link, b"new")

    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_reader_that_has_the_file_open_keeps_the_old_content(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"old")
    with target.open("rb") as reader:
        write_atomic(target, b"new")

        assert reader.read() == b"old"


def test_a_missing_folder_is_an_error_and_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_atomic(tmp_path / "missing" / "file", b"x")

    assert list(tmp_path.iterdir()) == []


def test_a_failed_replacement_leaves_no_temporary_file(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    target.mkdir()
    with pytest.raises(OSError, match=os.strerror(21)):
        write_atomic(target, b"x")

    assert list(tmp_path.iterdir()) == [target]
