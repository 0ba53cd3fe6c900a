import base64
import os
import socket
from pathlib import Path

import anyio
import psutil
import pytest

from pi_fabric.host.standalone.images import MAX_IMAGE_BYTES
from tests.host.standalone.calling import Caller

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
GIGABYTE = 1024**3

pytestmark = pytest.mark.anyio


def _lines(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(1, count + 1))


@pytest.mark.requirement("standalone:read:whole")
async def test_a_file_that_fits_comes_back_unchanged(caller: Caller):
    text = "\ufeffone\r\ntwo\u2028still two\n\nüñí 😀 no end"
    (caller.cwd / "a.txt").write_bytes(text.encode())
    assert await caller.text("read", path="a.txt") == text


async def test_an_empty_file_is_an_empty_text(caller: Caller):
    (caller.cwd / "empty").touch()
    assert await caller.text("read", path="empty") == ""


@pytest.mark.requirement("standalone:read:bounded")
async def test_a_long_file_stops_at_2000_lines_and_says_how_to_go_on(caller: Caller):
    (caller.cwd / "long").write_text(_lines(5000))
    result = await caller.call("read", path="long")
    assert result.text == _lines(2000) + "\n[lines 1-2,000 of 5,000 shown; continue with offset=2001]"
    assert result.details == {"firstLine": 1, "lastLine": 2000, "totalLines": 5000, "nextOffset": 2001}


@pytest.mark.requirement("standalone:read:continue")
async def test_following_the_offsets_reads_every_line_once(caller: Caller):
    whole = _lines(4321)
    (caller.cwd / "long").write_text(whole)
    offset, seen = 1, ""
    while offset:
        result = await caller.call("read", path="long", offset=offset)
        text = result.text.split("\n\n[")[0]
        seen += text if text.endswith("\n") else text + "\n"
        offset = result.details["nextOffset"] if result.details else None
    assert seen == whole


async def test_wide_lines_stop_at_50_kilobytes_before_a_line_that_does_not_fit(caller: Caller):
    (caller.cwd / "wide").write_text(("x" * 1023 + "\n") * 60)
    text = await caller.text("read", path="wide")
    assert text.startswith(("x" * 1023 + "\n") * 50 + "\n[lines 1-50 of 60 shown")


async def test_a_window_starts_at_the_offset_and_has_at_most_limit_lines(caller: Caller):
    (caller.cwd / "a").write_text(_lines(9))
    text = await caller.text("read", path="a", offset=4, limit=2)
    assert text == "line 4\nline 5\n\n[lines 4-5 of 9 shown; continue with offset=6]"
    assert await caller.text("read", path="a", offset=8, limit=2) == "line 8\nline 9\n"


@pytest.mark.requirement("standalone:read:past-end")
async def test_an_offset_behind_the_last_line_is_an_error_that_names_the_length(caller: Caller):
    (caller.cwd / "a").write_text(_lines(3))
    assert await caller.error("read", path="a", offset=4) == "offset 4 is past the end: a has 3 lines"


@pytest.mark.requirement("standalone:read:long-line")
async def test_a_line_that_alone_is_too_long_is_cut_with_a_mark(caller: Caller):
    (caller.cwd / "it's one.json").write_text("é" * 60_000 + "\nnext\n")
    text = await caller.text("read", path="it's one.json")
    line, mark, more = text.split("\n\n")
    assert line == "é" * 25_600
    assert mark.startswith("[line 1 is cut at 50 KB; the rest of it with bash: ")
    command = mark.rpartition("with bash: ")[2].removesuffix("]")
    rest = await caller.text("bash", command=f"{command} | wc -c")
    assert int(rest) == 2 * (60_000 - 25_600) + 1
    assert more == "[lines 1-1 of 2 shown; continue with offset=2]"


@pytest.mark.requirement("standalone:read:not-utf8")
async def test_bytes_that_are_not_utf8_are_replaced_and_said(caller: Caller):
    (caller.cwd / "latin").write_bytes("naïve\n".encode("latin-1"))
    text = await caller.text("read", path="latin")
    assert text.startswith("na\ufffdve\n\n[some bytes are not UTF-8")


async def test_a_replacement_character_that_was_written_as_such_is_no_bad_byte(caller: Caller):
    (caller.cwd / "fine").write_text("a\ufffdb\n")
    assert await caller.text("read", path="fine") == "a\ufffdb\n"


async def test_a_binary_file_is_refused_with_its_size(caller: Caller):
    (caller.cwd / "a.bin").write_bytes(b"\x7fELF\0" * 1000)
    assert "binary file of 4.9 KB" in await caller.error("read", path="a.bin")


async def test_utf16_text_is_refused_with_how_to_convert_it(caller: Caller):
    (caller.cwd / "a.txt").write_text("hello", encoding="utf-16")
    assert "iconv -f UTF-16" in await caller.error("read", path="a.txt")


@pytest.mark.requirement("standalone:read:image")
@pytest.mark.parametrize(
    ("head", "mime_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0" + bytes(20), "image/jpeg"),
        (b"GIF89a" + bytes(20), "image/gif"),
        (b"RIFF\0\0\0\0WEBP" + bytes(20), "image/webp"),
    ],
)
async def test_an_image_is_told_by_its_bytes_and_returned_whole(caller: Caller, head: bytes, mime_type: str):
    (caller.cwd / "no-suffix").write_bytes(head)
    result = await caller.call("read", path="no-suffix")
    (image,) = result.images
    assert (image.mime_type, base64.b64decode(image.data)) == (mime_type, head)
    assert mime_type in result.text


async def test_an_image_that_no_provider_takes_is_refused(caller: Caller):
    path = caller.cwd / "big.png"
    path.write_bytes(PNG)
    os.truncate(path, MAX_IMAGE_BYTES + 1)
    assert "make a smaller copy" in (await caller.error("read", path="big.png")).lower()


@pytest.mark.requirement("standalone:read:huge")
async def test_the_first_window_of_a_gigabyte_costs_no_memory(caller: Caller):
    path = caller.cwd / "huge.log"
    path.write_text(_lines(3000))
    os.truncate(path, GIGABYTE)
    before = psutil.Process().memory_info().rss
    with anyio.fail_after(10):
        text = await caller.text("read", path="huge.log", limit=10)
    assert text.startswith("line 1\n")
    assert text.endswith("[lines 1-10 shown; continue with offset=11]")
    assert psutil.Process().memory_info().rss - before < 32 * 1024 * 1024


async def test_a_read_deep_into_a_huge_file_can_be_cancelled(caller: Caller):
    path = caller.cwd / "huge.log"
    path.write_text(_lines(3000))
    os.truncate(path, 64 * GIGABYTE)
    with anyio.fail_after(10):
        with anyio.move_on_after(0.05) as scope:
            await caller.call("read", path="huge.log", offset=1_000_000)
    assert scope.cancelled_caught


@pytest.mark.requirement("standalone:read:special")
async def test_a_named_pipe_is_refused_and_does_not_hang(caller: Caller):
    os.mkfifo(caller.cwd / "pipe")
    with anyio.fail_after(5):
        assert await caller.error("read", path="pipe") == (
            "pipe is a named pipe; only regular files are read"
        )


async def test_folders_devices_and_sockets_are_refused(caller: Caller, tmp_path: Path):
    (caller.cwd / "folder").mkdir()
    assert "list it with ls" in await caller.error("read", path="folder")
    assert "is a device" in await caller.error("read", path="/dev/zero")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        assert "is a socket" in await caller.error("read", path="../s")


async def test_a_file_of_the_system_that_tells_no_size_is_read(caller: Caller):
    assert "Name:" in await caller.text("read", path="/proc/self/status")
