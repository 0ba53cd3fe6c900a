"""What grep found: ripgrep's records as lines to show, collected until a bound is met."""

import base64
import os
import re
from contextlib import aclosing
from dataclasses import dataclass, field

from pi_fabric.base.bounds import ELLIPSIS, take_units
from pi_fabric.base.jsonvalue import Json, JsonObject, decode, utf16_length
from pi_fabric.host.standalone.limits import MAX_BYTES, MAX_LINE_UNITS, size
from pi_fabric.host.standalone.paths import shown_name
from pi_fabric.host.standalone.ripgrep import Run, TooLong, records

# A line that makes a longer record is named and not shown: minified files have lines of megabytes.
MAX_RECORD_BYTES = 256 * 1024
# Inside a JSON string quotes are escaped, so this cannot come from the text of a line.
_LINE_NUMBER = re.compile(rb'"\},"line_number":(\d+),"absolute_offset":')


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
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
        return f"{shown_name(self.path)}{mark}{self.number}{mark} {self.text}"


@dataclass(slots=True, kw_only=True)
class Findings:
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

    def add(self, line: Line) -> bool:
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

    def _belongs_to_last(self, line: Line) -> bool:
        path, number = self.last_match
        return not line.is_match and line.path == path and line.number <= number + self.context


async def collect(run: Run, findings: Findings) -> bool:
    """Take lines until a bound is met; True when it was, and ripgrep may have more."""
    path = ""
    stream = records(run.stdout, end=b"\n", max_bytes=MAX_RECORD_BYTES, mark=_LINE_NUMBER)
    async with aclosing(stream):
        async for record in stream:
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


def _line(path: str, event: JsonObject) -> Line:
    data: JsonObject = event["data"]
    raw = _bytes(data["lines"]).rstrip(b"\r\n")
    start = data["submatches"][0]["start"] if data["submatches"] else 0
    whole = raw.decode("utf-8", "replace")
    shown = _around(whole, len(raw[:start].decode("utf-8", "replace")))
    return Line(
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


def _too_long(path: str, record: TooLong) -> Line:
    return Line(
        path=path,
        number=int(record.marked[1]) if record.marked else 0,
        text=f"(a line of more than {size(MAX_RECORD_BYTES)}, not shown)",
        is_match=record.head.startswith(b'{"type":"match"'),
        is_cut=True,
    )
