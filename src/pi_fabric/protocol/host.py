"""What the engine needs from the host it lives in: ports that Pi, the shell and tests implement."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.protocol.actions import ImageBlock, Risk


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a core tool of the host returned."""

    text: str
    """Text blocks joined by newlines."""
    images: tuple[ImageBlock, ...] = ()
    details: JsonObject | None = None
    """The tool's own details; None when it gave none."""
    is_error: bool = False
    """True when `text` is the reason of a failure."""
    executed_args: JsonObject | None = None
    """Arguments as executed when a hook of the host changed them."""


class ToolPort(Protocol):
    """The host's core tools: read, bash, edit, write, grep, find, ls."""

    async def run(
        self, name: str, args: JsonObject, *, call_id: str, cwd: Path, update: Callable[[Json], None]
    ) -> ToolResult:
        """Run one tool; cancellation of the awaiting task ends it.

        Raises:
            Unavailable: If the host cannot run this tool; the hint says how to get it.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalQuestion:
    """What the user is asked once per risk class and execution."""

    risk: Risk
    ref: str
    """The call that raised the question."""
    detail: str
    """What it would do, cut to a line; empty when nothing may be shown."""


class ApprovalPort(Protocol):
    """Asks the user."""

    @property
    def has_ui(self) -> bool:
        """False means that every question is refused."""
        ...

    async def confirm(self, question: ApprovalQuestion) -> bool:
        """True when the user said yes; closing the question is a no."""
        ...


class ModelsPort(Protocol):
    """Lists the models the host could talk to."""

    async def list(self) -> Sequence[JsonObject]:
        """Shape of each: `{provider, id, name, key}`."""
        ...


class CompactionPort(Protocol):
    """Takes requests for a compaction; the host makes it when the agent has settled."""

    def request(
        self,
        *,
        reason: str | None = None,
        instructions: str | None = None,
        preserve: Sequence[str] | None = None,
        requested_by: str | None = None,
    ) -> JsonObject:
        """Keep a request in place of one that waits; returns it as programs see it.

        Raises:
            RequestError: If it is out of bounds.
        """
        ...

    def status(self) -> JsonObject:
        """`{pending?, last?}`."""
        ...

    def cancel(self) -> None:
        """Drop the request that waits."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSession:
    """The session that a program runs in, as its host holds it right now."""

    file: Path | None
    """Where it is persisted; None for one that is kept in memory only."""
    branch_ids: tuple[str, ...]
    """Ids of the entries of the active branch, root first."""
    leaf_id: str | None
    """Entry that the next one will follow; None before the first."""


class SessionPort(Protocol):
    """Tells of the live session; asked anew for every action, since navigation appends nothing."""

    async def current(self) -> LiveSession | None:
        """The session with its active branch; None when there is none.

        Raises:
            Unavailable: If the host does not answer in time.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPorts:
    """Everything a host offers; an absent port means that what needs it is unavailable."""

    tools: ToolPort | None = None
    approvals: ApprovalPort | None = None
    models: ModelsPort | None = None
    compaction: CompactionPort | None = None
    session: SessionPort | None = None
