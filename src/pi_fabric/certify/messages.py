"""Messages as Pi stores them, made for the certification: the same ones every time."""

from pi_fabric.base.jsonvalue import JsonObject

# A moment that never changes; only the order of times matters.
_START_MS = 1_767_225_600_000
_STEP_MS = 1_000


class Clock:
    """Gives each message a time of its own."""

    def __init__(self) -> None:
        self._now_ms = _START_MS

    def tick(self) -> int:
        """The next moment."""
        self._now_ms += _STEP_MS
        return self._now_ms


def user(clock: Clock, text: str) -> JsonObject:
    """Something the user says."""
    return {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": clock.tick()}


def assistant(clock: Clock, text: str = "", *calls: JsonObject) -> JsonObject:
    """An answer with text, calls, or both."""
    said: list[JsonObject] = [{"type": "text", "text": text}] if text else []
    return {
        "role": "assistant",
        "content": [*said, *calls],
        "api": "certification",
        "provider": "certification",
        "model": "none",
        "usage": _USAGE,
        "stopReason": "toolUse" if calls else "stop",
        "timestamp": clock.tick(),
    }


def call(call_id: str, name: str, **arguments: object) -> JsonObject:
    """A call within an answer."""
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}


def result(
    clock: Clock,
    call_id: str,
    name: str,
    text: str,
    *,
    is_error: bool = False,
    details: JsonObject | None = None,
) -> JsonObject:
    """What a tool returned."""
    message: JsonObject = {
        "role": "toolResult",
        "toolCallId": call_id,
        "toolName": name,
        "content": [{"type": "text", "text": text}],
        "isError": is_error,
        "timestamp": clock.tick(),
    }
    return message if details is None else message | {"details": details}


_FREE: JsonObject = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
# Pi's estimate then rests on the texts alone.
_USAGE: JsonObject = {
    "input": 0,
    "output": 0,
    "cacheRead": 0,
    "cacheWrite": 0,
    "totalTokens": 0,
    "cost": _FREE,
}
