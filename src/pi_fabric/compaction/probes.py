"""What a summary must tell, taken from the events themselves and not from its sections.

Each list is whole and in the order of its telling: which part of it is shown is checked against what the
summary says it left out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pi_fabric.base.jsonvalue import scrub
from pi_fabric.base.jstext import collapse, is_blank, trim_start
from pi_fabric.compaction.operations import Performed, operations_of
from pi_fabric.compaction.projections.files import touched_files
from pi_fabric.compaction.projections.outstanding import identity
from pi_fabric.compaction.projections.transcript import address_of
from pi_fabric.compaction.retold import told_once
from pi_fabric.compaction.section import SectionName
from pi_fabric.history.events.model import (
    CustomMessage,
    Event,
    FabricPhase,
    Thinking,
    UserText,
)

# A line must begin to tell its text; how much more of it fits is the line's affair.
_WORD_CHARS: Final = 16
FIRST_LINES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One thing that the summary must show, or count among what it left out."""

    address: str
    """As a line shows it."""
    words: str = ""
    """Must be in the line."""
    group: str = ""
    """Label that the line must stand under."""
    is_silent: bool = False
    """True for what is counted but has no line of its own."""


def probes(events: Sequence[Event]) -> dict[SectionName, list[Probe]]:
    """Everything that the listing sections tell of, shown or not."""
    once = told_once(events)
    operations = operations_of(once)
    return {
        "goal": list(_goals(once)),
        "files": list(_files(operations)),
        "activity": list(_activity(once, operations)),
        "outstanding": list(_failures(operations)),
        "earlierTurns": list(_turns(once)),
        "transcript": list(_newest(events)),
    }


def first_lines(events: Sequence[Event]) -> list[str]:
    """The lines of the first message that are not blank, each on one line."""
    first = next((event.text for event in events if isinstance(event, UserText)), "")
    return [line for line in map(collapse, first.split("\n")) if line]


def newest_request(events: Sequence[Event]) -> Probe | None:
    """The newest message that says something, the user's or an extension's."""
    spoken = (event for event in reversed(events) if isinstance(event, UserText | CustomMessage))
    return next(
        (
            _probe(address=event.entry_id, words=_start(event.text))
            for event in spoken
            if not is_blank(event.text)
        ),
        None,
    )


def newest_change(events: Sequence[Event]) -> Probe | None:
    """The newest edit or write of a file."""
    changes = (
        done for done in reversed(operations_of(told_once(events))) if done.file_tool in {"edit", "write"}
    )
    return next(
        (
            _probe(address=done.address, words=collapse(done.path)[-_WORD_CHARS:])
            for done in changes
            if done.path is not None
        ),
        None,
    )


def _goals(events: Sequence[Event]) -> Iterator[Probe]:
    users = [event for event in events if isinstance(event, UserText)]
    rest = len(first_lines(events)) - FIRST_LINES
    if rest > 0:
        yield _probe(address=users[0].entry_id, words=str(rest))
    for event in users[1:]:
        if not is_blank(event.text):
            yield _probe(address=event.entry_id, words=_start(event.text))


def _files(operations: Sequence[Performed]) -> Iterator[Probe]:
    for kind, touched in touched_files(operations).items():
        for path, address in touched.items():
            name = collapse(path).replace("\\", "/").rstrip("/").rpartition("/")[2]
            yield _probe(address=address, words=name[:_WORD_CHARS], group=f"{kind}:")


def _activity(events: Sequence[Event], operations: Sequence[Performed]) -> Iterator[Probe]:
    for event in events:
        if isinstance(event, FabricPhase):
            yield _probe(address=event.address, words=_start(event.phase))
    for done in operations:
        if done.is_nested and done.file_tool is None:
            yield _probe(address=done.address, words=_start(done.ref))


def _failures(operations: Sequence[Performed]) -> Iterator[Probe]:
    newest_success = {identity(done): done.index for done in operations if done.succeeded}
    failures = [done for done in operations if not done.succeeded]
    settled = [done for done in failures if newest_success.get(identity(done), -1) > done.index]
    standing = [done for done in failures if newest_success.get(identity(done), -1) < done.index]
    for failure in standing:
        yield _probe(address=failure.address, words=_start(failure.error or failure.ref))
    for failure in settled:
        yield _probe(address=failure.address, words="resolved")


def _turns(events: Sequence[Event]) -> Iterator[Probe]:
    turns = [event for event in events if isinstance(event, UserText | CustomMessage)]
    for turn in turns[:-1]:
        yield _probe(address=turn.entry_id, words=_start(turn.text))


def _newest(events: Sequence[Event]) -> Iterator[Probe]:
    for event in events:
        is_silent = isinstance(event, Thinking) and event.is_empty
        yield _probe(address=address_of(event), words=f"#{event.index} ", is_silent=is_silent)


def _start(text: str) -> str:
    """The first characters of the first line, as every one-line view of `text` begins."""
    return collapse(trim_start(text).partition("\n")[0])[:_WORD_CHARS]


def _probe(*, address: str, words: str, group: str = "", is_silent: bool = False) -> Probe:
    # A line has no line breaks, and a summary no lone surrogates.
    shown = collapse(scrub(address))
    return Probe(address=shown, words=scrub(words), group=group, is_silent=is_silent)
