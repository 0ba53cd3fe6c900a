"""What happens during one run, as one stream.

The trace recorder, the activity store and the live partials are subscribers; none of them is called
by the pipeline in any other way. A subscriber must not block and must not raise.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.protocol.actions import Outcome, Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStarted:
    """A call arrived; `sequence` counts calls of the run from 0 in order of arrival."""

    sequence: int
    call_id: str
    ref: str
    args: Json
    """As the program sent them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResolved:
    """The registry knows whom the call is for."""

    sequence: int
    provider: str
    action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPrepared:
    """The arguments as executed, after repair and the host's hooks; may come more than once."""

    sequence: int
    args: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class CallUpdated:
    """A partial result."""

    sequence: int
    partial: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEnded:
    """The call is over."""

    sequence: int
    outcome: Outcome
    stage: Stage | None
    """Where it failed; None when it succeeded."""
    cause: str | None
    """Why, in words that carry no payload: a policy, a schema path, a limit. None when unknown."""
    error: str | None
    """What the program was told; may carry payload, so it is never persisted."""
    result: Json
    """What the program got, or the failed record; UNDEFINED when there is none."""
    truncated: bool = False
    """True when the program got less than the provider returned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseStarted:
    """The program named a phase."""

    index: int
    name: str
    id: str | None = None
    description: str | None = None
    total: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressReported:
    """A line for the person who waits."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogWritten:
    """The program printed one line."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityUpdated:
    """The program described its own work: the whole workflow, one item of it, or an event."""

    kind: Literal["workflow", "item", "event"]
    data: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityUpdated:
    """A call told of something that lives on after it: a request, an agent, an actor."""

    sequence: int
    entity: JsonObject
    """`kind` and `id`, and what there is to show of it."""


ExecutionEvent: TypeAlias = (
    CallStarted
    | CallResolved
    | CallPrepared
    | CallUpdated
    | CallEnded
    | PhaseStarted
    | ProgressReported
    | LogWritten
    | ActivityUpdated
    | EntityUpdated
)
EventSink: TypeAlias = Callable[[ExecutionEvent], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicEvent:
    """Something of Fabric's own that other participants may want to hear of."""

    topic: str
    """Reserved: begins with `fabric.`."""
    kind: str
    data: JsonObject


TopicSink: TypeAlias = Callable[[TopicEvent], None]
"""Passes an event on as well as it can; must not block and must not raise."""
