import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from anyio.abc import ByteReceiveStream
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.errors import Unavailable
from pi_fabric.host.standalone import ripgrep
from pi_fabric.host.standalone.ripgrep import Ripgrep, TooLong, records
from tests.host.standalone.calling import Caller

pytestmark = pytest.mark.anyio
MARK = re.compile(rb"#(\d+)#")


class Pieces(ByteReceiveStream):
    """A stream that comes in the given pieces."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._pieces = [piece for piece in pieces if piece]

    async def receive(self, max_bytes: int = 65536) -> bytes:
        if not self._pieces:
            raise anyio.EndOfStream
        return self._pieces.pop(0)

    async def aclose(self) -> None:
        self._pieces.clear()


@given(
    whole=st.lists(st.binary(max_size=30).map(lambda data: data.replace(b"\n", b"")), max_size=6),
    size=st.integers(1, 40),
)
async def test_records_are_the_same_however_the_stream_is_cut(whole: list[bytes], size: int):
    data = b"".join(record + b"\n" for record in whole)
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    assert [record async for record in records(Pieces(pieces), end=b"\n", max_bytes=30)] == whole


@given(before=st.integers(0, 300), size=st.integers(1, 500))
async def test_a_record_that_is_too_long_keeps_its_head_and_its_mark(before: int, size: int):
    data = b"first\n" + b"x" * before + b"#42#" + b"y" * 1000 + b"\nlast\n"
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    first, long, last = [
        record async for record in records(Pieces(pieces), end=b"\n", max_bytes=10, mark=MARK)
    ]
    assert (first, last) == (b"first", b"last")
    assert isinstance(long, TooLong)
    assert long.head == (b"x" * before + b"#42#yyyyyyyyyyyyy")[:10]
    assert long.marked is not None
    assert long.marked[1] == b"42"


@pytest.mark.requirement("standalone:ripgrep:wheel")
async def test_the_wheels_ripgrep_is_used_when_none_is_on_path(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/nowhere")
    program = await Ripgrep().locate()
    assert program.parent == Path(sys.executable).parent


async def test_a_program_of_that_name_that_is_something_else_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    for number, script in enumerate(("echo rg 1.0", "echo ripgrep 9.0.0", "exit 1", "sleep 300")):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "rg").write_text(f"#!/bin/sh\n{script}\n")
        (folder / "rg").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
        monkeypatch.setattr(ripgrep, "VERSION_TIMEOUT_S", 0.5)
        with anyio.fail_after(10):
            assert (await Ripgrep().locate()).parent == Path(sys.executable).parent


@pytest.mark.requirement("standalone:ripgrep:missing")
async def test_without_any_ripgrep_the_tools_say_how_to_get_it(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(ripgrep, "WHEEL", "no-such-distribution")
    with pytest.raises(Unavailable, match="pip install no-such-distribution"):
        await caller.call("grep", pattern="x")
    with pytest.raises(Unavailable):
        await caller.call("find", pattern="x")


async def test_the_users_own_ripgrep_settings_do_not_count(caller: Caller, monkeypatch: pytest.MonkeyPatch):
    settings = caller.cwd / "settings"
    settings.write_text("--invert-match\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", os.fspath(settings))
    (caller.cwd / "a").write_text("x\ny\n")
    assert await caller.text("grep", pattern="x", path="a") == "a:1: x"


@pytest.mark.parametrize("tool", ["find", "grep"])
async def test_a_search_that_something_ended_early_is_no_complete_answer(
    tool: str, caller: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "rg"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\n[ "$1" = --version ] && exec echo ripgrep 14.1.0\nkill -9 $$\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    with pytest.raises(Unavailable, match="ripgrep was ended by signal 9"):
        await caller.call(tool, pattern="x")
