"""Every error this package raises on purpose, by what the caller can do about it.

    FabricError
      ConfigError            the user edits a file             (path, pointer, reason)
      RequestError           the caller sent something wrong   (ref, reason)
        UnknownAction        no such provider or action        (suggestions)
        InvalidArguments     arguments do not fit the schema   (problems)
      Denied                 policy or the user said no        (ref, risk, reason)
      LimitReached           bytes, time, calls, budget        (what, limit, unit, hint)
      Unavailable            a tool, host or runner is missing (what, hint)
      SandboxError           the engine itself failed          (kind, reason)
        SandboxLost          it failed while a program ran     (kind, reason)
      StoreError             state on disk is unusable         (path, reason)
      HostError              the peer answered with an error   (code, reason, data)
      ToolFailed             a host tool reported an error     (ref, reason)

A message says what happened, where, and what to do. Expected outcomes are values, not errors.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

# Of a reference in a message.
MAX_REF_CHARS = 200


class FabricError(Exception):
    """Root of all deliberate errors; `code` is stable and goes over the wire."""

    code: ClassVar[str] = "fabric_error"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class ConfigError(FabricError):
    """A configuration file cannot be used as it stands."""

    code = "config_error"

    def __init__(self, path: Path, reason: str, *, pointer: str = "") -> None:
        where = f"{path}: {pointer}" if pointer else str(path)
        super().__init__(f"{where}: {reason}")
        self.path = path
        self.pointer = pointer
        self.reason = reason


class RequestError(FabricError):
    """The caller's request cannot be carried out as sent."""

    code = "request_error"

    def __init__(self, ref: str, reason: str) -> None:
        # A program may make up a reference of any length.
        shown = ref if len(ref) <= MAX_REF_CHARS else f"{ref[:MAX_REF_CHARS]}…"
        super().__init__(f"{shown}: {reason}")
        self.ref = ref
        self.reason = reason


class UnknownAction(RequestError):
    """No provider or action has this name."""

    code = "unknown_action"

    def __init__(self, ref: str, reason: str, *, suggestions: Sequence[str] = ()) -> None:
        hint = f" Did you mean {' or '.join(suggestions)}?" if suggestions else ""
        super().__init__(ref, f"{reason}{hint}")
        self.suggestions = tuple(suggestions)


class InvalidArguments(RequestError):
    """The arguments do not fit the action's schema; `problems` names each property path.

    `schema_paths` are those paths that the schema itself names, so that they may be recorded.
    """

    code = "invalid_arguments"

    def __init__(self, ref: str, problems: Sequence[str], *, schema_paths: Sequence[str] = ()) -> None:
        super().__init__(ref, "; ".join(problems))
        self.problems = tuple(problems)
        self.schema_paths = tuple(schema_paths)


class Denied(FabricError):
    """Policy or the user refused the call."""

    code = "denied"

    def __init__(self, ref: str, risk: str, reason: str) -> None:
        super().__init__(f"{ref}: {reason}")
        self.ref = ref
        self.risk = risk
        self.reason = reason


class LimitReached(FabricError):
    """A bound was hit; the message names the bound and what to do."""

    code = "limit_reached"

    def __init__(self, what: str, limit: float, unit: str, *, hint: str = "") -> None:
        tail = f"; {hint}" if hint else ""
        super().__init__(f"{what} is limited to {limit:.15g} {unit}{tail}")
        self.what = what
        self.limit = limit
        self.unit = unit


class Unavailable(FabricError):
    """Something that is needed is not there; `hint` says how to get it."""

    code = "unavailable"

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(f"{what}. {hint}" if hint else what)
        self.what = what
        self.hint = hint


class SandboxError(FabricError):
    """The sandbox failed, not the program in it."""

    code = "sandbox_error"

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(f"the sandbox failed ({kind}): {reason}")
        self.kind = kind
        self.reason = reason


class SandboxLost(SandboxError):
    """The sandbox failed while a program ran; what the program had done until then is done."""


class StoreError(FabricError):
    """A file or folder that holds state cannot be used."""

    code = "store_error"

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class HostError(FabricError):
    """The peer at the other end of the RPC line answered with an error."""

    code = "host_error"

    def __init__(self, code: int, reason: str, data: object = None) -> None:
        super().__init__(reason)
        self.rpc_code = code
        self.reason = reason
        self.data = data


class ToolFailed(FabricError):
    """A host tool ran and reported an error; the message is the tool's own text."""

    code = "tool_failed"

    def __init__(self, ref: str, reason: str) -> None:
        super().__init__(reason)
        self.ref = ref
        self.reason = reason
