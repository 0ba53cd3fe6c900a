"""Write a typed request the way the decoder reads it."""

from pi_fabric.base.bounds import utf8_bytes
from pi_fabric.base.jsonvalue import UNDEFINED, JsonObject, stringify
from pi_fabric.compaction.request import (
    MAX_SOURCE_BYTES,
    REQUEST_PREFIX,
    REQUEST_VERSION,
    CompactRequest,
    RequestRefused,
    checked_request,
)


def encode_request(request: CompactRequest) -> str:
    """Encode `request` as custom instructions: the prefix, then JSON.

    Raises:
        RequestRefused: When the decoder would refuse it; `refusal` is the decoder's code.
    """
    preserve = UNDEFINED if request.preserve is None else list(request.preserve)
    instructions = UNDEFINED if request.instructions is None else request.instructions
    checked_request(instructions, preserve)
    fields: JsonObject = {"version": REQUEST_VERSION, "instructions": instructions, "preserve": preserve}
    written = stringify({name: value for name, value in fields.items() if value is not UNDEFINED})
    encoded = REQUEST_PREFIX + written
    if utf8_bytes(encoded) > MAX_SOURCE_BYTES:
        raise RequestRefused("encoded-source-too-large")
    return encoded
