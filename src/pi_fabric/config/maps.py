"""Kinds whose value is an object with names of the user's choice."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeVar, get_args

from pi_fabric.base.jsonvalue import UNDEFINED, Json, JsonObject, is_array, is_object
from pi_fabric.config.keys import Section, setting
from pi_fabric.config.kinds import Boolean, Fault, Integer, Names, Reading, Text, Word
from pi_fabric.protocol.actions import Risk

T = TypeVar("T")
RISKS: tuple[Risk, ...] = get_args(Risk)
COMMAND_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
MAX_COMMAND_ARGS = 64
# What cannot be told apart counts as the class that is asked about most: running something.
RISK: Final[Word[Risk]] = Word("execute", RISKS)
COMMAND_TIMEOUT = Integer(30_000, 1, 300_000)


@dataclass(frozen=True, slots=True)
class RiskMap:
    """Tool name to risk, laid over defaults; a bad risk becomes `execute`."""

    defaults: tuple[tuple[str, Risk], ...]

    @property
    def hint(self) -> str:
        """`object of tool name to risk`."""
        return "object of tool name to risk"

    @property
    def is_map(self) -> bool:
        """Always."""
        return True

    def initial(self) -> Mapping[str, Risk]:
        """The defaults alone."""
        return dict(self.defaults)

    def read(self, value: Json) -> Reading[Mapping[str, Risk]]:
        """Take an object; one of another type counts as empty."""
        if not is_object(value):
            return _not_an_object(value, self.initial())
        risks: dict[str, Risk] = dict(self.defaults)
        faults: list[Fault] = []
        for name, given in value.items():
            reading = RISK.read(given)
            risks[name] = reading.value
            faults += [replace(fault, path=(name,)) for fault in reading.faults]
        return Reading(risks, tuple(faults))


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedCommand(Section):
    """A command that schema evidence may run by name."""

    command: str = setting(Text(""), "Program, or the whole line when `shell` is true.")
    args: tuple[str, ...] = setting(Names(()), "Arguments as they are passed; none with `shell`.")
    shell: bool = setting(Boolean(False), "Hand the line to the shell.")
    timeout_ms: int = setting(COMMAND_TIMEOUT, "Time one run may take.")


@dataclass(frozen=True, slots=True)
class CommandMap:
    """Name to trusted command; an entry that does not fit is left out whole.

    A command with a part of its arguments would be another command, so arguments are never repaired.
    """

    @property
    def hint(self) -> str:
        """`object of name to {...}`."""
        return "object of name to {command, args, shell, timeoutMs}"

    @property
    def is_map(self) -> bool:
        """Always."""
        return True

    def initial(self) -> Mapping[str, TrustedCommand]:
        """No commands."""
        return {}

    def read(self, value: Json) -> Reading[Mapping[str, TrustedCommand]]:
        """Take an object; one of another type counts as empty."""
        if not is_object(value):
            return _not_an_object(value, self.initial())
        commands: dict[str, TrustedCommand] = {}
        faults: list[Fault] = []
        for name, entry in value.items():
            reason = _refusal(name, entry)
            if reason is None:
                commands[name] = _command(name, entry, faults)
            else:
                faults.append(Fault(path=(name,), given=entry, used=UNDEFINED, reason=reason))
        return Reading(commands, tuple(faults))


def _refusal(name: str, entry: Json) -> str | None:
    if COMMAND_NAME.fullmatch(name) is None:
        return "has a name that is not letters, digits, dots, dashes or underscores, 64 at most"
    if not is_object(entry):
        return "is not an object"
    command = entry.get("command")
    if not isinstance(command, str) or not command.strip():
        return "has no command"
    args = entry.get("args", [])
    if not is_array(args) or not all(isinstance(arg, str) for arg in args):
        return "has arguments that are not a list of strings"
    if len(args) > MAX_COMMAND_ARGS:
        return f"has more than {MAX_COMMAND_ARGS} arguments"
    if args and entry.get("shell") is True:
        return "has both a shell line and arguments"
    return None


def _command(name: str, entry: JsonObject, faults: list[Fault]) -> TrustedCommand:
    shell = Boolean(False).read(entry.get("shell", False))
    timeout = COMMAND_TIMEOUT.read(entry.get("timeoutMs", COMMAND_TIMEOUT.default))
    for part, reading in (("shell", shell), ("timeoutMs", timeout)):
        faults += [replace(fault, path=(name, part)) for fault in reading.faults]
    return TrustedCommand(
        command=entry["command"],
        args=tuple(entry.get("args", [])),
        shell=shell.value,
        timeout_ms=timeout.value,
    )


def _not_an_object(value: Json, used: Mapping[str, T]) -> Reading[Mapping[str, T]]:
    return Reading(used, (Fault(given=value, used=used, reason="is not an object"),))
