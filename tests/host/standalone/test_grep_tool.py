import os

import anyio
import psutil
import pytest

from pi_fabric.host.standalone.limits import MAX_BYTES
from tests.host.standalone.calling import Caller, until

pytestmark = pytest.mark.anyio


def _fill(caller: Caller, **files: str | bytes) -> None:
    for name, text in files.items():
        path = caller.cwd / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())


@pytest.mark.requirement("standalone:grep:lines")
async def test_matches_are_told_with_path_and_line_sorted_by_path(caller: Caller):
    _fill(caller, b_txt="no\nfoo one\n", a_txt="foo two", c__d_txt="x foo\r\n")
    assert await caller.text("grep", pattern="foo") == (
        "a.txt:1: foo two\nb.txt:2: foo one\nc/d.txt:1: x foo"
    )


async def test_paths_start_at_the_searched_folder_and_a_file_is_told_by_its_name(caller: Caller):
    _fill(caller, sub__a_txt="foo")
    assert await caller.text("grep", pattern="foo", path="sub") == "a.txt:1: foo"
    assert await caller.text("grep", pattern="foo", path="sub/a.txt") == "a.txt:1: foo"


@pytest.mark.requirement("standalone:grep:none")
async def test_no_match_is_an_answer_and_not_an_error(caller: Caller):
    _fill(caller, a_txt="x")
    assert await caller.text("grep", pattern="foo") == "No line in . matches foo"
    assert await caller.text("grep", pattern="x", glob="*.py") == (
        "No line in . matches x in files that fit *.py"
    )


@pytest.mark.requirement("standalone:grep:context")
async def test_context_lines_are_marked_otherwise(caller: Caller):
    _fill(caller, a="1\n2\nfoo\n4\n5\n")
    assert await caller.text("grep", pattern="foo", context=1) == "a-2- 2\na:3: foo\na-4- 4"


async def test_the_context_behind_the_last_allowed_match_is_kept(caller: Caller):
    _fill(caller, a="foo\n2\n3\n4\nfoo\n")
    text = await caller.text("grep", pattern="foo", context=2, limit=1)
    assert text.split("\n\n")[0] == "a:1: foo\na-2- 2\na-3- 3"


@pytest.mark.requirement("standalone:grep:limit")
async def test_a_search_stops_at_100_matches_and_says_so(caller: Caller):
    _fill(caller, a="foo\n" * 500)
    result = await caller.call("grep", pattern="foo")
    shown, notice = result.text.split("\n\n")
    assert shown.count("\n") == 99
    assert notice.startswith("[stopped after 100 matching lines, there may be more")
    assert result.details == {"matchLimitReached": 100}


async def test_fewer_matches_than_the_limit_are_all_there_is(caller: Caller):
    _fill(caller, a="foo\n" * 3)
    result = await caller.call("grep", pattern="foo", limit=4)
    assert (result.text.count("foo"), result.details) == (3, None)


@pytest.mark.requirement("standalone:grep:bytes")
async def test_a_result_is_bounded_in_bytes_too(caller: Caller):
    _fill(caller, a=("foo" + "x" * 400 + "\n") * 5000)
    result = await caller.call("grep", pattern="foo", limit=5000)
    assert len(result.text.split("\n\n")[0].encode()) <= MAX_BYTES
    assert result.details == {"bytesLimitReached": MAX_BYTES}


@pytest.mark.requirement("standalone:grep:long-line")
async def test_a_long_line_is_shown_around_its_match(caller: Caller):
    _fill(caller, a_js="é" * 5000 + "foo" + "y" * 5000)
    result = await caller.call("grep", pattern="foo")
    line, notice = result.text.split("\n\n")
    assert line == f"a.js:1: …{'é' * 125}foo{'y' * 372}…"
    assert notice == "[long lines are cut to 500 characters; read shows them whole]"
    assert result.details == {"linesTruncated": True}


async def test_a_line_of_megabytes_is_named_and_not_shown(caller: Caller):
    _fill(caller, a_js="one\ntwo\n" + "foo " * 1_000_000 + "\nfoo\n")
    text = await caller.text("grep", pattern="foo")
    assert text.split("\n\n")[0] == ("a.js:3: (a line of more than 256 KB, not shown)\na.js:4: foo")


@pytest.mark.requirement("standalone:grep:bad-pattern")
async def test_a_pattern_that_cannot_be_read_is_an_error_with_the_reason(caller: Caller):
    reason = await caller.error("grep", pattern="foo(")
    assert "unclosed group" in reason
    assert "NUL" in await caller.error("grep", pattern="a\0b")
    assert "empty" in await caller.error("grep", pattern="")
    assert "not closed" in await caller.error("grep", pattern="x", glob="*.{ts")


@pytest.mark.requirement("standalone:grep:dash")
async def test_a_pattern_and_a_path_may_start_with_a_dash(caller: Caller):
    _fill(caller, **{"-x": "--files\n"})
    assert await caller.text("grep", pattern="--files", path="-x") == "-x:1: --files"


async def test_a_literal_pattern_is_no_regular_expression(caller: Caller):
    _fill(caller, a="f(x)\nfx\n")
    assert await caller.text("grep", pattern="f(x)", literal=True) == "a:1: f(x)"
    assert await caller.text("grep", pattern="F(X)", literal=True, ignoreCase=True) == "a:1: f(x)"
    assert "No line" in await caller.text("grep", pattern="FX")


@pytest.mark.requirement("standalone:grep:ignore-files")
async def test_ignore_files_count_without_a_repository_and_also_for_a_glob(caller: Caller):
    _fill(
        caller,
        _gitignore="*.log\nbuild/\n",
        a_log="foo",
        build__b_txt="foo",
        c_txt="foo",
        d__e_log="foo",
        _git__config="foo",
        _hidden="foo",
    )
    assert await caller.text("grep", pattern="foo") == ".hidden:1: foo\nc.txt:1: foo"
    assert "No line" in await caller.text("grep", pattern="foo", glob="*.log")
    assert "No line" in await caller.text("grep", pattern="foo", glob="build/**")
    assert await caller.text("grep", pattern="foo", path="a.log") == "a.log:1: foo"


@pytest.mark.requirement("standalone:grep:glob")
async def test_a_glob_is_about_the_name_the_path_or_what_to_leave_out(caller: Caller):
    _fill(caller, a_ts="foo", a_js="foo", src__b_ts="foo", src__c__d_ts="foo", src__e_js="foo")

    async def files(glob: str) -> set[str]:
        text = await caller.text("grep", pattern="foo", glob=glob)
        return {line.split(":")[0] for line in text.split("\n")}

    assert await files("*.js") == {"a.js", "src/e.js"}
    assert await files("src/*.ts") == {"src/b.ts"}
    assert await files("src/**") == {"src/b.ts", "src/c/d.ts", "src/e.js"}
    assert await files("{src/c,x}/*.ts") == {"src/c/d.ts"}
    assert await files("!*.ts") == {"a.js", "src/e.js"}
    assert await files("!src") == {"a.js", "a.ts"}


async def test_text_in_other_encodings_and_odd_names_are_told_as_text(caller: Caller):
    name = os.fsdecode(b"odd\xff\nname")
    (caller.cwd / name).write_bytes(b"foo \xff\n")
    (caller.cwd / "utf16").write_text("foo ü\n", encoding="utf-16")
    assert await caller.text("grep", pattern="foo") == "odd\ufffd\\nname:1: foo \ufffd\nutf16:1: foo ü"


async def test_a_binary_file_is_not_searched(caller: Caller):
    _fill(caller, a_bin=b"\0\0foo\n", b="foo\n")
    assert await caller.text("grep", pattern="foo") == "b:1: foo"


async def test_a_named_pipe_is_refused_and_one_in_a_folder_is_passed_over(caller: Caller):
    os.mkfifo(caller.cwd / "pipe")
    _fill(caller, a="foo\n")
    with anyio.fail_after(5):
        assert "is a named pipe" in await caller.error("grep", pattern="foo", path="pipe")
        assert await caller.text("grep", pattern="foo") == "a:1: foo"


@pytest.mark.requirement("standalone:grep:cancel")
async def test_a_cancelled_search_leaves_no_process(caller: Caller):
    huge = caller.cwd / "huge"
    huge.write_text("text\n" * 3000)
    os.truncate(huge, 64 * 1024**3)

    def searching() -> list[psutil.Process]:
        return [child for child in psutil.Process().children() if "--json" in child.cmdline()]

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: caller.call("grep", pattern="zz+top", path="huge"))
            await until(searching)
            group.cancel_scope.cancel()
    assert not searching()


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
async def test_what_could_not_be_searched_is_said(caller: Caller):
    _fill(caller, a="foo\n", locked="foo\n")
    (caller.cwd / "locked").chmod(0)
    text = await caller.text("grep", pattern="foo")
    assert text.startswith("a:1: foo\n\n[1 place could not be searched, such as ./locked")
