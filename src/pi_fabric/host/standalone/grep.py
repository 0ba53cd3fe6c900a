"""`grep`: lines that match, as `path:line: text`."""

import re

import anyio
import msgspec

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.host.standalone.call import ToolCall
from pi_fabric.host.standalone.findings import Findings, collect
from pi_fabric.host.standalone.globs import BadGlob, compile_glob, name_glob
from pi_fabric.host.standalone.limits import MAX_BYTES, MAX_LINE_UNITS, counted, size
from pi_fabric.host.standalone.ripgrep import Ripgrep
from pi_fabric.host.standalone.searching import Place, unreadable, where
from pi_fabric.protocol.host import ToolResult

# Pi's bound; a search that finds more is narrowed rather than read.
DEFAULT_LIMIT = 100
# More lines around each match than this are a case for `read`.
MAX_CONTEXT_LINES = 100


class GrepArguments(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Arguments of `grep`."""

    pattern: str
    path: str = "."
    glob: str | None = None
    """Files to search: about the name, or with a slash about the path; `!` in front leaves out."""
    ignore_case: bool = False
    literal: bool = False
    """Take the pattern as text, not as a regular expression."""
    context: int = 0
    """Lines shown before and after each match."""
    limit: int = DEFAULT_LIMIT
    """Matching lines."""


async def grep(call: ToolCall, *, ripgrep: Ripgrep) -> ToolResult:
    """Search files for a pattern: ignore files respected, binary files skipped, sorted by path."""
    args = call.arguments(GrepArguments)
    if "\0" in args.pattern or "\0" in (args.glob or ""):
        raise call.failed("the pattern holds a NUL character, which no text line does")
    if not args.pattern:
        raise call.failed("the pattern is empty; it would match every line")
    place = await anyio.to_thread.run_sync(where, call, args.path)
    findings = Findings(
        limit=max(1, args.limit),
        context=min(max(0, args.context), MAX_CONTEXT_LINES),
        wanted=None if place.name else _path_filter(call, args.glob),
    )
    options = _options(args, context=findings.context)
    async with ripgrep.run([*options, "--", f"./{place.name}"], cwd=place.folder) as run:
        is_stopped = await collect(run, findings)
        complaint = "" if is_stopped else await run.complaint()
    if not is_stopped and not findings.is_complete:
        raise call.failed(f"ripgrep refused the search: {complaint or 'it gave no reason'}")
    return _result(args, place, findings, trouble=unreadable(complaint))


def _options(args: GrepArguments, *, context: int) -> list[str]:
    options = ["--json", f"--regexp={args.pattern}", f"--context={context}"]
    if args.literal:
        options.append("--fixed-strings")
    if args.ignore_case:
        options.append("--ignore-case")
    if args.glob and args.glob.startswith("!"):
        options.append(f"--glob={args.glob}")
    elif args.glob and (name := name_glob(args.glob)):
        # As a file type, and not as --glob, which would overrule the ignore files.
        options += [f"--type-add=wanted:{name}", "--type=wanted"]
    return options


def _path_filter(call: ToolCall, glob: str | None) -> re.Pattern[str] | None:
    """What paths must fit besides the file type; None when the type says it all."""
    if not glob or glob.startswith("!"):
        return None
    try:
        pattern = compile_glob(glob)
    except BadGlob as error:
        raise call.failed(str(error)) from error
    return None if name_glob(glob) == glob else pattern


def _result(args: GrepArguments, place: Place, findings: Findings, *, trouble: str) -> ToolResult:
    if not findings.lines:
        scope = f" in files that fit {args.glob}" if args.glob else ""
        return ToolResult(text=f"No line in {place.shown} matches {args.pattern}{scope}{trouble}")
    details: JsonObject = {}
    notices: list[str] = []
    shown = counted(findings.matches, "matching line")
    if findings.is_over_bytes:
        details["bytesLimitReached"] = MAX_BYTES
        notices.append(f"stopped after {shown} at {size(MAX_BYTES)}; narrow the pattern or the path")
    elif not findings.is_complete:
        details["matchLimitReached"] = findings.matches
        notices.append(f"stopped after {shown}, there may be more; raise limit, or narrow the search")
    if findings.has_cut_lines:
        details["linesTruncated"] = True
        notices.append(f"long lines are cut to {MAX_LINE_UNITS} characters; read shows them whole")
    notice = f"\n\n[{'. '.join(notices)}]" if notices else ""
    return ToolResult(text="\n".join(findings.lines) + notice + trouble, details=details or None)
