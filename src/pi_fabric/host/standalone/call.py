"""One call of a core tool: what the tool is told, and how its arguments become a struct."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypeVar

import msgspec

from pi_fabric.base.errors import ToolFailed
from pi_fabric.base.jsonvalue import Json, JsonObject, scrub
from pi_fabric.protocol.host import ToolResult

Arguments = TypeVar("Arguments", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """What a tool gets. A tool returns its result or raises `ToolFailed` with the text to show."""

    name: str
    args: JsonObject
    """Validated, canonical names."""
    cwd: Path
    """Folder that relative paths start from; absolute."""
    update: Callable[[Json], None]
    """Show a partial result."""

    def arguments(self, shape: type[Arguments]) -> Arguments:
        """The arguments as a struct; lone surrogates in them become U+FFFD.

        Raises:
            ToolFailed: If a value does not fit; names its path.
        """
        try:
            # Not strict: JavaScript has one kind of number, so a count may arrive as 5.0.
            return msgspec.convert(scrub(self.args), shape, strict=False)
        except msgspec.ValidationError as error:
            raise self.failed(f"the arguments do not fit: {error}") from error

    def failed(self, reason: str) -> ToolFailed:
        """The error that ends this call with `reason` as its text."""
        return ToolFailed(self.name, reason)


Tool: TypeAlias = Callable[[ToolCall], Awaitable[ToolResult]]
