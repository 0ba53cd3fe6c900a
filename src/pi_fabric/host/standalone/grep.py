"""`grep`: lines that match, as `path:line: text`."""

import base64
import os
import re
from dataclasses import dataclass, field

import anyio
import msgspec

from pi_fabric.base.bounds import ELLIPSIS, take_units
from pi_fabric.base.jsonvalue import Json, JsonObject, decode, utf16_length
from pi_fabric.host.standalone.call import ToolCall
from pi_fabric.host.standalone.globs import BadGlob, compile_glob, name_glob
from pi_fabric.host.standalone.limits import MAX_BYTES, MAX_LINE_UNITS, size
from pi_fabric.host.standalone.paths import printable
from pi_fabric.host.standalone.ripgrep import Ripgrep, Run, TooLong, records
from pi_fabric.host.standalone.searching import Place, unreadable, where
from pi_fabric.protocol.host import ToolResult

# Pi's bound; a search that finds more is narrowed rather than read.
DEFAULT_LIMIT = 100
# More lines around each match than this are a case for `read`.
MAX_CONTEXT_LINES = 100
# A line that makes a longer record is named and not shown: minified files have lines of megabytes.
MAX_RECORD_BYTES = 256 * 1024
# Inside a JSON string quotes are escaped, so this cannot come from the text of a line.
_LINE_NUMBER = re.compile(rb'"\},"line_number":(\d+),"absolute_offset":')


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """One line of a file, ready to show."""

    path: str
    number: int
    text: str
    is_match: bool
    is_cut: bool = False

    @property
    def shown(self) -> str:
        """`path:line: text` for a match, `path-line- text` for its context."""
        mark = ":" if self.is_match else "-"
        return f"{printable(self.path)}{mark}{self.number}{mark} {self.text}"


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


@dataclass(slots=True, kw_only=True)
class _Findings:
    """Lines to show, collected until a bound is met."""

    limit: int
    """Matches."""
    context: int
    """Lines after the last match that still belong to it."""
    wanted: re.Pattern[str] | None
    """Paths to keep; None keeps all."""
    lines: list[str] = field(default_factory=list[str])
    matches: int = 0
    used_bytes: int = 0
    last_match: tuple[str, int] = ("", 0)
    """Path and line of the last match taken."""
    is_complete: bool = False
    """True when ripgrep came to its end."""
    is_over_bytes: bool = False
    has_cut_lines: bool = False

    def add(self, line: _Line) -> bool:
        """Take one line; False when the bounds leave no room for it or any other."""
        if self.wanted is not None and self.wanted.fullmatch(line.path) is None:
            return True
        if self.matches >= self.limit and not self._belongs_to_last(line):
            return False
        self.used_bytes += len(line.shown.encode()) + 1
        if self.used_bytes > MAX_BYTES:
            self.is_over_bytes = True
            return False
        if line.is_match:
            self.matches += 1
            self.last_match = (line.path, line.number)
        self.lines.append(line.shown)
        self.has_cut_lines |= line.is_cut
        # Without context nothing more can belong here: the search may end at once.
        return self.matches < self.limit or self.context > 0

    def _belongs_to_last(self, line: _Line) -> bool:
        path, number = self.last_match
        return not line.is_match and line.path == path and line.number <= number + self.context


async def grep(call: ToolCall, *, ripgrep: Ripgrep) -> ToolResult:
    """Search files for a pattern: ignore files respected, binary files skipped, sorted by path."""
    args = call.arguments(GrepArguments)
    if "\0" in args.pattern or "\0" in (args.glob or ""):
        raise call.failed("the pattern holds a NUL character, which no text line does")
    if not args.pattern:
        raise call.failed("the pattern is empty; it would match every line")
    place = await anyio.to_thread.run_sync(where, call, args.path)
    findings = _Findings(
        limit=max(1, args.limit),
        context=min(max(0, args.context), MAX_CONTEXT_LINES),
        wanted=None if place.name else _path_filter(call, args.glob),
    )
    options = _options(args, context=findings.context)
    async with ripgrep.run([*options, "--", f"./{place.name}"], cwd=place.folder) as run:
        is_stopped = await _collect(run, findings)
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


async def _collect(run: Run, findings: _Findings) -> bool:
    """Take lines until a bound is met; True when it was, and ripgrep may have more."""
    path = ""
    async for record in records(run.stdout, end=b"\n", max_bytes=MAX_RECORD_BYTES, mark=_LINE_NUMBER):
        if isinstance(record, TooLong):
            line = _too_long(path, record)
        else:
            event: JsonObject = decode(record)
            if event["type"] == "begin":
                path = _path(event)
            findings.is_complete |= event["type"] == "summary"
            line = _line(path, event) if event["type"] in ("match", "context") else None
        if line is not None and not findings.add(line):
            return True
    return False


def _path(event: JsonObject) -> str:
    return os.fsdecode(_bytes(event["data"]["path"])).removeprefix("./")


def _bytes(value: Json) -> bytes:
    # ripgrep writes base64 for what is not UTF-8.
    return value["text"].encode() if "text" in value else base64.b64decode(value["bytes"])


def _line(path: str, event: JsonObject) -> _Line:
    data: JsonObject = event["data"]
    raw = _bytes(data["lines"]).rstrip(b"\r\n")
    start = data["submatches"][0]["start"] if data["submatches"] else 0
    whole = raw.decode("utf-8", "replace")
    shown = _around(whole, len(raw[:start].decode("utf-8", "replace")))
    return _Line(
        path=path,
        number=data["line_number"],
        text=shown,
        is_match=event["type"] == "match",
        is_cut=shown != whole,
    )


def _around(text: str, at: int) -> str:
    """A line within `MAX_LINE_UNITS`, with what is at index `at` in it."""
    if utf16_length(text) <= MAX_LINE_UNITS:
        return text
    begin = 0 if at < MAX_LINE_UNITS // 2 else at - MAX_LINE_UNITS // 4
    kept = take_units(text[begin:], MAX_LINE_UNITS)
    before = ELLIPSIS if begin else ""
    return before + kept + ("" if text.endswith(kept) else ELLIPSIS)


def _too_long(path: str, record: TooLong) -> _Line:
    return _Line(
        path=path,
        number=int(record.marked[1]) if record.marked else 0,
        text=f"(a line of more than {size(MAX_RECORD_BYTES)}, not shown)",
        is_match=record.head.startswith(b'{"type":"match"'),
        is_cut=True,
    )


def _result(args: GrepArguments, place: Place, findings: _Findings, *, trouble: str) -> ToolResult:
    if not findings.lines:
        scope = f" in files that fit {args.glob}" if args.glob else ""
        return ToolResult(text=f"No line in {place.shown} matches {args.pattern}{scope}{trouble}")
    details: JsonObject = {}
    notices: list[str] = []
    matches = f"the first {findings.matches:,} matching lines"
    if findings.is_over_bytes:
        details["bytesLimitReached"] = MAX_BYTES
        notices.append(f"{matches} shown, at most {size(MAX_BYTES)}; narrow the pattern or the path")
    elif not findings.is_complete:
        details["matchLimitReached"] = findings.matches
        notices.append(f"{matches} shown, there may be more; set limit, or narrow the pattern or the path")
    if findings.has_cut_lines:
        details["linesTruncated"] = True
        notices.append(f"long lines are cut to {MAX_LINE_UNITS} characters; read shows them whole")
    notice = f"\n\n[{'. '.join(notices)}]" if notices else ""
    return ToolResult(text="\n".join(findings.lines) + notice + trouble, details=details or None)
