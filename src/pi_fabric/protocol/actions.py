"""What an action is, and what a provider must offer.

One `Action` generates the JSON Schema, the guest's declarations, `tools.describe`, argument repair and
the reference page; nothing about an action is written a second time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from pi_fabric.base.clock import Deadline
from pi_fabric.base.jsonvalue import Json, JsonObject

Risk = Literal["read", "write", "execute", "network", "agent"]
Stage = Literal["resolve", "guard", "prepare", "validate", "approve", "invoke"]
"""Where a call can fail; the trace records it as `failureStage`."""
Outcome = Literal["succeeded", "failed", "aborted", "timed_out"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallShape:
    """How the guest may write a call besides passing one object."""

    shorthand: str | None = None
    """Argument that a bare string stands for."""
    positional: tuple[str, ...] = ()
    """Arguments that two or more positional values stand for, in order."""
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Canonical argument to the other names it answers to; an alias loses to its canonical name."""
    milliseconds: Mapping[str, str] = field(default_factory=dict[str, str])
    """Names given in milliseconds to the argument in seconds that they set."""
    gathered: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """List argument to the names which, given flat, make up its one element."""
    elements: Mapping[str, Mapping[str, tuple[str, ...]]] = field(
        default_factory=dict[str, Mapping[str, tuple[str, ...]]]
    )
    """List argument to the aliases within its elements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One thing a program can call, as `provider.name`."""

    name: str
    """Name within the provider; may hold dots (`server.tool`)."""
    description: str
    """One line for the model."""
    risk: Risk
    """Class that approvals decide by."""
    input_schema: JsonObject
    """JSON Schema of the argument object."""
    arguments: type[msgspec.Struct] | None = None
    """The struct that the schema was made from; None when the schema is somebody else's."""
    output_schema: JsonObject | None = None
    """JSON Schema of the result, when it is known."""
    returns: str = "any"
    """Result type in TypeScript, without the Promise."""
    namespace: str | None = None
    """Group inside the provider, such as an MCP server."""
    approval_risks: tuple[Risk, ...] = ()
    """Classes to ask for in order, when more than `risk` alone."""
    shape: CallShape | None = None
    """Call shapes besides one object; None accepts only that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageBlock:
    """An image that a tool returned; goes to the outer result, never into the guest."""

    data: str
    """Base64."""
    mime_type: str


@dataclass(slots=True, kw_only=True)
class CallContext:
    """What a provider knows about the call it serves, and what it may tell about it."""

    call_id: str
    """Nested call id, `fabric_` and a UUID."""
    ref: str
    """`provider.action` as called."""
    cwd: Path
    deadline: Deadline
    """Of the whole run; a provider may extend it, never shorten it."""
    update: Callable[[Json], None]
    """Show a partial result; bounded and throttled by the subscriber."""
    attach: Callable[[ImageBlock], None]
    """Add an image to the outer tool result."""
    executed: Callable[[JsonObject], None]
    """Report arguments that a hook of the host changed before the call ran."""
    activity: Callable[[JsonObject], None]
    """Tell of something that lives on after the call: `kind` and `id`, and what there is to show."""


class Provider(Protocol):
    """A namespace a program can call. Stateless towards the caller; may be called concurrently."""

    @property
    def name(self) -> str:
        """`[a-z][a-z0-9_-]*`."""
        ...

    @property
    def description(self) -> str:
        """One line for `tools.providers`."""
        ...

    async def actions(self) -> Sequence[Action]:
        """All actions offered now, in the order of listing."""
        ...

    async def invoke(self, name: str, args: JsonObject, context: CallContext) -> Json:
        """Carry out one action.

        `args` has been repaired, validated and approved. Returns JSON or `UNDEFINED`.

        Raises:
            FabricError: If the action failed; the message reaches the program.
        """
        ...
