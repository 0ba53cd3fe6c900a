"""Exact replacements in a text: each found in the original, all of them or none.

Pure: no files, no line-ending rules.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

import msgspec

# An error names so many places of a text that is not unique.
MAX_PLACES_NAMED = 8
# A hint is not worth scanning a text of any size for.
MAX_HINT_UNITS = 2_000_000


class Edit(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One replacement as the program asks for it."""

    old_text: str
    new_text: str
    all: bool = False
    """Replace every occurrence instead of the only one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One place to change."""

    start: int
    """Index in the original text."""
    end: int
    new_text: str
    edit: int
    """Which edit it belongs to, from 0."""


class Unmatched(Exception):
    """An edit cannot be applied; the message says which, why, and what to do."""


def find_spans(text: str, edits: Sequence[Edit]) -> list[Span]:
    """Where each edit applies, in order of the text; matched against the original only.

    Raises:
        Unmatched: If a text is empty, missing, not unique without `all`, or if two edits overlap.
    """
    spans = [span for index, edit in enumerate(edits) for span in _spans(text, index, edit, len(edits))]
    spans.sort(key=lambda span: (span.start, span.end))
    for before, after in pairwise(spans):
        if after.start < before.end:
            first, second = sorted((before.edit + 1, after.edit + 1))
            raise Unmatched(
                f"edits {first} and {second} overlap at line {line_of(text, after.start)}; join them into one"
            )
    return spans


def apply_spans(text: str, spans: Sequence[Span]) -> str:
    """The text with each span replaced; spans are in order and do not overlap."""
    parts: list[str] = []
    at = 0
    for span in spans:
        parts += (text[at : span.start], span.new_text)
        at = span.end
    return "".join([*parts, text[at:]])


def line_of(text: str, index: int) -> int:
    """1-based line that holds `index`."""
    return text.count("\n", 0, index) + 1


def _spans(text: str, index: int, edit: Edit, count: int) -> list[Span]:
    name = f"edit {index + 1} of {count}" if count > 1 else "the edit"
    if not edit.old_text:
        raise Unmatched(f"{name} has an empty oldText; give the text to replace, or use write for a new file")
    starts = _starts(text, edit.old_text, overlapping=not edit.all)
    if not starts:
        raise Unmatched(f"the oldText of {name} is not in the file{_hint(text, edit.old_text)}")
    if len(starts) > 1 and not edit.all:
        raise Unmatched(
            f"the oldText of {name} is there {len(starts):,} times, {_places(text, starts)};"
            " add lines around it until it is unique, or set all: true"
        )
    length = len(edit.old_text)
    return [Span(start=start, end=start + length, new_text=edit.new_text, edit=index) for start in starts]


def _starts(text: str, wanted: str, *, overlapping: bool) -> list[int]:
    # Overlapping occurrences also make a text ambiguous: "aa" is in "aaa" twice.
    step = 1 if overlapping else len(wanted)
    starts: list[int] = []
    at = text.find(wanted)
    while at >= 0:
        starts.append(at)
        at = text.find(wanted, at + step)
    return starts


def _places(text: str, starts: Sequence[int]) -> str:
    lines = [f"{line_of(text, start)}" for start in islice(starts, MAX_PLACES_NAMED)]
    more = ", ..." if len(starts) > MAX_PLACES_NAMED else ""
    return f"at lines {', '.join(lines)}{more}"


def _hint(text: str, wanted: str) -> str:
    if "\r\n" in wanted and wanted.replace("\r\n", "\n") in text:
        return ": its lines end in CRLF, those of the file in LF"
    if "\n" in wanted and wanted.replace("\r\n", "\n") in text.replace("\r\n", "\n"):
        return ": the line ends differ, the file mixes CRLF and LF"
    if len(text) > MAX_HINT_UNITS:
        return "; read the file again and copy the text exactly"
    loose = _loose_line(text, wanted)
    if loose is not None:
        return f"; line {loose} differs only in white space, read it again and copy it exactly"
    nearest = _nearest_line(text, wanted)
    if nearest is not None:
        return f"; the nearest is line {nearest}, read it again and copy it exactly"
    return "; read the file again and copy the text exactly"


def _loose_line(text: str, wanted: str) -> int | None:
    """Line at which the wanted lines start when white space does not count."""
    lines = ["".join(line.split()) for line in text.split("\n")]
    sought = ["".join(line.split()) for line in wanted.strip().split("\n")]
    if not any(sought):
        return None
    last = len(lines) - len(sought)
    for at in range(last + 1):
        inner = lines[at + 1 : at + len(sought) - 1] == sought[1:-1]
        if inner and lines[at].endswith(sought[0]) and lines[at + len(sought) - 1].startswith(sought[-1]):
            return at + 1
    return None


def _nearest_line(text: str, wanted: str) -> int | None:
    """First line that holds the longest line of the wanted text, white space at its ends aside."""
    sought = max((line.strip() for line in wanted.split("\n")), key=len)
    at = text.find(sought) if sought else -1
    return line_of(text, at) if at >= 0 else None
