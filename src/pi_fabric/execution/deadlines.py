"""How long a run may take: the executor's limit, or the agents' when the program waits for agents."""

import re

from pi_fabric.base.clock import Clock, Deadline
from pi_fabric.base.jsonvalue import JsonObject, is_number
from pi_fabric.config import FabricConfig

# A call that waits for an agent, as a program writes it. A name behind a dot or in a word is another's.
_WAITS_FOR_AGENT = re.compile(
    r"(?<![\w$.])(?:workflow\s*\.\s*)?agent\s*\("
    r"|(?<![\w$.])(?:agents\s*\.\s*(?:run|wait|ask)|council\s*\.\s*run|rlm\s*\.\s*query)\s*\("
)
WAITING_REFS = frozenset({"agents.run", "agents.wait", "agents.ask"})
"""Calls that extend the running deadline when they are issued."""
# `agents.run({timeoutMs})` may ask for this much at the most: a day.
MAX_AGENT_S = 86_400.0


def start_deadline(code: str, config: FabricConfig, clock: Clock, *, timeout_ms: int | None) -> Deadline:
    """Start the clock of one run.

    Args:
        code: The program; a direct call that waits for agents gets the agents' limit.
        config: Limits in force.
        clock: Where time comes from.
        timeout_ms: The caller's own limit; None takes the configured one.
    """
    limit_ms = config.executor.timeout_ms if timeout_ms is None else timeout_ms
    if timeout_ms is None and _WAITS_FOR_AGENT.search(code):
        limit_ms = max(limit_ms, config.subagents.timeout_ms)
    return Deadline(limit_ms / 1000, clock)


def extend_for(ref: str, args: JsonObject, deadline: Deadline, config: FabricConfig) -> None:
    """Give a call that waits for an agent the time that the agent has."""
    if ref not in WAITING_REFS:
        return
    allowed_s = config.subagents.timeout_ms / 1000
    asked_ms = args.get("timeoutMs")
    if ref == "agents.run" and is_number(asked_ms):
        allowed_s = max(allowed_s, min(asked_ms / 1000, MAX_AGENT_S))
    deadline.allow(allowed_s)
