"""The typed text of a message's content."""

from pi_fabric.base.jsonvalue import Json, is_array, is_object


def text_of(content: Json) -> str:
    """The text of a message: the string itself, or its text parts, one below the other.

    Args:
        content: Any JSON; what is neither text nor a list of parts has none, and parts that are no text
            are skipped.
    """
    if isinstance(content, str):
        return content
    if not is_array(content):
        return ""
    return "\n".join(text for part in content if (text := part_text(part)) is not None)


def part_text(part: Json) -> str | None:
    """The text of a text part; None for every other part."""
    if not is_object(part) or part.get("type") != "text":
        return None
    text = part.get("text")
    return text if isinstance(text, str) else None
