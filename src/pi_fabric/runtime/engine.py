"""The contract between a run and the sandbox that carries it out.

An engine knows only `host.call(ref, args)` and `host.notify(kind, payload)`; what a reference means is
none of its business. Everything that crosses is JSON.
"""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol, Self

from pi_fabric.base.clock import Deadline
from pi_fabric.base.jsonvalue import Json, JsonObject, Undefined

VALUES_MARK = "@"
"""Before a reference that comes with the values of a call instead of one object."""
COMPUTED_MARK = "="
"""Before a reference that the program made up itself (`tools.call`)."""

Termination = Literal["completed", "runtime_error", "timed_out", "aborted"]


def shown_ref(ref: str) -> str:
    """A reference as people know it, without the mark of the guest's library."""
    return ref[1:] if ref[:1] in (VALUES_MARK, COMPUTED_MARK) else ref


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What an engine runs."""

    javascript: str
    """A script that declares `async function program()`; its first line is the wrapper's."""
    strings: Mapping[str, str] = field(default_factory=dict[str, str])
    """Named strings, read in the guest as `π.key`."""
    surface: JsonObject = field(default_factory=dict[str, Json])
    """What the guest library is configured with: namespaces, call shapes, budgets."""
    is_errand: bool = False
    """True for a short program of ours that others may wait for: it takes none of their places."""


class GuestHost(Protocol):
    """The host's side of one run; the engine calls it from the host's event loop."""

    async def call(self, ref: str, args: Json) -> Json | Undefined:
        """Serve one host call; may be called concurrently. An exception rejects in the guest.

        A `FabricError` reaches the guest as an Error with its message and its `code`.
        """
        ...

    def notify(self, kind: str, payload: list[Json]) -> None:
        """Take a one-way message (`log`, `operation`, ...), in the order the guest sent them."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestError:
    """The error that ended a program."""

    name: str
    message: str
    stack: str
    """Frames as the engine wrote them, in positions of `Program.javascript`; may be empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineResult:
    """How a run ended. Nothing of it is left running."""

    termination: Termination
    value: Json
    """What the program returned; UNDEFINED when it returned nothing or did not complete."""
    error: GuestError | None
    """Set unless the program completed; names the limit when one was hit."""
    unawaited: tuple[str, ...] = ()
    """Refs of host calls that the program had not awaited when it ended."""
    abandoned: tuple[str, ...] = ()
    """Of those, refs that were still running at the deadline and were cancelled."""


class Engine(AbstractAsyncContextManager["Engine"], Protocol):
    """A sandbox. Runs may overlap; leaving the context ends every process it started."""

    async def __aenter__(self) -> Self:
        """Start what must be running before the first program; must be quick."""
        ...

    async def run(
        self, program: Program, host: GuestHost, *, deadline: Deadline, memory_bytes: int
    ) -> EngineResult:
        """Run one program to its end, the deadline, or cancellation of the caller.

        Never raises for what the program does. When the caller is cancelled, the guest and its host
        calls are ended before the cancellation propagates.

        Raises:
            SandboxLost: If the sandbox itself broke while the program ran.
            SandboxError: If it broke before.
        """
        ...
