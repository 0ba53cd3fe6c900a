"""What the index holds and what recall answers with: entries, coverage, and the words for both.

Field names on the wire are the specification's, in camel case.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import msgspec

from pi_fabric.base.jsonvalue import JsonObject

Branches: TypeAlias = Literal["active", "all"]
"""Only what lies on the active path of a session, or everything in the file."""

BRANCHES: Final[tuple[Branches, ...]] = ("active", "all")

Tier: TypeAlias = Literal["hot", "cold"]
"""Hot: text of every entry is indexed. Cold: only which words the session has, and its addresses."""

SourceKind: TypeAlias = Literal["pi", "claude", "codex"]
"""Whose log a session file is."""

CACHE_VERSION: Final = 5

UNREADABLE_LINES: Final = "unreadable_lines"
"""Reason: a session has lines that are no JSON."""

Number: TypeAlias = int | float


class Entry(msgspec.Struct, kw_only=True, rename="camel", gc=False):
    """One normalized entry of a session: a line of the log, or what a line tells of an operation or fact."""

    session_file: str
    session_id: str
    entry_id: str | None
    """The log's own id, or the address of an operation or fact; None for a line without one."""
    parent_id: str | None
    type: str
    role: str | None
    tool_name: str | None
    text: str
    timestamp: Number | None
    """Milliseconds since the Unix epoch."""
    is_error: bool
    truncated: bool
    """True when `text` was cut to the limit of an entry."""
    index: int
    """Place among the normalized entries of its branch, from 0."""
    files_touched: list[str] | msgspec.UnsetType = msgspec.UNSET
    parent_entry_id: str | msgspec.UnsetType | None = msgspec.UNSET
    operation_address: str | msgspec.UnsetType = msgspec.UNSET
    ref: str | msgspec.UnsetType = msgspec.UNSET
    provider: str | msgspec.UnsetType = msgspec.UNSET
    action: str | msgspec.UnsetType = msgspec.UNSET
    outcome: str | msgspec.UnsetType = msgspec.UNSET
    operation: JsonObject | msgspec.UnsetType = msgspec.UNSET
    fact_address: str | msgspec.UnsetType = msgspec.UNSET
    carrier_entry_id: str | msgspec.UnsetType | None = msgspec.UNSET
    carrier_parent_id: str | msgspec.UnsetType | None = msgspec.UNSET
    carrier_from_id: str | msgspec.UnsetType | None = msgspec.UNSET
    branch_fact: JsonObject | msgspec.UnsetType = msgspec.UNSET

    @property
    def address(self) -> str | None:
        """Address of the operation; None for an entry that is none."""
        return self.operation_address if isinstance(self.operation_address, str) else None

    @property
    def files(self) -> list[str]:
        """Paths that the entry names, in order of appearance."""
        return self.files_touched if isinstance(self.files_touched, list) else []


@dataclass(frozen=True, slots=True, kw_only=True)
class Privacy:
    """Which bodies enter text and vocabulary; names, paths and outcomes always do."""

    thinking: bool = False
    tool_output: bool = True

    def policy(self) -> str:
        """How a cache record names it."""
        return f"thinking:{_word(self.thinking)};tool-output:{_word(self.tool_output)}"


EVERYTHING: Final = Privacy(thinking=True, tool_output=True)
"""What `expand` reads, whatever the settings: it shows the source, not the index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How far an answer can be trusted: complete means that no match is missing."""

    indexed_sessions: int
    eligible_sessions: int
    stale_sessions: int = 0
    """Eligible ones without a usable record."""
    incomplete_sessions: int = 0
    """Indexed ones of which something is not in the index."""
    reasons: frozenset[str] = frozenset()
    error: JsonObject | None = None
    skipped_lines: int = 0
    """Lines of the sessions that are no JSON: what they said, and what they led to, is missing."""

    @property
    def is_complete(self) -> bool:
        """True when an empty answer proves that there is no match."""
        return not self.all_reasons

    @property
    def all_reasons(self) -> frozenset[str]:
        """What stands against completeness, with what follows from the counts."""
        return self.reasons | {UNREADABLE_LINES} if self.skipped_lines else self.reasons

    def with_reasons(self, reasons: Iterable[str], error: JsonObject | None = None) -> "Coverage":
        """The same with more reasons against it."""
        return replace(self, reasons=self.reasons.union(reasons), error=error or self.error)

    def to_json(self) -> JsonObject:
        """The `coverage` object of an answer."""
        told = self._told(self.all_reasons)
        return told | {"skippedLines": self.skipped_lines} if self.skipped_lines else told

    def specified_json(self) -> JsonObject:
        """The same as specified, where lines that are no JSON do not count; the words beside it tell them."""
        return self._told(self.reasons)

    def _told(self, reasons: frozenset[str]) -> JsonObject:
        record: JsonObject = {
            "complete": not reasons,
            "indexedSessions": self.indexed_sessions,
            "eligibleSessions": self.eligible_sessions,
            "staleSessions": self.stale_sessions,
            "incompleteSessions": self.incomplete_sessions,
            "reasons": sorted(reasons),
        }
        return record if self.error is None else record | {"error": self.error}


def named_source(kind: SourceKind) -> JsonObject:
    """What an answer says of a session that is not Pi's; nothing of Pi's own."""
    return {} if kind == "pi" else {"source": kind}


def _word(flag: bool) -> str:
    return "true" if flag else "false"
