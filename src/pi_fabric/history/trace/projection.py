"""What a trace keeps of a call: an allow list per exact reference, and nothing else.

A reference that is not in the table keeps no arguments. A new action becomes visible in traces by one
line here.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias

from pi_fabric.base.jsonvalue import MAX_SAFE_INTEGER, UNDEFINED, Json, JsonObject, is_number, is_object
from pi_fabric.history.trace.sanitize import Kept, sanitize

Field: TypeAlias = Literal["id", "path", "number", "text"]

# What is longer than a kibibyte is no name.
_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9\-./:_]{0,1023}")
_DRIVE_PATH = re.compile(r"[A-Za-z]:[\\/]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_QUERY_OR_FRAGMENT = re.compile("[?#]")
# What URL parsers skip at the start of a text.
_BLANKS = "".join(map(chr, range(0x21)))

_ID_TAKING = (
    "wait", "status", "stop", "cleanup", "ask", "tell", "steer", "followUp", "setSteeringMode",
    "setFollowUpMode", "actorStatus", "setEvents", "setInstructions", "messages", "remove", "log",
)  # fmt: skip

ARGUMENTS: Final[Mapping[str, Mapping[str, Field]]] = {
    "fabric.discovery.list": {"provider": "id", "namespace": "id", "limit": "number"},
    "fabric.discovery.search": {"limit": "number"},
    "fabric.discovery.describe": {"ref": "id"},
    "fabric.workflow.configure": {"name": "text"},
    "fabric.workflow.phase": {"name": "text", "id": "id", "total": "number"},
    "fabric.workflow.item": {
        "id": "id", "status": "id", "phase": "id", "kind": "id", "total": "number", "completed": "number",
    },
    "fabric.workflow.event": {"level": "id"},
    "fabric.workflow.parallel": {
        "kind": "id", "itemCount": "number", "stageCount": "number", "concurrency": "number",
    },
    "fabric.workflow.pipeline": {
        "kind": "id", "itemCount": "number", "stageCount": "number", "concurrency": "number",
    },
    "pi.read": {"path": "path", "offset": "number", "limit": "number"},
    "pi.grep": {"path": "path", "context": "number", "limit": "number"},
    "pi.find": {"path": "path", "limit": "number"},
    "pi.ls": {"path": "path", "limit": "number"},
    "pi.edit": {"path": "path"},
    "pi.write": {"path": "path"},
    "pi.bash": {"command": "text"},
    "mesh.publish": {"topic": "text", "to": "text"},
    "mesh.read": {"topic": "text", "to": "text", "after": "number", "limit": "number"},
    "mesh.get": {"key": "text"},
    "mesh.put": {"key": "text"},
    "mesh.delete": {"key": "text"},
    "mesh.list": {"prefix": "text", "limit": "number"},
    **{f"agents.{name}": {"id": "text"} for name in _ID_TAKING},
}  # fmt: skip


def project_arguments(ref: str, args: Json) -> Kept:
    """Reduce a call's arguments to what the table allows for `ref`.

    Args:
        ref: As called.
        args: As sent or executed; anything but an object keeps nothing and counts as one value.

    Returns:
        An object with sorted keys; every top-level key that is not in it counts as dropped.
    """
    if not is_object(args):
        return Kept(value={}, dropped=0 if args is UNDEFINED else 1)
    fields = ARGUMENTS.get(ref, {})
    present = {key: _READERS[fields[key]](args[key]) for key in fields if key in args}
    allowed = {key: value for key, value in present.items() if value is not None}
    return sanitize(allowed, dropped=len(args) - len(allowed))


def project_result(ref: str, result: Json) -> Kept:
    """Reduce a result to what may be kept: that `pi.write` made a new file.

    Returns:
        `value` is UNDEFINED when nothing is kept; a result that was there then counts as one dropped.
    """
    if result is UNDEFINED:
        return Kept(value=UNDEFINED)
    if ref == "pi.write" and is_object(result) and _has_created(result):
        return Kept(value={"created": True}, dropped=len(result) - 1)
    return Kept(value=UNDEFINED, dropped=1)


def _has_created(result: JsonObject) -> bool:
    details = result.get("details")
    nested = details.get("created") if is_object(details) else None
    return result.get("created") is True or nested is True


def _identifier(value: Json) -> str | None:
    return value if isinstance(value, str) and _IDENTIFIER.fullmatch(value) else None


def _number(value: Json) -> int | float | None:
    if not is_number(value):
        return None
    if isinstance(value, int) and abs(value) <= MAX_SAFE_INTEGER:
        return value
    try:
        number = float(value)
    except OverflowError:
        return None
    if not math.isfinite(number):
        return None
    # JavaScript has one kind of number and writes 3.0 as 3.
    return int(number) if number.is_integer() and abs(number) <= MAX_SAFE_INTEGER else number


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _local_path(value: Json) -> str | None:
    """A path on this machine; a URL or a network path may carry credentials."""
    if not isinstance(value, str) or "\0" in value:
        return None
    if _DRIVE_PATH.match(value):
        return value
    start = value.lstrip(_BLANKS)
    if _SCHEME.match(start) or start.startswith(("//", "\\\\")):
        return None
    return _QUERY_OR_FRAGMENT.split(value, maxsplit=1)[0] or None


_READERS: Final[Mapping[Field, Callable[[Json], str | int | float | None]]] = {
    "id": _identifier,
    "path": _local_path,
    "number": _number,
    "text": _text,
}
