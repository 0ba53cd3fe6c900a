"""The session log of Pi: read it, follow it, and see of it what the model sees."""

from pi_fabric.history.session.context import (
    context_entries,
    context_messages,
    messages_of_entry,
    projected_context,
)
from pi_fabric.history.session.context_size import ContextSize, context_size, context_tokens
from pi_fabric.history.session.faults import Fault, FaultKind, Faults
from pi_fabric.history.session.follower import Growth, SessionFollower
from pi_fabric.history.session.log import Header, Session
from pi_fabric.history.session.reader import MAX_SESSION_BYTES, read_session
from pi_fabric.history.session.tokens import CHARS_PER_TOKEN, estimate_tokens, usage_tokens
from pi_fabric.history.session.tree import Tree

__all__ = [
    "CHARS_PER_TOKEN",
    "MAX_SESSION_BYTES",
    "ContextSize",
    "Fault",
    "FaultKind",
    "Faults",
    "Growth",
    "Header",
    "Session",
    "SessionFollower",
    "Tree",
    "context_entries",
    "context_messages",
    "context_size",
    "context_tokens",
    "estimate_tokens",
    "messages_of_entry",
    "projected_context",
    "read_session",
    "usage_tokens",
]
