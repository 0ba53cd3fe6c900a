"""`find`: files by glob, ignore files respected."""

import os
import re
from contextlib import aclosing

import anyio
import msgspec

from pi_fabric.host.standalone.call import ToolCall
from pi_fabric.host.standalone.globs import BadGlob, compile_glob
from pi_fabric.host.standalone.limits import MAX_BYTES, counted, join_within, size
from pi_fabric.host.standalone.paths import shown_name
from pi_fabric.host.standalone.ripgrep import Ripgrep, Run, TooLong, records
from pi_fabric.host.standalone.searching import Place, unreadable, where
from pi_fabric.protocol.host import ToolResult

# Pi's bound; a list longer than this is not read but filtered, which a narrower glob does better.
DEFAULT_LIMIT = 1_000
# The longest path that Linux takes is 4,096 bytes.
MAX_PATH_BYTES = 16 * 1024


class FindArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of `find`."""

    pattern: str
    """Glob."""
    path: str = "."
    limit: int = DEFAULT_LIMIT


async def find(call: ToolCall, *, ripgrep: Ripgrep) -> ToolResult:
    """List the files below a folder that fit a glob: sorted, a path per line, from that folder."""
    args = call.arguments(FindArguments)
    try:
        pattern = compile_glob(args.pattern)
    except BadGlob as error:
        raise call.failed(str(error)) from error
    place = await anyio.to_thread.run_sync(where, call, args.path)
    if place.name:
        raise call.failed(f"{args.path} is a file; find looks in a folder")
    limit = max(1, args.limit)
    async with ripgrep.run(["--files", "--null"], cwd=place.folder) as run:
        paths, has_more = await _matches(run, pattern, limit)
        trouble = "" if has_more else unreadable(await run.complaint())
    return _result(args, place, paths, has_more=has_more, trouble=trouble)


async def _matches(run: Run, pattern: re.Pattern[str], limit: int) -> tuple[list[str], bool]:
    paths: list[str] = []
    stream = records(run.stdout, end=b"\0", max_bytes=MAX_PATH_BYTES)
    async with aclosing(stream):
        async for record in stream:
            # No path is that long.
            path = "" if isinstance(record, TooLong) else os.fsdecode(record).removeprefix("./")
            if pattern.fullmatch(path) is None:
                continue
            if len(paths) == limit:
                return paths, True
            paths.append(path)
    return paths, False


def _result(
    args: FindArguments, place: Place, paths: list[str], *, has_more: bool, trouble: str
) -> ToolResult:
    if not paths:
        return ToolResult(text=f"No file in {place.shown} fits {args.pattern}{trouble}")
    text, shown = join_within(shown_name(path) for path in paths)
    if shown == len(paths) and not has_more:
        return ToolResult(text=text + trouble)
    bound = f"limit={len(paths)}" if shown == len(paths) else f"at most {size(MAX_BYTES)}"
    notice = f"[stopped after {counted(shown, 'file')} ({bound}); use a narrower pattern or path]"
    return ToolResult(text=f"{text}\n\n{notice}", details={"resultLimitReached": shown})
