"""The session log of Pi: read it, follow it, and see of it what the model sees."""

from pi_fabric.history.session.context import (
    context_entries,
    context_messages,
    messages_of_entry,
    projected_context,
)
from pi_fabric.history.session.context_size import context_tokens
from pi_fabric.history.session.tokens import estimate_tokens, usage_tokens

__all__ = [
    "context_entries",
    "context_messages",
    "context_tokens",
    "estimate_tokens",
    "messages_of_entry",
    "projected_context",
    "usage_tokens",
]
