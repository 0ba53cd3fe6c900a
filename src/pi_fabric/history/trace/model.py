"""Trace V1: its shape, its words and its bounds.

A trace is the only thing of a run that outlives it. It holds what was called and how that ended, never
what was said: no source, no output, no text of a guest or a provider.
"""

from dataclasses import dataclass
from typing import Final, get_args

from pi_fabric.base.jsonvalue import UNDEFINED, Json, JsonObject
from pi_fabric.protocol.actions import Outcome, Stage

KIND: Final = "pi-fabric.execution"
VERSION: Final = 1

OUTCOMES: Final = frozenset(get_args(Outcome))
STAGES: Final = frozenset(get_args(Stage))

# All bounds are the specification's: a trace is read at each resume and must stay cheap.
MAX_TRACE_BYTES = 512 * 1024
MAX_OPERATIONS = 2_048
MAX_PHASES = 512
MAX_IDENTIFIER_BYTES = 1024
MAX_ERROR_BYTES = 8 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How much of what happened is not in the trace."""

    dropped_values: int = 0
    """Values left out: not on the allow list, or media."""
    truncated_values: int = 0
    """Values cut or shed for size."""
    redacted_values: int = 0
    """Values replaced because their key names a secret."""
    dropped_operations: int = 0
    """Whole operations left out."""

    def to_json(self) -> JsonObject:
        """The `counts` object of the format."""
        return {
            "droppedValues": self.dropped_values,
            "truncatedValues": self.truncated_values,
            "redactedValues": self.redacted_values,
            "droppedOperations": self.dropped_operations,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One call."""

    sequence: int
    """Order of arrival within the run; strictly increasing, with gaps where calls were left out."""
    ref: str
    """`provider.action` as called."""
    provider: str | None = None
    action: str | None = None
    args: JsonObject
    """What the allow list keeps of the executed arguments."""
    outcome: Outcome
    failure_stage: Stage | None = None
    """Where it failed; None when it succeeded."""
    error: str | None = None
    """Why it failed, or what the program did not get of a result that succeeded; no payload."""
    result: Json = UNDEFINED
    """What the allow list keeps of the result; UNDEFINED when nothing."""

    def to_json(self) -> JsonObject:
        """The operation object of the format; what is absent has no key."""
        record: JsonObject = {"type": "call", "sequence": self.sequence, "ref": self.ref}
        optional = {"provider": self.provider, "action": self.action}
        record |= {key: value for key, value in optional.items() if value is not None}
        record |= {"args": self.args, "outcome": self.outcome}
        optional = {"failureStage": self.failure_stage, "error": self.error}
        record |= {key: value for key, value in optional.items() if value is not None}
        if self.result is not UNDEFINED:
            record["result"] = self.result
        return record


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One finished run."""

    outcome: Outcome
    phases: tuple[str, ...]
    """Names in the order in which the program entered them."""
    operations: tuple[Operation, ...]
    """In order of `sequence`."""
    counts: Counts
    error: str | None = None
    """Why the run did not succeed; no payload."""

    def to_json(self) -> JsonObject:
        """The trace object of the format."""
        record: JsonObject = {
            "kind": KIND,
            "version": VERSION,
            "outcome": self.outcome,
            "phases": list(self.phases),
            "operations": [operation.to_json() for operation in self.operations],
            "counts": self.counts.to_json(),
        }
        if self.error is not None:
            record["error"] = self.error
        return record
