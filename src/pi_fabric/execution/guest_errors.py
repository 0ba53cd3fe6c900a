"""Say where a program failed, in positions of the text that was submitted."""

import re
from collections.abc import Callable
from typing import TypeAlias

from pi_fabric.base.bounds import clip_bytes
from pi_fabric.runtime.engine import GuestError

Locate: TypeAlias = Callable[[int, int], tuple[int, int] | None]
"""Maps a line and column of the script to the submitted text; None where it has no counterpart."""

_FRAME = re.compile(r"program\.js:(\d+)(?::(\d+))?")
# A frame is `at NAME (PLACE`, or `at PLACE` where nothing has a name.
_NOT_A_NAME = re.compile(r"^\s*at\s+|\s*\(?$")
# Deep recursion repeats one frame; a few tell all there is to know.
MAX_FRAMES = 10
MAX_MESSAGE_BYTES = 16 * 1024


def describe_error(error: GuestError, locate: Locate) -> str:
    """Error name and message, then the frames of the program as `guest code:LINE:COLUMN`."""
    message = clip_bytes(error.message, MAX_MESSAGE_BYTES)
    title = f"{error.name}: {message}" if error.name and message else error.name or message
    frames = [_map_frame(line, locate) for line in error.stack.splitlines() if line.strip()]
    shown = [f"    {frame}" for frame in frames if frame is not None][:MAX_FRAMES]
    return "\n".join([title, *shown])


def _map_frame(frame: str, locate: Locate) -> str | None:
    position = _FRAME.search(frame)
    if position is None:
        return None
    line, column = int(position.group(1)), int(position.group(2) or 1)
    mapped = locate(line, column)
    place = f"guest code:{mapped[0]}:{mapped[1]}" if mapped else "guest code"
    function = _NOT_A_NAME.sub("", frame[: position.start()])
    return f"at {place}" if function in ("", "program", "<anonymous>") else f"at {function} ({place})"
