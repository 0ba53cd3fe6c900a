"""What the extension sends, decoded and checked at the edge. Names on the wire are JavaScript's."""

from typing import TypeVar

import msgspec

from pi_fabric.base.errors import InvalidArguments
from pi_fabric.base.jsonvalue import Json, JsonObject

PROTOCOL = 1
"""Version of the line; the extension and the sidecar come in one package, so it must be equal."""


class Hello(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Parameters of `initialize`: what Pi is and where it works."""

    protocol: int
    pi_version: str
    mode: str
    """tui, rpc, json or print."""
    cwd: str
    agent_dir: str
    is_trusted: bool
    """Pi's own verdict on the project, true by default for a folder without settings."""
    has_ui: bool = msgspec.field(name="hasUI")


class Execute(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Parameters of `execute`: one call of `fabric_exec`."""

    execution: str
    """Pi's id of the tool call."""
    arguments: Json
    """As the model sent them, after Pi's validation."""
    has_ui: bool = msgspec.field(name="hasUI")


Params = TypeVar("Params")


def convert(method: str, params: JsonObject, shape: type[Params]) -> Params:
    """Check the parameters of one method.

    Raises:
        InvalidArguments: If they do not fit; the message names the path.
    """
    try:
        return msgspec.convert(params, shape)
    except msgspec.ValidationError as error:
        raise InvalidArguments(method, [str(error)]) from None
