"""Kind `pi_context`: what Pi 0.80.6 makes of a branch, and how large it takes it for."""

from kinds.compare import differences
from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.history.session import context_messages, estimate_tokens, messages_of_entry


def check_pi_context(case: JsonObject) -> list[str]:
    """Compare roles and estimates, of the context and of each entry."""
    entries: list[JsonObject] = case["input"]["entries"]
    messages = context_messages(entries, replays_older_summaries=True)
    actual: JsonObject = {
        "roles": [message.get("role") for message in messages],
        "estimates": [estimate_tokens(message) for message in messages],
        "perEntry": [_pairs(entry) for entry in entries],
    }
    expected: JsonObject = case["output"]
    # The recording says null for an entry that has no messages, and sometimes an empty list.
    per_entry: list[Json] = [pairs or [] for pairs in expected["perEntry"]]
    return differences({**expected, "perEntry": per_entry}, actual)


def _pairs(entry: JsonObject) -> list[list[Json]]:
    return [[message.get("role"), estimate_tokens(message)] for message in messages_of_entry(entry)]
