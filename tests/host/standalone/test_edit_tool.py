import os
from collections.abc import Callable

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pi_fabric.base.jsonvalue import Json
from pi_fabric.host.standalone import text_file
from tests.host.standalone.calling import Caller, content, permissions

pytestmark = pytest.mark.anyio


def _edit(old: str, new: str, **more: Json) -> Json:
    return {"oldText": old, "newText": new, **more}


@pytest.mark.requirement("standalone:edit:details")
async def test_an_edit_changes_the_file_and_shows_how(caller: Caller):
    path = caller.cwd / "a.py"
    path.write_text("one\ntwo\nthree\n")
    result = await caller.call("edit", path="a.py", edits=[_edit("two", "2")])
    assert content(path) == b"one\n2\nthree\n"
    assert result.text == "a.py: 1 place replaced"
    assert result.details == {
        "diff": "--- a.py\n+++ a.py\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three",
        "replacements": 1,
        "firstChangedLine": 2,
    }


@pytest.mark.requirement("standalone:edit:atomic")
async def test_one_edit_that_does_not_fit_leaves_the_whole_batch_undone(caller: Caller):
    path = caller.cwd / "a"
    path.write_text("one\ntwo\n")
    reason = await caller.error("edit", path="a", edits=[_edit("one", "1"), _edit("three", "3")])
    assert reason.startswith("a is unchanged: the oldText of edit 2 of 2 is not in the file")
    assert content(path) == b"one\ntwo\n"


async def test_edits_are_matched_against_the_file_as_it_was(caller: Caller):
    path = caller.cwd / "a"
    path.write_text("one two\n")
    await caller.text("edit", path="a", edits=[_edit("one", "two"), _edit("two", "one")])
    assert content(path) == b"two one\n"


@pytest.mark.requirement("standalone:edit:all")
async def test_all_counts_for_the_edit_that_asks_for_it(caller: Caller):
    path = caller.cwd / "a"
    path.write_text("x y x z\n")
    details = await caller.details("edit", path="a", edits=[_edit("x", "1", all=True), _edit("z", "3")])
    assert (content(path), details["replacements"]) == (b"1 y 1 3\n", 3)
    reason = await caller.error("edit", path="a", edits=[_edit("1", "2"), _edit("3", "4", all=True)])
    assert "there 2 times" in reason


@pytest.mark.requirement("standalone:edit:line-ends")
async def test_a_file_with_crlf_throughout_takes_lf_and_keeps_its_line_ends(caller: Caller):
    path = caller.cwd / "a"
    path.write_bytes(b"one\r\ntwo\r\nthree\r\n")
    await caller.text("edit", path="a", edits=[_edit("one\ntwo", "1\n2\n2.5"), _edit("three\r\n", "3\r\n")])
    assert content(path) == b"1\r\n2\r\n2.5\r\n3\r\n"


async def test_a_file_that_mixes_line_ends_is_matched_exactly(caller: Caller):
    path = caller.cwd / "a"
    path.write_bytes(b"one\r\ntwo\nthree\n")
    assert "mixes CRLF and LF" in await caller.error("edit", path="a", edits=[_edit("one\ntwo", "1")])
    await caller.text("edit", path="a", edits=[_edit("one\r\ntwo", "1")])
    assert content(path) == b"1\nthree\n"


@pytest.mark.requirement("standalone:edit:kept")
async def test_the_byte_order_mark_the_mode_and_foreign_bytes_stay(caller: Caller):
    path = caller.cwd / "run.sh"
    path.write_bytes(b"\xef\xbb\xbfecho \xff\xfe old\n")
    path.chmod(0o751)
    await caller.text("edit", path="run.sh", edits=[_edit("\ufeffecho ", "printf "), _edit("old", "néw")])
    assert content(path) == b"\xef\xbb\xbfprintf \xff\xfe n\xc3\xa9w\n"
    assert permissions(path) == 0o751


async def test_a_link_stays_a_link_and_its_target_is_edited(caller: Caller):
    target = caller.cwd / "target"
    target.write_text("old\n")
    link = caller.cwd / "link"
    link.symlink_to("target")
    await caller.text("edit", path="link", edits=[_edit("old", "new")])
    assert (link.is_symlink(), content(target)) == (True, b"new\n")


@pytest.mark.requirement("standalone:edit:parallel")
async def test_parallel_edits_of_one_file_lose_nothing(caller: Caller):
    path = caller.cwd / "a"
    path.write_text("".join(f"<{number}>\n" for number in range(40)))
    (caller.cwd / "same").symlink_to("a")
    async with anyio.create_task_group() as group:
        for number in range(40):
            name = ("a", "./a", "same")[number % 3]
            edits = [_edit(f"<{number}>", f"done {number}")]
            group.start_soon(lambda name=name, edits=edits: caller.text("edit", path=name, edits=edits))
    assert content(path).decode() == "".join(f"done {number}\n" for number in range(40))


@pytest.mark.requirement("standalone:edit:changed-meanwhile")
async def test_a_file_that_someone_else_changes_meanwhile_is_not_overwritten(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
):
    path = caller.cwd / "a"
    path.write_text("old\n")
    load = text_file.load

    def load_and_be_overtaken(*args: Json) -> text_file.TextFile:
        loaded = load(*args)
        path.write_text("old, and more\n")
        return loaded

    monkeypatch.setattr(text_file, "load", load_and_be_overtaken)
    reason = await caller.error("edit", path="a", edits=[_edit("old", "new")])
    assert reason == "a was changed by someone else meanwhile; nothing was written, read it again"
    assert content(path) == b"old, and more\n"


async def test_edits_that_change_nothing_are_an_error(caller: Caller):
    (caller.cwd / "a").write_text("same\n")
    assert "change nothing" in await caller.error("edit", path="a", edits=[_edit("same", "same")])
    assert "edits is empty" in await caller.error("edit", path="a", edits=[])


async def test_only_regular_files_of_bearable_size_are_edited(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
):
    os.mkfifo(caller.cwd / "pipe")
    (caller.cwd / "folder").mkdir()
    (caller.cwd / "large").write_text("old" * 100)
    monkeypatch.setattr(text_file, "MAX_EDITED_BYTES", 100)
    edits = [_edit("old", "new")]
    with anyio.fail_after(5):
        assert "is a named pipe" in await caller.error("edit", path="pipe", edits=edits)
        assert "is a folder" in await caller.error("edit", path="folder", edits=edits)
        assert "files of at most 100 bytes" in await caller.error("edit", path="large", edits=edits)
        assert "did you mean large?" in await caller.error("edit", path="largo", edits=edits)


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everything")
async def test_a_protected_file_is_not_replaced(caller: Caller):
    path = caller.cwd / "a"
    path.write_text("old\n")
    path.chmod(0o444)
    assert "write-protected" in await caller.error("edit", path="a", edits=[_edit("old", "new")])
    assert "write-protected" in await caller.error("write", path="a", content="new")


PIECE = st.text(alphabet="aé😀\n\r \ufeff", max_size=8)


def _with_crlf(text: str) -> str:
    return text.replace("\r", "").replace("\n", "\r\n")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(
    before=PIECE,
    after=PIECE,
    new=PIECE,
    prepare=st.sampled_from([str, _with_crlf]),
)
async def test_bytes_outside_the_edit_are_never_touched(
    caller: Caller, before: str, after: str, new: str, prepare: Callable[[str], str]
):
    before, after = prepare(before), prepare(after)
    path = caller.cwd / "any"
    path.write_bytes((before + "OLD" + after).encode())
    result = await caller.call("edit", path="any", edits=[_edit("OLD", new)])
    assert not result.is_error
    data = content(path)
    assert data.startswith(before.encode())
    assert data.endswith(after.encode())
    inner = data[len(before.encode()) : len(data) - len(after.encode())].decode()
    assert inner.replace("\r\n", "\n") == new.replace("\r\n", "\n")
