"""Read the arguments of `fabric_exec`, forgiving what models get wrong without changing what they mean."""

import re
from typing import Annotated, Literal

import msgspec

from pi_fabric.actions.arguments import repair, validate
from pi_fabric.actions.descriptor import define
from pi_fabric.base.errors import InvalidArguments
from pi_fabric.base.jsonvalue import Json, JsonObject, is_array, is_object
from pi_fabric.execution.model import ExecRequest

TOOL_NAME = "fabric_exec"
_FENCE = re.compile(
    r"\A\s*(?P<ticks>`{3,})[ \t]*[\w+-]*[ \t]*\r?\n(?P<code>.*?)\r?\n?(?P=ticks)\s*\Z", re.DOTALL
)


class Display(msgspec.Struct, omit_defaults=True):
    """What a person sees as the run's title."""

    name: str | msgspec.UnsetType = msgspec.UNSET
    description: str | msgspec.UnsetType = msgspec.UNSET


class ExecArguments(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """Arguments of `fabric_exec`."""

    code: Annotated[
        str,
        msgspec.Meta(description="TypeScript: the body of an async function; `return` gives the result"),
    ]
    strings: (
        Annotated[
            dict[str, str], msgspec.Meta(description="Texts for the program, read as π.key, byte for byte")
        ]
        | msgspec.UnsetType
    ) = msgspec.UNSET
    resultFormat: Literal["auto", "yaml", "json", "text"] | msgspec.UnsetType = msgspec.UNSET
    tokenBudget: (
        Annotated[float, msgspec.Meta(ge=1, description="Tokens that agents of this run may use")]
        | msgspec.UnsetType
    ) = msgspec.UNSET
    agentBudget: (
        Annotated[float, msgspec.Meta(ge=1, description="Agents that this run may start")] | msgspec.UnsetType
    ) = msgspec.UNSET
    display: Annotated[Display, msgspec.Meta(description="Title of the run")] | msgspec.UnsetType = (
        msgspec.UNSET
    )


FABRIC_EXEC = define(
    TOOL_NAME,
    ExecArguments,
    "execute",
    "Run a TypeScript program in a sandbox; it calls tools and returns only its result.",
)


def parse_request(arguments: Json) -> ExecRequest:
    """Read one request.

    A bare string is the code, a list of strings its lines; null stands for absent where something is
    optional; a code fence around the program is taken off.

    Raises:
        InvalidArguments: With each problem's property path.
    """
    repaired = repair(FABRIC_EXEC, _normalize(arguments))
    validate(FABRIC_EXEC, TOOL_NAME, repaired)
    if "code" not in repaired:
        raise InvalidArguments(TOOL_NAME, ["code: is required and missing"])
    display = repaired.get("display", {})
    agent_budget = repaired.get("agentBudget")
    return ExecRequest(
        code=strip_fence(repaired["code"]),
        strings=repaired.get("strings", {}),
        result_format=repaired.get("resultFormat"),
        token_budget=repaired.get("tokenBudget"),
        agent_budget=None if agent_budget is None else int(agent_budget),
        display_name=display.get("name"),
        display_description=display.get("description"),
    )


def strip_fence(code: str) -> str:
    """Take off one Markdown code fence that encloses the whole program."""
    fenced = _FENCE.match(code)
    return fenced.group("code") if fenced else code


def _normalize(arguments: Json) -> JsonObject:
    if isinstance(arguments, str):
        return {"code": arguments}
    if not is_object(arguments):
        return {}
    normalized = dict(arguments)
    code = normalized.get("code")
    if is_array(code) and all(isinstance(line, str) for line in code):
        normalized["code"] = "\n".join(code)
    display = normalized.get("display")
    if isinstance(display, str):
        normalized["display"] = {"name": display}
    elif is_object(display):
        normalized["display"] = {key: value for key, value in display.items() if isinstance(value, str)}
    return normalized
