"""Sessions that are small and yet worth compacting."""

import shlex
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.host.pi.pi_lab import Lab, stand_in
from tools.pi_rpc import Event, PiSession, pi_environment, pi_session
from tools.scripted_model import Reply

HERE = Path(__file__).parent
NEIGHBOUR = HERE / "data" / "tree_neighbour.js"
# Pi compacts only what is longer than it wants to keep.
KEEP_NOTHING = {"enabled": True, "reserveTokens": 4_000, "keepRecentTokens": 1}
# A summary takes the place of something only when that is longer.
FILLER = "all the words of a long paste\n" * 1_000


@asynccontextmanager
async def open_small(
    lab: Lab, *arguments: str, window: int = 128_000, before: Sequence[Path] = ()
) -> AsyncGenerator[PiSession]:
    """Pi with a model that counts honestly and settings that let short sessions be compacted."""
    lab.model.counts_tokens = True
    lab.model.context_window = window
    lab.settings.setdefault("compaction", KEEP_NOTHING)
    async with lab.pi(*arguments, before=before) as pi:
        yield pi


@asynccontextmanager
async def open_without_fabric(lab: Lab, *arguments: str) -> AsyncGenerator[PiSession]:
    """The same Pi and its newest session, without any extension."""
    environment = pi_environment(lab.agent_dir, {})
    async with pi_session(
        lab.version,
        cwd=lab.project,
        env=environment,
        arguments=["--no-extensions", "--continue", *arguments],
        stderr=lab.log,
    ) as pi:
        yield pi


def with_faults(lab: Lab) -> None:
    """Let summaries go wrong as their instructions say; see `compaction_sidecar`."""
    words = [sys.executable, "-m", "tests.host.pi.compaction_sidecar"]
    lab.python = stand_in(lab.folder, f"exec {shlex.join(words)}")
    root = HERE.parents[2]
    lab.variables["PYTHONPATH"] = f"{root / 'src'}:{root}"


async def talk(lab: Lab, pi: PiSession, text: str, reply: str = "An answer.") -> list[Event]:
    """One turn that is worth compacting."""
    lab.model.say(Reply(text=reply))
    return await pi.prompt(f"{text}\n{FILLER}")


async def compact(pi: PiSession, instructions: str | None = None) -> Event:
    """Ask for a compaction; Pi's response."""
    fields: dict[str, Any] = {} if instructions is None else {"customInstructions": instructions}
    return await pi.command("compact", **fields)


def compactions(lab: Lab) -> list[dict[str, Any]]:
    """All compactions of the one session file."""
    return [line for line in lab.session_lines() if line["type"] == "compaction"]


def last_compaction(lab: Lab) -> dict[str, Any]:
    """The newest compaction of the one session file."""
    return compactions(lab)[-1]


def branch_ids(lab: Lab, until: str) -> list[str]:
    """Ids of the branch that ends at `until`, root first."""
    parents = {line["id"]: line["parentId"] for line in lab.session_lines() if line["type"] != "session"}
    ids: list[str] = []
    at: str | None = until
    while at is not None:
        ids.append(at)
        at = parents[at]
    return ids[::-1]


def user_ids(lab: Lab) -> list[str]:
    """Ids of what the person said, oldest first."""
    messages = [line for line in lab.session_lines() if line["type"] == "message"]
    return [line["id"] for line in messages if line["message"]["role"] == "user"]
