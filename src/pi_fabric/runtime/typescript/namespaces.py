"""Namespaces that every program finds, and how many arguments their members take.

The number of arguments is the one thing that the type checker insists on, so it is written down here and
does not follow from a schema: `state.get({...})` is refused because `get` takes nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

Argument = Literal["none", "optional", "required"]
Rest = Literal["none", "action", "any"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace:
    """What is known of a namespace before its provider is asked."""

    description: str
    members: Mapping[str, Argument] = field(default_factory=dict[str, Argument])
    """Members and whether each takes an argument object; an action that is not here may take one."""
    rest: Rest = "none"
    """How a member that nobody has listed is typed: not at all, as an action, as anything."""
    needs_full_code_mode: bool = False


NAMESPACES: Final[Mapping[str, Namespace]] = {
    "agents": Namespace(description="Child agents and actors.", rest="action"),
    "compact": Namespace(description="Asks for a compaction of the session.", rest="action"),
    "extensions": Namespace(
        description="Tools of the host's other extensions.", rest="action", needs_full_code_mode=True
    ),
    "mcp": Namespace(
        description="Tools of MCP servers, as mcp.server.tool(...).",
        members={"servers": "none", "reload": "none", "register": "required", "call": "required"},
        rest="any",
    ),
    "memory": Namespace(
        description="Recorded sessions: recall finds (its text sums up), expand opens word for word.",
        members={"recall": "optional", "expand": "required", "sessions": "optional"},
    ),
    "mesh": Namespace(description="Topics and shared state between agents.", rest="action"),
    "pi": Namespace(
        description="The host's core tools.",
        members={
            "read": "required",
            "bash": "required",
            "edit": "required",
            "write": "required",
            "grep": "required",
            "find": "required",
            "ls": "optional",
        },
        needs_full_code_mode=True,
    ),
    "schema": Namespace(description="File changes under evidence.", rest="action"),
    "state": Namespace(
        description="The labelled state of the work.",
        members={
            "get": "none",
            "transition": "required",
            "history": "optional",
            "complexity": "optional",
            "verify": "optional",
            "goal": "required",
            "checkGoal": "optional",
        },
    ),
}
"""By name, in alphabetical order."""
