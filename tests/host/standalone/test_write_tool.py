import os

import anyio
import pytest

from tests.host.standalone.calling import Caller, content, permissions

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("standalone:write:created")
async def test_a_new_file_is_created_with_the_folders_above_it(caller: Caller):
    result = await caller.call("write", path="a/b/c.txt", content="héllo\n")
    assert content(caller.cwd / "a/b/c.txt") == "héllo\n".encode()
    assert (result.text, result.details) == (
        "a/b/c.txt created, 7 bytes",
        {"created": True, "bytes": 7},
    )


@pytest.mark.requirement("standalone:write:replaced")
async def test_a_file_that_was_there_is_replaced_and_the_change_shown(caller: Caller):
    path = caller.cwd / "a"
    path.write_text("one\ntwo\n")
    path.chmod(0o640)
    result = await caller.call("write", path="a", content="one\n2\n")
    assert result.text == "a replaced, 6 bytes"
    assert result.details == {
        "created": False,
        "bytes": 6,
        "diff": "--- a\n+++ a\n@@ -1,2 +1,2 @@\n one\n-two\n+2",
    }
    assert permissions(path) == 0o640


async def test_content_is_written_byte_for_byte(caller: Caller):
    text = "\ufeffa\r\nb\u2028c\0d 😀"
    await caller.text("write", path="a", content=text)
    assert content(caller.cwd / "a") == text.encode()
    await caller.text("write", path="a", content="")
    assert content(caller.cwd / "a") == b""


async def test_a_lone_surrogate_is_written_as_the_replacement_character(caller: Caller):
    await caller.text("write", path="a", content="x\ud800y")
    assert content(caller.cwd / "a") == "x\ufffdy".encode()


async def test_a_link_is_written_through_also_when_it_leads_nowhere_yet(caller: Caller):
    link = caller.cwd / "link"
    link.symlink_to("folder/target")
    await caller.text("write", path="link", content="new")
    assert (link.is_symlink(), content(caller.cwd / "folder/target")) == (True, b"new")


async def test_what_is_no_file_is_not_replaced(caller: Caller):
    (caller.cwd / "folder").mkdir()
    os.mkfifo(caller.cwd / "pipe")
    (caller.cwd / "file").touch()
    with anyio.fail_after(5):
        assert "is a folder" in await caller.error("write", path="folder", content="x")
        assert "is a named pipe" in await caller.error("write", path="pipe", content="x")
        assert "names a folder" in await caller.error("write", path="new/", content="x")
        assert "not a folder" in await caller.error("write", path="file/below", content="x")


async def test_no_temporary_file_is_left_when_writing_fails(caller: Caller):
    assert await caller.error("write", path="x" * 300, content="x")
    assert not list(caller.cwd.iterdir())


async def test_a_large_file_is_replaced_without_a_diff(caller: Caller):
    (caller.cwd / "a").write_bytes(b"x\n" * 1_000_000)
    details = await caller.details("write", path="a", content="new")
    assert details == {"created": False, "bytes": 3, "diff": None}


@pytest.mark.requirement("standalone:write:parallel")
async def test_parallel_writes_leave_one_of_the_contents_whole(caller: Caller):
    async with anyio.create_task_group() as group:
        for letter in "abcdefgh":
            group.start_soon(lambda letter=letter: caller.text("write", path="a", content=letter * 100_000))
    data = content(caller.cwd / "a")
    assert (len(data), len(set(data))) == (100_000, 1)
