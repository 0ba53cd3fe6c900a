"""Kinds `compaction_events` (entries as typed events) and `branch_details` (what the reader accepts)."""

from dataclasses import fields
from typing import Final

from kinds.compare import differences
from pi_fabric.base.jsonvalue import UNDEFINED, JsonObject
from pi_fabric.history.events import normalize, read_branch_details
from pi_fabric.history.events.model import (
    AssistantText,
    BashRan,
    CustomMessage,
    Event,
    FabricOperation,
    FabricPhase,
    Thinking,
    ToolCalled,
    ToolResulted,
    UserText,
)

KINDS: Final[dict[type[Event], str]] = {
    UserText: "user",
    Thinking: "thinking",
    AssistantText: "assistantText",
    ToolCalled: "toolCall",
    ToolResulted: "toolResult",
    BashRan: "bash",
    CustomMessage: "customMessage",
    FabricPhase: "fabricPhase",
    FabricOperation: "fabricOperation",
}
# JSON values, which may be null, and the one field that is recorded as null where it is not known. Every
# other field is absent then.
NULLABLE: Final = frozenset({"exitCode", "details", "result"})
# What the recording says nothing about.
OWN: Final = frozenset({"isEmpty"})


def check_compaction_events(case: JsonObject) -> list[str]:
    """Compare the events of a branch, each with all its fields."""
    actual = [as_recorded(event) for event in normalize(case["input"]["entries"])]
    return differences(case["output"]["events"], actual, "events")


def check_branch_details(case: JsonObject) -> list[str]:
    """Compare whether the reader accepts the value."""
    accepted = read_branch_details(case["input"]["value"]) is not None
    return differences(case["output"]["accepted"], accepted, "accepted")


def as_recorded(event: Event) -> JsonObject:
    """An event with the names of the recording."""
    record: JsonObject = {"kind": KINDS[type(event)]}
    for field in fields(event):
        name, value = _camel(field.name), getattr(event, field.name)
        if name not in OWN and value is not UNDEFINED and (value is not None or name in NULLABLE):
            record[name] = value
    if isinstance(event, Thinking):
        record["text"] = ""
    if isinstance(event, FabricPhase | FabricOperation):
        record["address"] = event.address
    return record


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
