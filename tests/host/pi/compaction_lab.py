"""Sessions that are small and yet worth compacting."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from tests.host.pi.pi_lab import Lab
from tools.pi_rpc import Event, PiSession

# Pi compacts only what is longer than it wants to keep.
# A summary takes the place of something only when that is longer.
FILLER = "all the words of a long paste\n" * 1_000
KEEP_NOTHING = {"enabled": True, "reserveTokens": 4_000, "keepRecentTokens": 1}


@asynccontextmanager
async def open_small(lab: Lab, *arguments: str, window: int = 128_000) -> AsyncGenerator[PiSession]:
    """Pi with a model that counts honestly and settings that let short sessions be compacted."""
    lab.model.counts_tokens = True
    lab.model.context_window = window
    lab.settings.setdefault("compaction", KEEP_NOTHING)
    async with lab.pi(*arguments) as pi:
        yield pi


async def compact(pi: PiSession, **fields: Any) -> Event:
    """Ask for a compaction; Pi's response."""
    return await pi.command("compact", **fields)


def compactions(lab: Lab) -> list[dict[str, Any]]:
    """All compactions of the one session file."""
    return [line for line in lab.session_lines() if line["type"] == "compaction"]


def last_compaction(lab: Lab) -> dict[str, Any]:
    """The newest compaction of the one session file."""
    return compactions(lab)[-1]
