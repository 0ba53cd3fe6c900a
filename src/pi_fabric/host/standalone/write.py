"""`write`: a whole file, replaced atomically."""

import os
from pathlib import Path

import anyio
import msgspec

from pi_fabric.base.jsonvalue import JsonObject, scrub
from pi_fabric.host.standalone import text_file
from pi_fabric.host.standalone.call import ToolCall
from pi_fabric.host.standalone.diff import diff_texts
from pi_fabric.host.standalone.limits import size
from pi_fabric.host.standalone.locks import PathLocks
from pi_fabric.host.standalone.paths import look_up, resolve
from pi_fabric.protocol.host import ToolResult

# Rewriting a larger file is no change that a person would review line by line.
MAX_COMPARED_BYTES = 1024 * 1024


class WriteArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of `write`."""

    path: str
    content: str


async def write(call: ToolCall, *, locks: PathLocks) -> ToolResult:
    """Create or replace a file, with the folders above it; says whether it was there before."""
    args = call.arguments(WriteArguments)
    async with locks.holding(resolve(call, args.path)):
        return await anyio.to_thread.run_sync(_write, call, args)


def _write(call: ToolCall, args: WriteArguments) -> ToolResult:
    path = resolve(call, args.path)
    if args.path.endswith("/"):
        raise call.failed(f"{args.path} names a folder; name the file in it")
    # A link that leads nowhere yet is written through: its target is created.
    target = Path(os.path.realpath(path))
    exists = target.exists()
    data = args.content.encode()
    details: JsonObject = {"created": not exists, "bytes": len(data)}
    if exists:
        text_file.check_writable(call, path, args.path, look_up(call, path, args.path))
        details["diff"] = _diff(target, args)
    else:
        _make_folder(call, target.parent)
    text_file.store(call, path, args.path, data, expected=None)
    done = "replaced" if exists else "created"
    return ToolResult(text=f"{args.path} {done}, {size(len(data))}", details=details)


def _make_folder(call: ToolCall, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise call.failed(f"{folder} cannot be created: something on its way is not a folder") from error


def _diff(target: Path, args: WriteArguments) -> str | None:
    """What changes; None when the old file is too large to compare or cannot be read."""
    try:
        if target.stat().st_size > MAX_COMPARED_BYTES:
            return None
        old = target.read_bytes().decode("utf-8", "replace")
    except OSError:
        return None
    return scrub(diff_texts(args.path, old, args.content).text)
