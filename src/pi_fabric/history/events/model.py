"""What happened in a session, typed: the one vocabulary that compaction and memory read.

An event says where it comes from. `entry_id` is the entry that tells it, or the entry that a branch summary
says it was told in; `source_entry_id` is always an entry of the branch at hand. `index` counts the events
of one normalization from 1.
"""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from pi_fabric.base.jsonvalue import UNDEFINED, Json, JsonObject
from pi_fabric.protocol.actions import Outcome

BASH_TOOL: Final = "bash"
"""The tool whose results are commands."""
FABRIC_TOOL: Final = "fabric_exec"
"""The tool whose results hold traces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserText:
    """The user said something; `text` may be empty."""

    entry_id: str
    source_entry_id: str
    index: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    """The model thought; what, is never kept."""

    entry_id: str
    source_entry_id: str
    index: int
    is_empty: bool = False
    """True when the part had no text to keep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantText:
    """The model said something."""

    entry_id: str
    source_entry_id: str
    index: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalled:
    """The model called a tool."""

    entry_id: str
    source_entry_id: str
    index: int
    tool_call_id: str
    name: str
    args: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResulted:
    """A tool other than bash returned."""

    entry_id: str
    source_entry_id: str
    index: int
    tool_call_id: str
    """Empty when the result names no call."""
    tool_name: str
    is_error: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BashRan:
    """A command ran, by the model or by the user."""

    entry_id: str
    source_entry_id: str
    index: int
    tool_call_id: str
    """Empty for a command of the user's."""
    command: str
    """Empty when only the result is known."""
    is_error: bool
    exit_code: int | float | None
    error: str | None
    """Text of the failure; None when it did not fail or said nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomMessage:
    """An extension put a message into the model's context."""

    entry_id: str
    source_entry_id: str
    index: int
    custom_type: str
    text: str
    display: bool
    details: Json = UNDEFINED
    """Bounded JSON; UNDEFINED when there is none or it does not fit the bounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricPhase:
    """A program began a phase."""

    entry_id: str
    source_entry_id: str
    index: int
    subordinal: str
    """`phase:N`."""
    phase: str

    @property
    def address(self) -> str:
        """Where `expand` opens it."""
        return f"{self.entry_id}/{self.subordinal}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricOperation:
    """A program called something."""

    entry_id: str
    source_entry_id: str
    index: int
    subordinal: str
    """The operation's sequence."""
    ref: str
    tool: str
    """Name of the tool for the core ones, else of the action."""
    args: JsonObject
    outcome: Outcome
    source: Literal["trace", "legacy", "branch"]
    """Told by a V1 trace, by legacy audits, or by a branch summary's facts."""
    provider: str | None = None
    action: str | None = None
    error: str | None = None
    result: Json = UNDEFINED

    @property
    def address(self) -> str:
        """Where `expand` opens it."""
        return f"{self.entry_id}/{self.subordinal}"


Event: TypeAlias = (
    UserText
    | Thinking
    | AssistantText
    | ToolCalled
    | ToolResulted
    | BashRan
    | CustomMessage
    | FabricPhase
    | FabricOperation
)
