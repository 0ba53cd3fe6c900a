"""A unified diff of changes whose places are known, bounded in work.

The cost follows the change and not the file: lines outside the given blocks are never compared.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from pi_fabric.host.standalone.limits import counted, join_within
from pi_fabric.host.standalone.replacing import Span

CONTEXT_LINES = 3
# Comparing line by line costs up to the product of both sides; a larger block is shown replaced whole.
MAX_COMPARED_LINES = 400
# A person looks at a screen or two of a diff; the whole change is in the file.
MAX_DIFF_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class Block:
    """Old lines `old_start:old_end` became new lines `new_start:new_end`; counted from 0."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """What changed."""

    text: str
    """Unified diff within `MAX_DIFF_BYTES`; empty when nothing changed."""
    first_changed_line: int | None
    """1-based line of the new text; None when nothing changed."""


def diff_texts(path: str, old: str, new: str) -> Diff:
    """Compare two texts of which nothing is known."""
    old_lines, new_lines = _lines(old), _lines(new)
    return _diff(path, old_lines, new_lines, [Block(0, len(old_lines), 0, len(new_lines))])


def diff_spans(path: str, old: str, new: str, spans: Sequence[Span]) -> Diff:
    """Show what `spans`, in order, made of `old`."""
    old_lines, new_lines = _lines(old), _lines(new)
    blocks: list[Block] = []
    line = at = shift = 0
    for span in spans:
        line += old.count("\n", at, span.start)
        at = span.start
        height = old.count("\n", span.start, span.end)
        growth = span.new_text.count("\n") - height
        end = line + height + 1
        block = Block(line, end, line + shift, end + shift + growth)
        shift += growth
        if blocks and block.old_start < blocks[-1].old_end:
            last = blocks.pop()
            block = Block(last.old_start, block.old_end, last.new_start, block.new_end)
        blocks.append(block)
    return _diff(path, old_lines, new_lines, blocks)


def _lines(text: str) -> list[str]:
    """Lines with their ends, cut at LF only."""
    pieces = text.split("\n")
    lines = [f"{piece}\n" for piece in pieces[:-1]]
    return [*lines, pieces[-1]] if pieces[-1] else lines


def _diff(path: str, old: Sequence[str], new: Sequence[str], blocks: Sequence[Block]) -> Diff:
    changes = [change for block in blocks for change in _refine(old, new, block)]
    if not changes:
        return Diff(text="", first_changed_line=None)
    lines = [f"--- {path}", f"+++ {path}"]
    for hunk in _hunks(changes):
        lines += _hunk_lines(old, new, hunk)
    text, shown = join_within(lines, MAX_DIFF_BYTES)
    if shown < len(lines):
        text += f"\n[{counted(len(lines) - shown, 'more line')} of the diff not shown]"
    return Diff(text=text, first_changed_line=changes[0].new_start + 1)


def _refine(old: Sequence[str], new: Sequence[str], block: Block) -> list[Block]:
    """The parts of a block that differ."""
    start, new_start = block.old_start, block.new_start
    # A block that ends with the text's last line may name one line more than there is.
    end, new_end = min(block.old_end, len(old)), min(block.new_end, len(new))
    while start < end and new_start < new_end and old[start] == new[new_start]:
        start, new_start = start + 1, new_start + 1
    while start < end and new_start < new_end and old[end - 1] == new[new_end - 1]:
        end, new_end = end - 1, new_end - 1
    if start == end and new_start == new_end:
        return []
    if max(end - start, new_end - new_start) > MAX_COMPARED_LINES:
        return [Block(start, end, new_start, new_end)]
    matcher = SequenceMatcher(None, old[start:end], new[new_start:new_end], autojunk=False)
    return [
        Block(start + a, start + b, new_start + c, new_start + d)
        for tag, a, b, c, d in matcher.get_opcodes()
        if tag != "equal"
    ]


def _hunks(changes: Sequence[Block]) -> list[list[Block]]:
    hunks = [[changes[0]]]
    for change in changes[1:]:
        if change.old_start - hunks[-1][-1].old_end <= 2 * CONTEXT_LINES:
            hunks[-1].append(change)
        else:
            hunks.append([change])
    return hunks


def _hunk_lines(old: Sequence[str], new: Sequence[str], hunk: Sequence[Block]) -> list[str]:
    first, last = hunk[0], hunk[-1]
    before = min(CONTEXT_LINES, first.old_start)
    after = min(CONTEXT_LINES, len(old) - last.old_end)
    start, end = first.old_start - before, last.old_end + after
    lines = [f"@@ -{_range(start, end)} +{_range(first.new_start - before, last.new_end + after)} @@"]
    at = start
    for change in hunk:
        lines += _marked(" ", old[at : change.old_start])
        lines += _marked("-", old[change.old_start : change.old_end])
        lines += _marked("+", new[change.new_start : change.new_end])
        at = change.old_end
    return [*lines, *_marked(" ", old[at:end])]


def _range(start: int, end: int) -> str:
    # An empty range names the line before it, as diff(1) does.
    return f"{start + 1 if end > start else start},{end - start}"


def _marked(mark: str, lines: Sequence[str]) -> list[str]:
    marked: list[str] = []
    for line in lines:
        marked.append(mark + line.removesuffix("\n"))
        if not line.endswith("\n"):
            marked.append("\\ No newline at end of file")
    return marked
