"""How a call ended, in words that may be kept."""

from pi_fabric.base.errors import (
    Denied,
    FabricError,
    InvalidArguments,
    LimitReached,
    Unavailable,
    UnknownAction,
)
from pi_fabric.base.jsonvalue import Json, is_object
from pi_fabric.protocol.actions import Outcome

_RECORD_OUTCOMES: dict[str, Outcome] = {"failed": "failed", "stopped": "aborted", "timed_out": "timed_out"}


def outcome_of_record(result: Json) -> Outcome:
    """Read the outcome of a returned record from its `status`; anything else succeeded."""
    status = result.get("status") if is_object(result) else None
    return _RECORD_OUTCOMES.get(status, "succeeded") if isinstance(status, str) else "succeeded"


def cause_of(error: FabricError) -> str | None:
    """Why a call failed, without anything that the program, a tool or a provider said.

    Returns:
        The policy, the property paths, the limit or what was missing; None when only payload would tell.
    """
    match error:
        case Denied():
            return error.reason
        case InvalidArguments():
            where = f" at {', '.join(error.schema_paths)}" if error.schema_paths else ""
            return f"the arguments do not fit the schema{where}"
        case LimitReached() | Unavailable():
            return error.message
        case UnknownAction():
            return "there is no action of this name"
        case _:
            return None
