"""What the host persists of an execution: whether it succeeded, the trace, and how to highlight."""

from pi_fabric.base.bounds import json_bytes
from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.history.trace.model import MAX_TRACE_BYTES
from pi_fabric.history.trace.shedding import PERSISTING, shed

# The envelope has the trace's own bound, so a full trace gives way to the few bytes around it.
MAX_ENVELOPE_BYTES = MAX_TRACE_BYTES


def persisted_details(*, success: bool, trace: JsonObject, output_format: str | None) -> JsonObject:
    """Build `{success, trace, outputFormat?}` within 512 KiB of JSON.

    Args:
        success: True when the program ran to its end.
        trace: Sealed trace; loses operations, then phases, then its error when there is no room.
        output_format: What to highlight the value as; None leaves the key out.
    """
    details: JsonObject = {"success": success, "trace": {}}
    if output_format is not None:
        details["outputFormat"] = output_format
    room = MAX_ENVELOPE_BYTES - (json_bytes(details) - len("{}"))
    details["trace"] = shed(trace, max_bytes=room, steps=PERSISTING)
    return details
