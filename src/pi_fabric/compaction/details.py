"""The record beside a summary: what it covers, what it leaves out, and what it was made for.

It is stored with the compaction and never read back as truth: a later compaction only counts how many
summaries of ours came before it.
"""

from dataclasses import dataclass
from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from pi_fabric.base.jsonvalue import Json, JsonObject, is_object
from pi_fabric.compaction.instructions import InstructionPolicy

COMPACTOR: Final = "fabric"
VERSION: Final = 2
_RECALL: Final = "session-entry-id-range"

_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRange:
    """Two entries of one branch and what lies between."""

    first: str
    last: str

    def to_json(self) -> JsonObject:
        """The form that is stored."""
        return {"first": self.first, "last": self.last}


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How much the summary was made from."""

    branch_entries: int
    source_entries: int
    """Entries before the kept ones that told something."""
    source_events: int
    live_cut_entries: int
    """Entries of the live window that are no longer kept raw."""
    prior_v1: int
    prior_v2: int
    """Earlier summaries of ours on the branch, by version."""

    def to_json(self) -> JsonObject:
        """The form that is stored."""
        return {
            "branchEntries": self.branch_entries,
            "cumulativeSourceEntries": self.source_entries,
            "sourceEvents": self.source_events,
            "liveCutEntries": self.live_cut_entries,
            "priorFabricV1": self.prior_v1,
            "priorFabricV2": self.prior_v2,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """Version 2 of the record."""

    sections: tuple[str, ...]
    """Headers in the order in which they are shown; transcript and footer have none."""
    source_range: EntryRange
    live_cut_range: EntryRange
    counts: Counts
    omitted: dict[str, int]
    """Per projection that samples: what its caps left out."""
    policy: InstructionPolicy
    first_kept_entry_id: str
    """Empty when nothing is kept."""
    timestamp: str
    """Of the newest entry that told something; empty when it has none."""
    budget: JsonObject | None = None
    """How the cut was chosen; None without metadata of the model."""

    def to_json(self) -> JsonObject:
        """The form that is stored."""
        record: JsonObject = {
            "compactor": COMPACTOR,
            "version": VERSION,
            "sections": list(self.sections),
            "coverage": {
                "cumulativeSourceRange": self.source_range.to_json(),
                "liveCutRange": self.live_cut_range.to_json(),
            },
            "counts": self.counts.to_json(),
            "omittedCounts": {**self.omitted, "preserve": self.policy.omitted_preserve_count},
            "instructionPolicy": self.policy.to_json(),
            "stableAddresses": {
                "firstKeptEntryId": self.first_kept_entry_id,
                "cumulativeSourceRange": self.source_range.to_json(),
                "recall": _RECALL,
            },
        }
        if self.budget is not None:
            record["budget"] = self.budget
        return record | {"timestamp": self.timestamp}


def recorded_version(details: Json) -> Literal[1, 2] | None:
    """Which version of our record `details` is; None for anything that is not one to the letter."""
    if not is_object(details) or details.get("compactor") != COMPACTOR:
        return None
    version = details.get("version")
    if isinstance(version, bool) or version not in (1, VERSION):
        return None
    try:
        msgspec.convert(details, _Version1 if version == 1 else _Version2)
    except (msgspec.ValidationError, UnicodeEncodeError):
        # The latter for half a surrogate pair, which no record of ours holds.
        return None
    return 1 if version == 1 else 2


class _Stored(msgspec.Struct, rename="camel"):
    """Unknown keys are let through: a later release may add some."""


class _Range(_Stored):
    first: str
    last: str


class _Coverage(_Stored):
    cumulative_source_range: _Range
    live_cut_range: _Range


class _Counts(_Stored):
    branch_entries: _Count
    cumulative_source_entries: _Count
    source_events: _Count
    live_cut_entries: _Count
    prior_fabric_v1: Annotated[int, msgspec.Meta(ge=0)] = msgspec.field(name="priorFabricV1")
    prior_fabric_v2: Annotated[int, msgspec.Meta(ge=0)] = msgspec.field(name="priorFabricV2")


class _OmittedCounts(_Stored):
    goal: _Count
    files: _Count
    outstanding: _Count
    earlier_turns: _Count
    transcript: _Count
    preserve: _Count
    # Older records have no activity, and some have commits.
    activity: _Count = 0
    commits: _Count = 0


class _Policy(_Stored):
    mode: Literal["none", "plain", "typed-v1", "malformed-typed-prefix"]
    canonicalized: bool
    truncated: bool
    source_bytes: _Count
    preserve_count: _Count
    omitted_preserve_count: _Count


class _Addresses(_Stored):
    first_kept_entry_id: str
    cumulative_source_range: _Range
    recall: Literal["session-entry-id-range"]


class _Budget(_Stored):
    strategy: Literal["adaptive"]
    context_window: float
    target_context_ratio: float
    target_context_tokens: float
    reserve_tokens: float
    keep_recent_tokens: float
    raw_tokens_before: float
    token_scale: float
    fixed_overhead_tokens: float
    retained_raw_tokens: float
    projected_tokens_after: float


class _Version1(_Stored):
    sections: list[str]
    summarized_entry_range: _Range
    source_entry_count: _Count
    first_kept_entry_id: str
    timestamp: str


class _Version2(_Stored):
    sections: list[str]
    coverage: _Coverage
    counts: _Counts
    omitted_counts: _OmittedCounts
    instruction_policy: _Policy
    stable_addresses: _Addresses
    timestamp: str
    budget: _Budget | msgspec.UnsetType = msgspec.UNSET
