"""Bring the envelope of a branch summary within the format's bounds.

Whatever the facts hold, the reader accepts what comes of it. What has to go goes in a fixed order, and whole
facts that go are counted.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from pi_fabric.base.bounds import json_bytes
from pi_fabric.base.jsonvalue import UNDEFINED, Json
from pi_fabric.history.events.branch_facts import (
    MAX_ENVELOPE_BYTES,
    MAX_NODES,
    BranchDetails,
    CustomMessageFact,
    Fact,
    OperationFact,
)
from pi_fabric.history.events.branch_reader import Room
from pi_fabric.history.events.branch_writer import sample_facts
from pi_fabric.history.events.file_tools import file_tool_of, path_argument


def fit_details(details: BranchDetails) -> BranchDetails:
    """Bring an envelope within 128 KiB of JSON and 4096 values.

    From the last fact to the first, results go, then details of custom messages, then payload of file
    tools; then whole facts from the middle, which are counted.

    Args:
        details: At most 64 sections and a request of a few KiB, which are not cut.

    Returns:
        An envelope that the reader accepts. What no envelope may hold (wider than 256, deeper than 16) is
        left out of its fact, or the fact with it.
    """
    frame_bytes = json_bytes(replace(details, facts=()).to_json())
    facts = [_shaped(fact) for fact in details.facts]
    sizes = [_Size.of(fact) for fact in facts]
    omitted = details.omitted_facts + sizes.count(None)
    kept = [(fact, size) for fact, size in zip(facts, sizes, strict=True) if size is not None]
    budget = _Budget(room_bytes=MAX_ENVELOPE_BYTES - frame_bytes, sized=kept)
    for lighter in _LIGHTER:
        budget.lighten(lighter)
    sample = sample_facts([fact for fact, _ in budget.sized], budget.count_that_fits())
    return replace(details, facts=sample.facts, omitted_facts=omitted + sample.omitted)


@dataclass(frozen=True, slots=True)
class _Size:
    """What one fact takes of an envelope's bounds."""

    bytes: int
    nodes: int

    @classmethod
    def of(cls, fact: Fact) -> "_Size | None":
        """None when no envelope may hold the fact."""
        room = Room()
        if not all(map(room.takes, _values(fact))):
            return None
        # One more for the comma between facts.
        return cls(json_bytes(fact.to_json()) + 1, MAX_NODES - room.nodes)


def _values(fact: Fact) -> list[Json]:
    if isinstance(fact, OperationFact):
        return [fact.args] if fact.result is UNDEFINED else [fact.args, fact.result]
    if isinstance(fact, CustomMessageFact) and fact.details is not UNDEFINED:
        return [fact.details]
    return []


def _shaped(fact: Fact) -> Fact:
    """The fact without values that no envelope may hold, where it says enough without them."""
    for lighter in _LIGHTER:
        if all(Room().takes(value) for value in _values(fact)):
            return fact
        fact = lighter(fact)
    return fact


class _Budget:
    """Facts with their sizes, made lighter until they fit."""

    def __init__(self, *, room_bytes: int, sized: list[tuple[Fact, _Size]]) -> None:
        self.sized = sized
        self._room_bytes = room_bytes
        self._bytes = sum(size.bytes for _, size in sized)
        self._nodes = sum(size.nodes for _, size in sized)

    def lighten(self, lighter: Callable[[Fact], Fact]) -> None:
        """Make facts lighter, from the last to the first, as far as it takes."""
        for position in range(len(self.sized) - 1, -1, -1):
            if self._fits(self._bytes, self._nodes):
                return
            fact, size = self.sized[position]
            light = lighter(fact)
            new_size = size if light is fact else _Size.of(light)
            if new_size is not None and new_size.bytes < size.bytes:
                self.sized[position] = (light, new_size)
                self._bytes += new_size.bytes - size.bytes
                self._nodes += new_size.nodes - size.nodes

    def count_that_fits(self) -> int:
        """How many facts may stay when the rest goes from the middle."""
        sizes = [size for _, size in self.sized]
        count, total_bytes, total_nodes = len(sizes), self._bytes, self._nodes
        while count and not self._fits(total_bytes, total_nodes):
            # The sample of one fact less lacks the last of the earlier half or the first of the later one.
            later = count // 2
            gone = sizes[count - later - 1] if count % 2 else sizes[len(sizes) - later]
            total_bytes, total_nodes, count = total_bytes - gone.bytes, total_nodes - gone.nodes, count - 1
        return count

    def _fits(self, total_bytes: int, total_nodes: int) -> bool:
        return total_bytes <= self._room_bytes and total_nodes <= MAX_NODES


def _without_result(fact: Fact) -> Fact:
    if isinstance(fact, OperationFact) and fact.result is not UNDEFINED:
        return replace(fact, result=UNDEFINED)
    return fact


def _without_details(fact: Fact) -> Fact:
    if isinstance(fact, CustomMessageFact) and fact.details is not UNDEFINED:
        return replace(fact, details=UNDEFINED)
    return fact


def _without_payload(fact: Fact) -> Fact:
    if not isinstance(fact, OperationFact) or file_tool_of(fact.ref) is None:
        return fact
    named = path_argument(fact.args)
    return fact if named is None else replace(fact, args=dict([named]))


_LIGHTER: Final = (_without_result, _without_details, _without_payload)
"""What facts lose, in this order; a fact's identity is not among it."""
