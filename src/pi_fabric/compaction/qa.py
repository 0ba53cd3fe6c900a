"""Does a summary still tell what its source told? Checked line by line against the events.

Where a collection is shown in part, the parts and what is said to be left out must add up to the whole, and
the range that is named must be the one that is missing.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pi_fabric.base.bounds import clip_bytes
from pi_fabric.base.jsonvalue import JsonObject, scrub
from pi_fabric.base.jstext import collapse
from pi_fabric.compaction.assemble import covered_range, told_until
from pi_fabric.compaction.probes import (
    FIRST_LINES,
    Probe,
    first_lines,
    newest_change,
    newest_request,
    probes,
)
from pi_fabric.compaction.render import HEADERS, RULE
from pi_fabric.compaction.section import SectionName, omission
from pi_fabric.history.events.model import Event
from pi_fabric.history.events.normalize import normalize

# What a line says where it tells of one thing: transcript lines number it before the address.
_ITEM: Final = re.compile(r"(?:- |(?=#\d+ ))(?:#\d+ )?\[(?P<address>.*?)\] ")
_REST: Final = re.compile(r"… \d+ more lines?, in (?P<address>.*)")
_OMISSION: Final = re.compile(r"… (?P<count>\d+) more, (?P<range>[^;]*)(?:; (?P<label>.*))?")
_LABEL: Final = re.compile(r"(?:Created|Written|Modified|Read):")
# A first line is clipped to what the block has room for; this much of it must be there.
_FIRST_LINE_BYTES: Final = 900
_RECALL_CALLS: Final = ("memory.expand(", "memory.recall(")


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Something that the source told and the summary does not."""

    section: SectionName | str
    address: str
    """Where the source tells it; empty for what has no one place."""
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What came of the check."""

    checked: int
    """Things that were looked for."""
    losses: tuple[Loss, ...]

    @property
    def is_complete(self) -> bool:
        """True when nothing is lost."""
        return not self.losses


def check(summary: str, entries: Sequence[JsonObject]) -> Report:
    """Look in a summary for everything that its source entries tell.

    Args:
        summary: As it was stored.
        entries: The raw entries that it stands for, root first: those before the first kept one.

    Returns:
        The report; never raises for content. Nothing told means nothing to look for.
    """
    events = normalize(entries)
    if not events:
        return Report(checked=0, losses=())
    blocks = _Blocks(summary)
    expected = probes(events)
    losses = [loss for section, wanted in expected.items() for loss in _lost(section, wanted, blocks)]
    losses += _lost_first_lines(events, blocks)
    losses += _lost_status(events, blocks)
    losses += _lost_footer(events, entries, blocks)
    return Report(checked=sum(map(len, expected.values())) + 3, losses=tuple(losses))


class _Blocks:
    """A summary, taken apart."""

    def __init__(self, summary: str) -> None:
        self._blocks = [block.split("\n") for block in summary.split("\n\n")]
        ruled = [lines[1:] for lines in self._blocks if lines[0] == RULE]
        # Two blocks begin with a rule; which one a lone one is, its words tell.
        has_footer = bool(ruled) and any(call in line for line in ruled[-1] for call in _RECALL_CALLS)
        self.footer = "\n".join(ruled[-1]) if has_footer else ""
        self._transcript = next(iter(ruled[:-1] if has_footer else ruled), list[str]())

    def lines(self, section: SectionName) -> list[str]:
        """Lines of a section without its header; empty when it is not there."""
        if section == "transcript":
            return self._transcript
        return next((lines[1:] for lines in self._blocks if lines[0] == HEADERS[section]), list[str]())


def _lost(section: SectionName, wanted: Sequence[Probe], blocks: _Blocks) -> Iterator[Loss]:
    """Walk lines and probes together; each must be the other's next."""
    position, group = 0, ""
    for line in blocks.lines(section):
        if (gap := _OMISSION.fullmatch(line)) is not None:
            count = int(gap["count"])
            missing = wanted[position : position + count]
            if len(missing) < count or not line.startswith(_gap(missing)):
                yield Loss(section=section, address="", what=f"the range of what is left out: {line}")
            position += count
            group = gap["label"] or group
        elif (found := _ITEM.match(line) or _REST.fullmatch(line)) is not None:
            at = _next(wanted, position, found["address"], line, group)
            if at is not None:
                yield from _unshown(section, wanted[position:at])
                position = at + 1
        elif _LABEL.fullmatch(line) is not None:
            group = line
    yield from _unshown(section, wanted[position:])


def _gap(missing: Sequence[Probe]) -> str:
    return omission(len(missing), missing[0].address, missing[-1].address).text


def _next(wanted: Sequence[Probe], start: int, address: str, line: str, group: str) -> int | None:
    for position in range(start, len(wanted)):
        probe = wanted[position]
        if probe.address == address and probe.words in line and probe.group in ("", group):
            return position
    return None


def _unshown(section: SectionName, probes_: Sequence[Probe]) -> Iterator[Loss]:
    for probe in probes_:
        if not probe.is_silent:
            yield Loss(section=section, address=probe.address, what=f"{probe.words or 'a line'}")


def _lost_first_lines(events: Sequence[Event], blocks: _Blocks) -> Iterator[Loss]:
    shown = [line.removeprefix("> ") for line in blocks.lines("goal") if line.startswith("> ")]
    for number, line in enumerate(first_lines(events)[:FIRST_LINES]):
        start = clip_bytes(scrub(line), _FIRST_LINE_BYTES, marker="")
        if number >= len(shown) or not shown[number].startswith(start):
            yield Loss(section="goal", address="", what=f"line {number + 1} of the first message")


def _lost_status(events: Sequence[Event], blocks: _Blocks) -> Iterator[Loss]:
    lines = blocks.lines("status")
    for what, probe in (("request", newest_request(events)), ("change", newest_change(events))):
        if probe is None:
            continue
        mark = f"({probe.address}): "
        if not any(mark in line and probe.words in line for line in lines):
            yield Loss(section="status", address=probe.address, what=f"the newest {what}")


def _lost_footer(events: Sequence[Event], entries: Sequence[JsonObject], blocks: _Blocks) -> Iterator[Loss]:
    covered = covered_range(events)
    wanted = {
        "the range of entries": f"{collapse(covered.first)} to {collapse(covered.last)}",
        "the time": collapse(told_until(entries, events)),
        "how to open an address": _RECALL_CALLS[0],
        "how to search": _RECALL_CALLS[1],
    }
    for what, words in wanted.items():
        if scrub(words) not in blocks.footer:
            yield Loss(section="footer", address="", what=what)
