"""Reading one session for one question: its entries as they are now, and whether a pointer still fits."""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.memory.discovery import Found
from pi_fabric.memory.entries import EntryReader
from pi_fabric.memory.lineage import Lineage, LiveBranch
from pi_fabric.memory.model import Branches, Entry, Privacy
from pi_fabric.memory.query import Expected
from pi_fabric.memory.source import Source, SourceChanged

# A session that is written again and again while it is read is given up after this many readings.
_ATTEMPTS = 5
STALE_POINTER: Final = "stale_pointer"


@dataclass(slots=True)
class Hydrated:
    """One session as it was at one moment."""

    source: Source
    lineage: Lineage
    privacy: Privacy

    def matches(self, expected: Expected) -> bool:
        """True when nothing that a pointer expects has changed."""
        return expected.source_hash in (None, self.source.source_hash) and (
            expected.lineage in (None, self.lineage.fingerprint)
        )

    def entries(
        self, reasons: set[str] | None = None, *, wants_text: Callable[[int], bool] | None = None
    ) -> Iterator[Entry]:
        """All entries in their order.

        Args:
            reasons: Takes in, at the end, what makes them less than the source tells.
            wants_text: Told an entry's index, says whether its text is wanted; None for all.

        Raises:
            SourceChanged: If a file too large to hold is another one by now.
        """
        reader = EntryReader(session_file=self.source.path, privacy=self.privacy, wants_text=wants_text)
        for session_id, raw in self.source.entries(self.lineage):
            yield from reader.read(session_id, raw)
        if reasons is not None:
            reasons |= reader.reasons | self.lineage.reasons | self.source.reasons

    def outline(self) -> "Outline":
        """All entries without their texts."""
        reader = EntryReader(
            session_file=self.source.path, privacy=self.privacy, wants_text=lambda _index: False
        )
        outline = Outline()
        for line in self.source.entries(self.lineage):
            if self.source.is_held:
                outline.starts.append(reader.count)
                outline.lines.append(line)
            outline.entries += reader.read(*line)
        return outline

    def pick(self, outline: "Outline", indices: frozenset[int]) -> list[Entry]:
        """Some entries with their whole texts, in their order.

        Raises:
            SourceChanged: If a file too large to hold is another one by now.
        """
        if not self.source.is_held:
            entries = self.entries(wants_text=indices.__contains__)
            return [entry for entry in entries if entry.index in indices]
        return [self._read_again(outline, index) for index in sorted(indices)]

    def _read_again(self, outline: "Outline", index: int) -> Entry:
        """One entry, from its line alone."""
        known = outline.entries[index]
        line = outline.lines[bisect_right(outline.starts, index) - 1]
        reader = EntryReader(session_file=self.source.path, privacy=self.privacy)
        # A line by itself tells facts that earlier ones told already; the address says which one is meant.
        entries = reader.read(*line)
        entry = next(one for one in entries if (one.type, one.entry_id) == (known.type, known.entry_id))
        entry.index = index
        return entry


@dataclass(slots=True)
class Outline:
    """Entries without their texts, and the lines that they come from."""

    entries: list[Entry] = field(default_factory=list[Entry])
    lines: list[tuple[str, JsonObject]] = field(default_factory=list[tuple[str, JsonObject]])
    """Of a session that is held; none of one that is read again."""
    starts: list[int] = field(default_factory=list[int])
    """Index of the first entry of each line; a line without entries begins where the next one does."""


def hydrate(found: Found, branches: Branches, live: LiveBranch | None, privacy: Privacy) -> Hydrated:
    """Read a session; blocking.

    Raises:
        OSError: If it cannot be read.
        SourceChanged: If it never held still.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            source = Source(found.path, found.kind)
            break
        except SourceChanged:
            continue
    else:
        source = Source(found.path, found.kind)
    return Hydrated(source, source.lines.lineage(branches, live), privacy)


def stale_pointer(hydrated: Hydrated, expected: Expected) -> JsonObject:
    """The `error` object that tells what was expected and what is there; nothing of the source."""
    error: JsonObject = {
        "code": STALE_POINTER,
        "message": "the session has changed since the pointer was made; recall again for a new one",
        "sessionFile": hydrated.source.path,
        "actualSourceHash": hydrated.source.source_hash,
        "actualLineageFingerprint": hydrated.lineage.fingerprint,
    }
    if expected.source_hash is not None:
        error["expectedSourceHash"] = expected.source_hash
    if expected.lineage is not None:
        error["expectedLineageFingerprint"] = expected.lineage
    return error
