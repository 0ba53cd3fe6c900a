import os

import pytest

from tests.host.standalone.calling import Caller

pytestmark = pytest.mark.anyio


def _touch(caller: Caller, *names: str) -> None:
    for name in names:
        path = caller.cwd / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


@pytest.mark.requirement("standalone:find:glob")
async def test_files_that_fit_are_listed_sorted_from_the_searched_folder(caller: Caller):
    _touch(caller, "b.ts", "a/z.ts", "a/b/c.ts", "a/d.js")
    assert await caller.text("find", pattern="*.ts") == "a/b/c.ts\na/z.ts\nb.ts"
    assert await caller.text("find", pattern="*.ts", path="a") == "b/c.ts\nz.ts"
    assert await caller.text("find", pattern="a/*") == "a/d.js\na/z.ts"


@pytest.mark.requirement("standalone:find:ignore-files")
async def test_hidden_files_are_found_but_not_gits_own_and_not_what_is_ignored(caller: Caller):
    _touch(caller, ".env", ".github/x.yml", ".git/config", "node_modules/m.js", "a.log", "a.js")
    (caller.cwd / ".gitignore").write_text("node_modules\n*.log\n")
    assert await caller.text("find", pattern="*") == ".env\n.github/x.yml\n.gitignore\na.js"
    assert await caller.text("find", pattern="*.log") == "No file in . fits *.log"
    assert await caller.text("find", pattern="node_modules/**") == "No file in . fits node_modules/**"


@pytest.mark.requirement("standalone:find:limit")
async def test_a_list_stops_at_1000_files_and_says_so(caller: Caller):
    _touch(caller, *(f"{number:04}" for number in range(1100)))
    result = await caller.call("find", pattern="*")
    shown, notice = result.text.split("\n\n")
    assert shown.split("\n") == [f"{number:04}" for number in range(1000)]
    assert notice == "[stopped after 1,000 files (limit=1000); use a narrower pattern or path]"
    assert result.details == {"resultLimitReached": 1000}


async def test_exactly_as_many_files_as_the_limit_are_all_there_is(caller: Caller):
    _touch(caller, "a", "b")
    result = await caller.call("find", pattern="*", limit=2)
    assert (result.text, result.details) == ("a\nb", None)


async def test_a_list_of_long_names_is_bounded_in_bytes(caller: Caller):
    _touch(caller, *(f"{number:04}{'x' * 200}" for number in range(300)))
    assert "files (at most 50 KB); use a narrower" in await caller.text("find", pattern="*")


async def test_odd_names_take_one_line_each(caller: Caller):
    _touch(caller, os.fsdecode(b"a\xff\nb"), "c d")
    assert await caller.text("find", pattern="*") == "a\ufffd\\nb\nc d"


async def test_a_bad_glob_or_place_is_an_error(caller: Caller):
    _touch(caller, "file")
    assert "not closed" in await caller.error("find", pattern="*.[")
    assert "file is a file; find looks in a folder" in await caller.error("find", pattern="*", path="file")
    assert "did you mean file?" in await caller.error("find", pattern="*", path="files")
