import os

import pytest

from tests.host.standalone.calling import Caller

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("standalone:ls:names")
async def test_names_are_sorted_without_regard_to_case_and_folders_end_in_a_slash(caller: Caller):
    for name in ("b.txt", ".hidden", "A.txt", "ü"):
        (caller.cwd / name).touch()
    (caller.cwd / "Folder").mkdir()
    (caller.cwd / "c-link").symlink_to("Folder")
    (caller.cwd / "d-broken").symlink_to("nowhere")
    assert await caller.text("ls") == ".hidden\nA.txt\nb.txt\nc-link/\nd-broken\nFolder/\nü"


async def test_an_empty_folder_says_so(caller: Caller):
    assert await caller.text("ls", path=".") == "(the folder is empty)"


@pytest.mark.requirement("standalone:ls:limit")
async def test_a_list_stops_at_500_names_and_says_of_how_many(caller: Caller):
    for number in range(600):
        (caller.cwd / f"{number:03}").touch()
    result = await caller.call("ls")
    shown, notice = result.text.split("\n\n")
    assert shown.split("\n") == [f"{number:03}" for number in range(500)]
    assert notice == "[500 of 600 names shown (limit=500); list a folder below, or use find]"
    assert result.details == {"entryLimitReached": 500, "total": 600}


async def test_a_list_is_bounded_in_bytes_too(caller: Caller):
    for number in range(400):
        (caller.cwd / f"{number:03}{'x' * 200}").touch()
    assert "of 400 names shown (at most 50 KB)" in await caller.text("ls")


async def test_odd_names_take_one_line_each(caller: Caller):
    (caller.cwd / os.fsdecode(b"a\xff\nb")).touch()
    assert await caller.text("ls") == "a\ufffd\\nb"


async def test_what_is_no_folder_is_an_error(caller: Caller):
    (caller.cwd / "file").touch()
    os.mkfifo(caller.cwd / "pipe")
    assert await caller.error("ls", path="file") == "file is not a folder but a file; read it"
    assert "but a named pipe" in await caller.error("ls", path="pipe")
    assert "did you mean file?" in await caller.error("ls", path="files")
