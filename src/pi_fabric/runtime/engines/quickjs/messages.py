"""What a guest's lines mean. Lines come from the sandbox and are not trusted: their shape is checked here.

[0, id, ref, args]           a host call
[1, kind, payload...]        a one-way message
[2, value] or [2]            the program returned
[3, name, message, stack]    the program failed
[4, name, message, stack]    the program failed for lack of memory
"""

import re
from dataclasses import dataclass
from typing import TypeAlias

from pi_fabric.base.jsonvalue import UNDEFINED, Json, TooDeep, decode, is_array

# Decoding is recursive; what is nested deeper than it can follow is refused by name.
_CALL_START = re.compile(rb"\[0,(\d{1,15}),")
TOO_DEEP = "the value is nested too deeply to leave the program"


class BadMessage(Exception):
    """A line that the kernel never writes."""


@dataclass(frozen=True, slots=True)
class Call:
    """The program wants an answer."""

    id: int
    """Counts from 1 in a program."""
    ref: str
    args: Json


@dataclass(frozen=True, slots=True)
class UnreadableCall:
    """A call whose arguments cannot be decoded."""

    id: int
    reason: str


@dataclass(frozen=True, slots=True)
class Notice:
    """The program tells something."""

    kind: str
    payload: list[Json]


@dataclass(frozen=True, slots=True)
class Returned:
    """The program ended with a value."""

    value: Json
    """UNDEFINED when it returned nothing that JSON can say."""


@dataclass(frozen=True, slots=True)
class Threw:
    """The program ended with an error."""

    name: str
    message: str
    stack: str
    is_out_of_memory: bool = False


Message: TypeAlias = Call | UnreadableCall | Notice | Returned | Threw


def read_messages(lines: bytes) -> list[Message]:
    """Decode the lines of one frame, in order.

    Raises:
        BadMessage: If a line has another shape than the kernel gives it.
    """
    return [_read(line) for line in lines.split(b"\n") if line]


def _read(line: bytes) -> Message:
    try:
        return _shaped(decode(line))
    except TooDeep:
        return _too_deep(line)
    except ValueError as error:
        raise BadMessage(f"the guest sent what is not JSON: {error}") from error


def _shaped(parts: Json) -> Message:
    match parts:
        case [0, int(number), str(ref), args]:
            return Call(number, ref, args)
        case [1, str(kind), *payload]:
            return Notice(kind, list(payload))
        case [2]:
            return Returned(UNDEFINED)
        case [2, value]:
            return Returned(value)
        case [3 | 4 as code, str(name), str(message), str(stack)]:
            return Threw(name, message, stack, is_out_of_memory=code == 4)
        case _:
            shape = f"{len(parts)} parts" if is_array(parts) else type(parts).__name__
            raise BadMessage(f"the guest sent a message of unknown shape ({shape})")


def _too_deep(line: bytes) -> Message:
    if line.startswith(b"[2,"):
        return Threw("RangeError", TOO_DEEP, "")
    if (call := _CALL_START.match(line)) is not None:
        return UnreadableCall(int(call[1]), TOO_DEEP)
    raise BadMessage(TOO_DEEP)
