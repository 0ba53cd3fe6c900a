"""Sections as text within bounds: lines, blocks and the whole.

Every bound is UTF-8 bytes. A block that is too large loses lines from its middle, and one line in their
place says how many things they stood for and where those are.
"""

from collections.abc import Sequence
from typing import Final

from pi_fabric.base.bounds import clip_bytes, utf8_bytes
from pi_fabric.base.jsonvalue import scrub
from pi_fabric.compaction.section import Line, Section, SectionName, merged

# All bounds are the format's. They hold a header and its lines; together they stay under the whole.
MAX_SUMMARY_BYTES: Final = 32 * 1024
MAX_LINE_BYTES: Final = 1_024
MAX_REQUEST_BYTES: Final = 3_072
MAX_FOOTER_BYTES: Final = 1_536
MAX_BLOCK_BYTES: Final[dict[SectionName, int]] = {
    "goal": 4_096,
    "files": 4_608,
    "activity": 2_048,
    "outstanding": 4_608,
    "earlierTurns": 3_072,
    "status": 2_048,
    "transcript": 5_120,
}
RULE: Final = "---"
REQUEST_HEADER: Final = "[Compaction Request]"
HEADERS: Final[dict[SectionName, str]] = {
    "goal": "[Session Goal]",
    "files": "[Files And Changes]",
    "activity": "[Fabric Activity]",
    "outstanding": "[Outstanding Context]",
    "earlierTurns": "[Earlier Turns]",
    "status": "[Current Status]",
    "transcript": RULE,
}
_SEPARATOR: Final = "\n\n"


def render_section(section: Section) -> str:
    """The block of a section; empty when none of its lines has text."""
    lines = [line for line in section.lines if line.text]
    if not lines:
        return ""
    max_bytes = MAX_BLOCK_BYTES[section.name]
    return render_block(HEADERS[section.name], lines, max_bytes, pinned=section.pinned)


def render_block(header: str, lines: Sequence[Line], max_bytes: int, *, pinned: int = 0) -> str:
    """A header and its lines in at most `max_bytes`.

    Args:
        header: First line of the block.
        lines: At least one; each is cut to 1,024 bytes first.
        max_bytes: Bound on the whole block.
        pinned: Lines at the start that stay as long as one more line fits.

    Returns:
        All lines; else the greater half of those that fit from the start and the rest from the end.
    """
    clipped = [clip_bytes(line.text, MAX_LINE_BYTES) for line in lines]
    sizes = [utf8_bytes(text) + 1 for text in clipped]
    room = max_bytes - utf8_bytes(header)
    if sum(sizes) <= room:
        return "\n".join([header, *clipped])
    for kept in range(len(lines) - 1, 0, -1):
        head = min(max(kept - kept // 2, pinned), max(kept - 1, 1))
        tail = len(lines) - (kept - head)
        size = sum(sizes[:head]) + sum(sizes[tail:])
        if size > room:
            continue
        gap = merged(lines[head:tail])
        middle = [clip_bytes(gap.text, MAX_LINE_BYTES)] if gap else []
        if size + sum(utf8_bytes(text) + 1 for text in middle) <= room:
            return "\n".join([header, *clipped[:head], *middle, *clipped[tail:]])
    return clip_bytes("\n".join([header, clipped[0]]), max_bytes)


def join_blocks(blocks: Sequence[str]) -> str:
    """The summary; lone surrogates become U+FFFD, and nothing goes past 32 KiB."""
    text: str = scrub(_SEPARATOR.join(blocks))
    return clip_bytes(text, MAX_SUMMARY_BYTES)
