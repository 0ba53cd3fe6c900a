"""What was done, whoever did it: tool calls of the model, commands, and calls from within programs.

Tool calls and results are paired by call id alone. A direct operation is addressed by the entry of its
call, a command by the entry of its result, a nested one by `entry/sequence`.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from pi_fabric.base.jsonvalue import UNDEFINED, Json, JsonObject
from pi_fabric.base.jstext import truncate, truncate_start
from pi_fabric.history.events.file_tools import FILE_TOOLS, path_argument
from pi_fabric.history.events.model import BashRan, Event, FabricOperation, ToolCalled, ToolResulted
from pi_fabric.protocol.actions import Outcome

BASH: Final = "bash"
_NO_ARGS: Final[JsonObject] = {}
_CORE_PREFIX: Final = "pi."
# A bare name in a trace is one of Pi's own as well.
_CORE_PROVIDERS: Final = frozenset({None, "pi"})


class Performed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One finished operation. A lean struct and no dataclass: a long branch has tens of thousands."""

    index: int
    """Of the event that tells its end."""
    address: str
    ref: str
    tool: str | None
    """Name among Pi's own tools, bare; None for anything else."""
    args: JsonObject
    """As given; empty for a command of the user's and for a result without its call."""
    path: str | None
    """The path as given, when this is a file tool with one."""
    command: str | None
    """The command as given, when this is bash with one."""
    outcome: Outcome
    error: str | None = None
    """Its own words; None when it did not fail or said nothing."""
    result: Json = UNDEFINED
    is_nested: bool = False

    @property
    def succeeded(self) -> bool:
        """True when it did what it was asked."""
        return self.outcome == "succeeded"

    @property
    def ending(self) -> str:
        """Its outcome in words."""
        return self.outcome.replace("_", " ")

    @property
    def file_tool(self) -> str | None:
        """The file tool's name; None when it is not one."""
        return self.tool if self.tool in FILE_TOOLS else None

    def target(self, max_units: int) -> str:
        """The path or command that it worked on, on one line of at most `max_units`; empty without one.

        Of a path the end is kept, of a command the start.
        """
        if self.path is not None:
            return truncate_start(self.path, max_units)
        return truncate(self.command or "", max_units)


class Pairing:
    """Pairs calls with their results while events pass by.

    A call and a result belong together wherever they stand; of several calls with one id the last counts. A
    result without a call is an operation without arguments, addressed by itself.
    """

    def __init__(self) -> None:
        self._calls: dict[str, ToolCalled] = {}
        self._ends: list[ToolResulted | BashRan | FabricOperation] = []

    def add(self, event: Event) -> None:
        """Take in the next event; what neither calls nor ends anything is passed over."""
        if isinstance(event, ToolCalled):
            self._calls[event.tool_call_id] = event
        elif isinstance(event, ToolResulted | BashRan | FabricOperation):
            self._ends.append(event)

    def operations(self) -> list[Performed]:
        """Every finished operation so far, in the order in which they ended."""
        # An empty id says nothing about who belongs to whom.
        self._calls.pop("", None)
        return [self._performed(event) for event in self._ends]

    def _performed(self, event: ToolResulted | BashRan | FabricOperation) -> Performed:
        if isinstance(event, ToolResulted):
            return _direct(event, self._calls.get(event.tool_call_id))
        return _ran(event) if isinstance(event, BashRan) else _nested(event)


def operations_of(events: Iterable[Event]) -> list[Performed]:
    """Every finished operation of a branch, in the order in which they ended."""
    pairing = Pairing()
    for event in events:
        pairing.add(event)
    return pairing.operations()


def _direct(event: ToolResulted, call: ToolCalled | None) -> Performed:
    ref, args = (call.name, call.args) if call else (event.tool_name, _NO_ARGS)
    tool = _core_tool(ref.removeprefix(_CORE_PREFIX))
    return Performed(
        index=event.index,
        address=call.entry_id if call else event.entry_id,
        ref=ref,
        tool=tool,
        args=args,
        path=_path(tool, args),
        command=_command(tool, args),
        outcome="failed" if event.is_error else "succeeded",
        error=event.text if event.is_error else None,
    )


def _ran(event: BashRan) -> Performed:
    return Performed(
        index=event.index,
        address=event.entry_id,
        ref=BASH,
        tool=BASH,
        args=_NO_ARGS,
        path=None,
        command=event.command,
        outcome="failed" if event.is_error else "succeeded",
        error=event.error,
    )


def _nested(event: FabricOperation) -> Performed:
    # Other providers have tools of these names too.
    tool = _core_tool(event.tool) if event.provider in _CORE_PROVIDERS else None
    return Performed(
        index=event.index,
        address=event.address,
        ref=event.ref,
        tool=tool,
        args=event.args,
        path=_path(tool, event.args),
        command=_command(tool, event.args),
        outcome=event.outcome,
        error=event.error,
        result=event.result,
        is_nested=True,
    )


def _core_tool(name: str) -> str | None:
    return name if name in FILE_TOOLS or name == BASH else None


def _path(tool: str | None, args: JsonObject) -> str | None:
    named = path_argument(args) if tool in FILE_TOOLS else None
    return None if named is None else named[1]


def _command(tool: str | None, args: JsonObject) -> str | None:
    given = args.get("command") if tool == BASH else None
    return given if isinstance(given, str) else None
