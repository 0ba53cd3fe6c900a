"""Keep a result that is too large for the program out of the sandbox."""

from pi_fabric.base.bounds import take_units
from pi_fabric.base.jsonvalue import UNDEFINED, Json, encode, stringify, utf16_length

# The preview stays this far below the bound, so that the record around it fits too.
PREVIEW_MARGIN_CHARS = 200
# JavaScript writes no number and no lone surrogate more than six times as long as our encoder does.
_MAX_STRETCH = 6


def truncate_nested(value: Json, max_chars: int) -> tuple[Json, bool]:
    """Replace a result that is too large for the program by a preview of its JSON.

    Args:
        value: JSON, or UNDEFINED.
        max_chars: Bound on the JSON in UTF-16 units.

    Returns:
        `value` itself, or `{fabricTruncated, originalChars, preview}`; True when it was replaced.

    Raises:
        TypeError: If `value` is not JSON.
        RecursionError: If it nests deeper than the encoder goes, about a thousand levels.
    """
    if value is UNDEFINED or len(encode(value)) * _MAX_STRETCH <= max_chars:
        return value, False
    written = stringify(value)
    size = utf16_length(written)
    if size <= max_chars:
        return value, False
    preview = take_units(written, max_chars - PREVIEW_MARGIN_CHARS)
    return {"fabricTruncated": True, "originalChars": size, "preview": preview}, True
