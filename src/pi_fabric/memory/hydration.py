"""Reading one session for one question: its entries as they are now, and whether a pointer still fits."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.memory.discovery import Found
from pi_fabric.memory.entries import EntryReader
from pi_fabric.memory.lineage import Lineage, LiveBranch
from pi_fabric.memory.model import Branches, Entry, Privacy
from pi_fabric.memory.query import Expected
from pi_fabric.memory.source import MAX_HELD_BYTES, Source, SourceChanged

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

    @property
    def is_large(self) -> bool:
        """True when its entries are read again each time and must not all be held."""
        return self.source.stamp.size > MAX_HELD_BYTES

    def entries(self, reasons: set[str] | None = None) -> Iterator[Entry]:
        """All entries with their whole text.

        Args:
            reasons: Takes in, at the end, what makes them less than the source tells.

        Raises:
            SourceChanged: If a file too large to hold is another one by now.
        """
        reader = EntryReader(session_file=self.source.path, privacy=self.privacy)
        for session_id, raw in self.source.entries(self.lineage):
            yield from reader.read(session_id, raw)
        if reasons is not None:
            reasons |= reader.reasons | self.lineage.reasons | self.source.reasons

    def light_entries(self) -> list[Entry]:
        """All entries; of a large session without their texts."""
        if not self.is_large:
            return list(self.entries())
        return [_lightened(entry) for entry in self.entries()]

    def pick(self, chosen: list[Entry], is_wanted: Callable[[int], bool]) -> list[Entry]:
        """The chosen entries with their texts."""
        if not self.is_large:
            return chosen
        return [entry for entry in self.entries() if is_wanted(entry.index)]


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


def _lightened(entry: Entry) -> Entry:
    entry.text = ""
    return entry
