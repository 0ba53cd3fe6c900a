"""`pi.*`: the host's core tools, as a program calls them.

The descriptors follow the tools of the Pi coding agent. What carries a tool out is the host's port: Pi's
own implementation inside Pi, ours elsewhere.
"""

import re
from collections.abc import Sequence
from typing import Annotated

import msgspec

from pi_fabric.actions.descriptor import define
from pi_fabric.base.errors import ToolFailed, Unavailable
from pi_fabric.base.jsonvalue import Json, JsonObject, is_object
from pi_fabric.protocol.actions import Action, CallContext, CallShape
from pi_fabric.protocol.host import ToolPort, ToolResult
from pi_fabric.providers.surroundings import Surroundings

PathText = Annotated[str, msgspec.Meta(description="File or folder; relative to the working folder")]
Limit = Annotated[int, msgspec.Meta(ge=1, description="Most lines or entries to return")]
PATTERN_ALIASES = {"pattern": ("query", "regex", "search"), "limit": ("max",)}
# Tools whose result is the text itself; the others return `{ok, output, details}`.
TEXT_TOOLS = frozenset({"read", "grep", "find", "ls"})
# A command that was given more time than the run has left gets it, up to what a run may have at the most.
MAX_RUN_S = 900.0
# For the host to end a command at its own limit before the run's limit ends it.
BASH_GRACE_S = 5.0
_EXIT_SENTENCE = re.compile(r"exited with code (\d+)\s*$")


class ReadArguments(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Arguments of `pi.read`."""

    path: PathText
    offset: Annotated[int, msgspec.Meta(ge=1, description="First line, from 1")] | msgspec.UnsetType = (
        msgspec.UNSET
    )
    limit: Limit | msgspec.UnsetType = msgspec.UNSET


class BashArguments(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Arguments of `pi.bash`."""

    command: Annotated[str, msgspec.Meta(description="Command line for the shell")]
    timeout: Annotated[float, msgspec.Meta(gt=0, description="Seconds")] | msgspec.UnsetType = msgspec.UNSET
    settle: (
        Annotated[bool, msgspec.Meta(description="Return a non-zero exit as a value, not as an error")]
        | msgspec.UnsetType
    ) = msgspec.UNSET


class Edit(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """One replacement of `pi.edit`."""

    oldText: Annotated[str, msgspec.Meta(min_length=1, description="Exact text; must be unique")]
    newText: str
    all: Annotated[bool, msgspec.Meta(description="Replace every occurrence")] | msgspec.UnsetType = (
        msgspec.UNSET
    )


class EditArguments(msgspec.Struct, forbid_unknown_fields=True):
    """Arguments of `pi.edit`."""

    path: PathText
    edits: Annotated[list[Edit], msgspec.Meta(min_length=1)]


class WriteArguments(msgspec.Struct, forbid_unknown_fields=True):
    """Arguments of `pi.write`."""

    path: PathText
    content: str


class GrepArguments(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Arguments of `pi.grep`."""

    pattern: Annotated[str, msgspec.Meta(description="Regular expression, or text with `literal`")]
    path: PathText | msgspec.UnsetType = msgspec.UNSET
    glob: Annotated[str, msgspec.Meta(description="Only files like this")] | msgspec.UnsetType = msgspec.UNSET
    ignoreCase: bool | msgspec.UnsetType = msgspec.UNSET
    literal: bool | msgspec.UnsetType = msgspec.UNSET
    context: Annotated[int, msgspec.Meta(ge=0, description="Lines around a match")] | msgspec.UnsetType = (
        msgspec.UNSET
    )
    limit: Limit | msgspec.UnsetType = msgspec.UNSET


class FindArguments(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Arguments of `pi.find`."""

    pattern: Annotated[str, msgspec.Meta(description="Glob, such as **/*.py")]
    path: PathText | msgspec.UnsetType = msgspec.UNSET
    limit: Limit | msgspec.UnsetType = msgspec.UNSET


class LsArguments(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Arguments of `pi.ls`."""

    path: PathText | msgspec.UnsetType = msgspec.UNSET
    limit: Limit | msgspec.UnsetType = msgspec.UNSET


DONE = "{ ok: boolean; output: string; details: any; [key: string]: any }"

ACTIONS: tuple[Action, ...] = (
    define(
        "read",
        ReadArguments,
        "read",
        "Read a file as text, in a window of lines; the end says how to go on.",
        returns="string",
        shape=CallShape(
            shorthand="path", aliases={"path": ("file",), "limit": ("max",), "offset": ("start",)}
        ),
    ),
    define(
        "bash",
        BashArguments,
        "execute",
        "Run a shell command; a non-zero exit is an error unless `settle` is true.",
        returns=DONE,
        shape=CallShape(
            shorthand="command",
            aliases={"command": ("cmd", "shell", "cmdline")},
            milliseconds={"timeoutMs": "timeout"},
        ),
    ),
    define(
        "edit",
        EditArguments,
        "write",
        "Replace exact, unique text in a file; all edits or none.",
        returns=DONE,
        shape=CallShape(
            positional=("path", "oldText", "newText"),
            aliases={"path": ("file",), "oldText": ("old",), "newText": ("new", "replacement")},
            gathered={"edits": ("oldText", "newText", "all")},
            elements={"edits": {"oldText": ("old",), "newText": ("new", "replacement")}},
        ),
    ),
    define(
        "write",
        WriteArguments,
        "write",
        "Write a whole file, making its folders; says whether it was created.",
        returns=DONE,
        shape=CallShape(
            positional=("path", "content"),
            aliases={"path": ("file",), "content": ("contents", "body", "text")},
        ),
    ),
    define(
        "grep",
        GrepArguments,
        "read",
        "Search file contents by regular expression; gives path:line: text, paths from the working folder.",
        returns="string",
        shape=CallShape(
            shorthand="pattern",
            positional=("pattern", "path", "limit"),
            aliases=PATTERN_ALIASES
            | {"ignoreCase": ("ic", "caseInsensitive"), "glob": ("globPattern",), "context": ("ctx",)},
        ),
    ),
    define(
        "find",
        FindArguments,
        "read",
        "Find files by glob; gives one path a line, from `path`.",
        returns="string",
        shape=CallShape(
            shorthand="pattern", positional=("pattern", "path", "limit"), aliases=PATTERN_ALIASES
        ),
    ),
    define(
        "ls",
        LsArguments,
        "read",
        "List a folder.",
        returns="string",
        shape=CallShape(shorthand="path", aliases={"path": ("dir", "file"), "limit": ("max",)}),
    ),
)


class PiProvider:
    """Offers the host's core tools; without a port for them every call says so."""

    name = "pi"
    description = "Files and shell of the working folder: read, bash, edit, write, grep, find, ls."

    def __init__(self, tools: ToolPort | None) -> None:
        self._tools = tools

    async def actions(self) -> Sequence[Action]:
        """The seven core tools."""
        return ACTIONS

    async def invoke(self, name: str, args: JsonObject, context: CallContext) -> Json:
        """Run a tool: text for the reading ones, `{ok, output, details}` for the others.

        Raises:
            ToolFailed: With the tool's own text; `bash` only without `settle` or when no exit code is known.
            Unavailable: If the host has no tools.
        """
        if self._tools is None:
            raise Unavailable("this host offers no core tools", "run inside Pi or with `pi-fabric exec`.")
        if name == "bash" and "timeout" in args:
            context.deadline.allow(args["timeout"] + BASH_GRACE_S, at_most_s=MAX_RUN_S)
        settle = args.get("settle") is True
        passed = {key: value for key, value in args.items() if key != "settle"}
        result = await self._tools.run(
            name, passed, call_id=context.call_id, cwd=context.cwd, update=context.update
        )
        for image in result.images:
            context.attach(image)
        if result.executed_args is not None:
            context.executed(result.executed_args)
        return _value_of(name, result, ref=context.ref, settle=settle)


def offer(around: Surroundings) -> PiProvider:
    """The provider for a host; without tools it is there and says so."""
    return PiProvider(around.ports.tools)


def _value_of(name: str, result: ToolResult, *, ref: str, settle: bool) -> Json:
    if result.is_error:
        exit_code = _exit_code(result) if settle else None
        if exit_code is None:
            raise ToolFailed(ref, result.text)
        error = f"the command exited with code {exit_code}"
        return {"ok": False, "exitCode": exit_code, "output": result.text, "error": error}
    if name in TEXT_TOOLS:
        return result.text
    return {"ok": True, "output": result.text, "details": _without_repeated_text(result.details)}


def _exit_code(result: ToolResult) -> int | None:
    code = (result.details or {}).get("exitCode")
    if isinstance(code, int):
        return code
    # Pi's own tool tells the code only at the end of its text.
    said = _EXIT_SENTENCE.search(result.text)
    return int(said.group(1)) if said else None


def _without_repeated_text(details: JsonObject | None) -> JsonObject | None:
    """Details whose truncation record does not carry the output a second time."""
    truncation = (details or {}).get("truncation")
    if details is None or not is_object(truncation) or "content" not in truncation:
        return details
    kept = {key: value for key, value in truncation.items() if key != "content"}
    return {**details, "truncation": kept}
