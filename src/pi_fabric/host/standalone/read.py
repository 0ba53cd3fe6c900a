"""`read`: a bounded window of a text file, or a whole image."""

import os
import shlex
import stat
from collections.abc import Iterator
from io import FileIO
from pathlib import Path

import anyio
import msgspec

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.host.standalone.call import ToolCall
from pi_fabric.host.standalone.images import MAX_IMAGE_BYTES, image_block, image_type
from pi_fabric.host.standalone.limits import MAX_BYTES, MAX_LINES, counted, size
from pi_fabric.host.standalone.paths import kind, look_up, resolve
from pi_fabric.host.standalone.window import PastEnd, Window, take_window
from pi_fabric.protocol.host import ToolResult

READ_BYTES = 256 * 1024
# Where git looks for a NUL byte to call a file binary.
SNIFFED_BYTES = 8_000


class ReadArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of `read`."""

    path: str
    offset: int = 1
    """First line, from 1."""
    limit: int = MAX_LINES


async def read(call: ToolCall) -> ToolResult:
    """Read a file; a text that does not fit ends with how to go on, an image comes as a block."""
    return await anyio.to_thread.run_sync(_read, call)


def _read(call: ToolCall) -> ToolResult:
    args = call.arguments(ReadArguments)
    path = resolve(call, args.path)
    mode = look_up(call, path, args.path).st_mode
    _refuse_unless_file(call, args.path, mode)
    with _open(path) as file:
        info = os.fstat(file.fileno())
        _refuse_unless_file(call, args.path, info.st_mode)
        head = file.read(SNIFFED_BYTES) or b""
        if mime_type := image_type(head):
            return _image(call, args.path, file, info.st_size, mime_type)
        if b"\0" in head:
            raise call.failed(_binary(args.path, head, info.st_size))
        window = take_window(
            _chunks(head, file), skip=max(0, args.offset - 1), limit=min(max(1, args.limit), MAX_LINES)
        )
    return _text(call, args, window)


def _open(path: Path) -> FileIO:
    # Not blocking: should the file become a named pipe after the look-up, nothing hangs.
    return FileIO(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "r")


def _refuse_unless_file(call: ToolCall, given: str, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise call.failed(f"{given} is a folder; list it with ls")
    if not stat.S_ISREG(mode):
        raise call.failed(f"{given} is {kind(mode)}; only regular files are read")


def _chunks(head: bytes, file: FileIO) -> Iterator[bytes]:
    chunk = head
    while chunk:
        yield chunk
        anyio.from_thread.check_cancelled()
        chunk = file.read(READ_BYTES) or b""


def _image(call: ToolCall, given: str, file: FileIO, length: int, mime_type: str) -> ToolResult:
    if length > MAX_IMAGE_BYTES:
        raise call.failed(
            f"{given} is an image of {size(length)}; at most {size(MAX_IMAGE_BYTES)} can be shown."
            " Make a smaller copy and read that."
        )
    file.seek(0)
    data = file.read(MAX_IMAGE_BYTES) or b""
    return ToolResult(
        text=f"[image {given}, {mime_type}, {size(len(data))}]", images=(image_block(data, mime_type),)
    )


def _binary(given: str, head: bytes, length: int) -> str:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return f"{given} is UTF-16 text; convert it first: iconv -f UTF-16 -t UTF-8"
    return f"{given} is a binary file of {size(length)}; look at it with bash, such as file or xxd"


def _text(call: ToolCall, args: ReadArguments, window: Window | PastEnd) -> ToolResult:
    if isinstance(window, PastEnd):
        length = counted(window.total_lines, "line")
        raise call.failed(f"offset {args.offset:,} is past the end: {args.path} has {length}")
    text = window.data.decode("utf-8", "replace")
    notices = _notices(args, window)
    if not notices:
        return ToolResult(text=text)
    details = _details(args, window) if window.has_more else None
    return ToolResult(text="\n\n".join([text.removesuffix("\n"), *notices]), details=details)


def _notices(args: ReadArguments, window: Window) -> list[str]:
    first = max(1, args.offset)
    last = first + window.lines - 1
    notices: list[str] = []
    if window.is_cut_line:
        rest = f"sed -n {first}p {shlex.quote(args.path)} | cut -b {len(window.data) + 1}-"
        notices.append(f"[line {first:,} is cut at {size(MAX_BYTES)}; the rest of it with bash: {rest}]")
    if window.has_more and window.total_lines != last:
        of = f" of {window.total_lines:,}" if window.total_lines is not None else ""
        notices.append(f"[lines {first:,}-{last:,}{of} shown; continue with offset={last + 1}]")
    if not _is_utf8(window.data):
        notices.append("[some bytes are not UTF-8; they are shown as \ufffd and cannot be matched by edit]")
    return notices


def _details(args: ReadArguments, window: Window) -> JsonObject:
    first = max(1, args.offset)
    return {
        "firstLine": first,
        "lastLine": first + window.lines - 1,
        "totalLines": window.total_lines,
        "nextOffset": None if window.total_lines == first + window.lines - 1 else first + window.lines,
    }


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
