import unicodedata
from pathlib import Path

import pytest

from tests.host.standalone.calling import Caller

pytestmark = pytest.mark.anyio


async def test_a_relative_path_starts_in_the_folder_of_the_call(caller: Caller):
    (caller.cwd / "sub").mkdir()
    (caller.cwd / "sub" / "a").write_text("here")
    assert await caller.text("read", path="./sub/../sub/a") == "here"


async def test_a_tilde_is_the_home_folder(caller: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a").write_text("home")
    assert await caller.text("read", path="~/a") == "home"


async def test_an_at_sign_is_part_of_the_name(caller: Caller):
    (caller.cwd / "@scope").write_text("at")
    assert await caller.text("read", path="@scope") == "at"


@pytest.mark.requirement("standalone:paths:nearest")
async def test_a_missing_file_is_told_with_the_nearest_name(caller: Caller):
    (caller.cwd / "README.md").touch()
    assert await caller.error("read", path="readme.md") == (
        "readme.md does not exist; did you mean README.md?"
    )


async def test_a_missing_folder_on_the_way_is_named(caller: Caller):
    (caller.cwd / "sources").mkdir()
    assert "did you mean sources?" in await caller.error("read", path="source/deep/a.py")
    assert await caller.error("read", path="zz/a") == (
        f"zz/a does not exist; there is no folder {caller.cwd}/zz"
    )


async def test_a_file_on_the_way_is_named(caller: Caller):
    (caller.cwd / "file").touch()
    assert f"{caller.cwd}/file is not a folder" in await caller.error("read", path="file/a")


async def test_a_link_that_leads_nowhere_is_told_as_such(caller: Caller):
    (caller.cwd / "link").symlink_to("gone")
    assert "it is a link to gone, which is not there" in await caller.error("read", path="link")


async def test_a_name_that_looks_the_same_but_is_written_otherwise_is_suggested(caller: Caller):
    composed = unicodedata.normalize("NFC", "übersicht.txt")
    decomposed = unicodedata.normalize("NFD", composed)
    (caller.cwd / decomposed).touch()
    assert f"did you mean {decomposed}?" in await caller.error("read", path=composed)


async def test_names_of_every_script_work_in_every_tool(caller: Caller):
    path = "папка/日本 語/😀 'q'.txt"
    await caller.text("write", path=path, content="alpha\n")
    await caller.text("edit", path=path, edits=[{"oldText": "alpha", "newText": "beta"}])
    assert await caller.text("read", path=path) == "beta\n"
    assert await caller.text("grep", pattern="beta") == f"{path}:1: beta"
    assert await caller.text("find", pattern="*.txt") == path
    assert await caller.text("ls", path="папка") == "日本 語/"


@pytest.mark.requirement("standalone:paths:nul")
@pytest.mark.parametrize("name", ["read", "ls", "grep", "find", "write"])
async def test_a_nul_in_a_path_is_refused(caller: Caller, name: str):
    reason = await caller.error(name, path="a\0b", pattern="x", content="x")
    assert "NUL character" in reason


async def test_an_empty_path_and_an_endless_one_are_refused(caller: Caller):
    assert "path is empty" in await caller.error("read", path="")
    assert "file name too long" in await caller.error("read", path="x" * 5000)
