"""`ls`: what is in a folder."""

import heapq
import os
import stat
from collections.abc import Iterable, Iterator

import anyio
import msgspec

from pi_fabric.host.standalone.call import ToolCall
from pi_fabric.host.standalone.limits import MAX_BYTES, counted, join_within, size
from pi_fabric.host.standalone.paths import kind, look_up, resolve, shown_name
from pi_fabric.protocol.host import ToolResult

# Pi's bound: enough for a folder that a person made.
DEFAULT_LIMIT = 500


class LsArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of `ls`."""

    path: str = "."
    limit: int = DEFAULT_LIMIT


async def ls(call: ToolCall) -> ToolResult:
    """List a folder: a name per line, sorted without regard to case, folders with `/`, hidden too."""
    return await anyio.to_thread.run_sync(_list, call)


def _list(call: ToolCall) -> ToolResult:
    args = call.arguments(LsArguments)
    path = resolve(call, args.path)
    mode = look_up(call, path, args.path).st_mode
    if not stat.S_ISDIR(mode):
        what = "a file; read it" if stat.S_ISREG(mode) else kind(mode)
        raise call.failed(f"{args.path} is not a folder but {what}")
    limit = max(1, args.limit)
    with os.scandir(path) as entries:
        passing = _Counted(entries)
        # nsmallest and not sorted: a folder of a million names is never held whole.
        kept = heapq.nsmallest(limit, passing, key=lambda entry: (entry.name.casefold(), entry.name))
    if not kept:
        return ToolResult(text="(the folder is empty)")
    return _result([_shown(entry) for entry in kept], total=passing.count, limit=limit)


def _result(lines: list[str], *, total: int, limit: int) -> ToolResult:
    text, shown = join_within(lines)
    if shown == total:
        return ToolResult(text=text)
    bound = f"limit={limit}" if shown == len(lines) else f"at most {size(MAX_BYTES)}"
    notice = f"[{shown:,} of {counted(total, 'name')} shown ({bound}); list a folder below, or use find]"
    return ToolResult(text=f"{text}\n\n{notice}", details={"entryLimitReached": shown, "total": total})


def _shown(entry: os.DirEntry[str]) -> str:
    try:
        is_folder = entry.is_dir()
    except OSError:
        is_folder = False
    return shown_name(entry.name) + ("/" if is_folder else "")


class _Counted:
    """Counts the entries that pass, and stops when the call is cancelled."""

    def __init__(self, entries: Iterable[os.DirEntry[str]]) -> None:
        self._entries = entries
        self.count = 0

    def __iter__(self) -> Iterator[os.DirEntry[str]]:
        for entry in self._entries:
            self.count += 1
            anyio.from_thread.check_cancelled()
            yield entry
