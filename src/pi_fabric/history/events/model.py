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
class _Told:
    """What every event says of where it stands; see the module."""

    entry_id: str
    source_entry_id: str
    index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _ToldInside(_Told):
    """An event inside a program's run, which has an address of its own."""

    subordinal: str
    """`phase:N` for a phase; for an operation, what tells it from the others of its entry."""

    @property
    def address(self) -> str:
        """Where `expand` opens it."""
        return f"{self.entry_id}/{self.subordinal}"


@dataclass(frozen=True, slots=True, kw_only=True)
class UserText(_Told):
    """The user said something; `text` may be empty."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking(_Told):
    """The model thought; what, is never kept."""

    is_empty: bool = False
    """True when the part had no text to keep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantText(_Told):
    """The model said something."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalled(_Told):
    """The model called a tool."""

    tool_call_id: str
    name: str
    args: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResulted(_Told):
    """A tool other than bash returned."""

    tool_call_id: str
    """Empty when the result names no call."""
    tool_name: str
    is_error: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BashRan(_Told):
    """A command ran, by the model or by the user."""

    tool_call_id: str
    """Empty for a command of the user's."""
    command: str
    """Empty when only the result is known."""
    is_error: bool
    exit_code: int | float | None
    error: str | None
    """Text of the failure; None when it did not fail or said nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomMessage(_Told):
    """An extension put a message into the model's context."""

    custom_type: str
    text: str
    display: bool
    details: Json = UNDEFINED
    """Bounded JSON; UNDEFINED when there is none or it does not fit the bounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricPhase(_ToldInside):
    """A program began a phase."""

    phase: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricOperation(_ToldInside):
    """A program called something."""

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
