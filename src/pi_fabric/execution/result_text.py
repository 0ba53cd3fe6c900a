"""What the model reads of a run: logs, value, error and notices under one bound.

When all of it does not fit, each section keeps its head and its tail, the first line says so, and the
whole text is saved where that line points.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pi_fabric.base.bounds import head_and_tail, take_units
from pi_fabric.base.jsonvalue import utf16_length
from pi_fabric.execution.format_value import Formatted

NO_OUTPUT: Final = "(no output)"

# A failed run is read for its error and tried again: the same logs would be paid for at every turn.
FAILED_MAX_CHARS = 20_000

_BREAK: Final = "\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultText:
    """The text of one result."""

    text: str
    spill_path: Path | None = None
    """File with the whole text; None when nothing was cut or it could not be saved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    name: str
    text: str


def join_result(
    *,
    logs: Sequence[str],
    value: Formatted | None,
    error: str | None,
    notices: Sequence[str],
    max_chars: int,
    failed: bool,
    spill: Callable[[str], Path | None],
) -> ResultText:
    """Join the parts of a result, cut to size.

    Args:
        logs: Lines that the program printed.
        value: What it returned; None when nothing.
        error: Why it did not succeed.
        notices: What the reader should know besides, a line each.
        max_chars: Bound on the text in UTF-16 units; a failed run gets 20,000 at most.
        failed: True when the run did not succeed.
        spill: Saves the whole text; called only when something is cut. May block.

    Returns:
        The sections in that order with a blank line between; `(no output)` stands for logs, value and
        error when all are empty.
    """
    sections = _sections(logs, value, error, notices)
    whole = _BREAK.join(section.text for section in sections)
    limit = min(max_chars, FAILED_MAX_CHARS) if failed else max_chars
    size = utf16_length(whole)
    if size <= limit:
        return ResultText(text=whole)
    path = spill(whole)
    where = "the whole text could not be saved" if path is None else f"whole text: {path}"
    first = f"[cut to {limit} of {size} characters; {where}]"
    room = limit - utf16_length(first) - len("\n") - len(_BREAK) * (len(sections) - 1)
    shares = _share([utf16_length(section.text) for section in sections], room)
    kept = [_cut(section, share) for section, share in zip(sections, shares, strict=True)]
    return ResultText(text=take_units(f"{first}\n{_BREAK.join(kept)}", limit), spill_path=path)


def _sections(
    logs: Sequence[str], value: Formatted | None, error: str | None, notices: Sequence[str]
) -> list[_Section]:
    said = [
        _Section(name="logs", text="\n".join(logs)),
        _Section(name="value", text=value.text if value is not None else ""),
        _Section(name="error", text=error or ""),
    ]
    kept = [section for section in said if section.text] or [_Section(name="output", text=NO_OUTPUT)]
    return [*kept, _Section(name="notices", text="\n".join(notices))] if notices else kept


def _share(sizes: Sequence[int], room: int) -> list[int]:
    """Share `room` so that what is small is kept whole and what is large gets equal parts."""
    shares = [0] * len(sizes)
    left = max(0, room)
    smallest_first = sorted(range(len(sizes)), key=sizes.__getitem__)
    for place, index in enumerate(smallest_first):
        shares[index] = min(sizes[index], left // (len(sizes) - place))
        left -= shares[index]
    return shares


def _cut(section: _Section, max_chars: int) -> str:
    return head_and_tail(
        section.text,
        max_chars,
        lambda omitted: f"[... {omitted} characters of the {section.name} left out ...]",
    )
