"""`compact.*`: a program asks for a compaction of the session that it runs in.

Asking only fills the host's one slot. The host compacts when the agent has settled, never while a program
runs, so nothing here waits for a compaction.
"""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from pi_fabric.actions.descriptor import define
from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.compaction.request import MAX_INSTRUCTIONS_BYTES, MAX_ITEM_BYTES, MAX_PRESERVE_ITEMS
from pi_fabric.compaction.requests import MAX_REASON_UNITS, MAX_REQUESTER_UNITS
from pi_fabric.protocol.actions import Action, CallContext
from pi_fabric.protocol.host import CompactionPort
from pi_fabric.providers.surroundings import Surroundings

# The schema counts characters; bytes and the request as a whole are checked where it is encoded.
Reason = Annotated[str, msgspec.Meta(max_length=MAX_REASON_UNITS, description="Why, for the status")]
Instructions = Annotated[
    str, msgspec.Meta(max_length=MAX_INSTRUCTIONS_BYTES, description="Shown in the summary")
]
Item = Annotated[str, msgspec.Meta(max_length=MAX_ITEM_BYTES)]
Preserve = Annotated[
    list[Item],
    msgspec.Meta(max_length=MAX_PRESERVE_ITEMS, description="Facts to keep word for word"),
]
Requester = Annotated[
    str, msgspec.Meta(max_length=MAX_REQUESTER_UNITS, description="Who asks; the model when absent")
]


class RequestArguments(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Arguments of `compact.request`."""

    reason: Reason | msgspec.UnsetType = msgspec.UNSET
    instructions: Instructions | msgspec.UnsetType = msgspec.UNSET
    preserve: Preserve | msgspec.UnsetType = msgspec.UNSET
    requestedBy: Requester | msgspec.UnsetType = msgspec.UNSET


class NoArguments(msgspec.Struct, forbid_unknown_fields=True):
    """Arguments of `compact.status` and `compact.cancel`: none."""


INTENT = (
    "{ reason?: string; instructions?: string; preserve?: string[];"
    " requestedBy: string; requestedAt: number }"
)
ENDING = (
    '{ at: number; requestedBy: string; status: "committed" | "failed" | "cancelled"; summary?: string;'
    " tokensBefore?: number; estimatedTokensAfter?: number; error?: string }"
)

ACTIONS: tuple[Action, ...] = (
    define(
        "request",
        RequestArguments,
        "write",
        "Ask for a compaction once the agent has settled; replaces a request that waits.",
        returns=f"{{ requested: true; intent: {INTENT} }}",
    ),
    define(
        "status",
        NoArguments,
        "read",
        "The request that waits, and how the last one ended.",
        returns=f"{{ pending?: {INTENT}; last?: {ENDING} }}",
    ),
    define("cancel", NoArguments, "read", "Take back the request that waits.", returns="{ cancelled: true }"),
)


class CompactProvider:
    """Offers the host's slot."""

    name = "compact"
    description = "Compaction of this session: request, status, cancel."

    def __init__(self, compaction: CompactionPort) -> None:
        self._compaction = compaction

    async def actions(self) -> Sequence[Action]:
        """The three actions."""
        return ACTIONS

    async def invoke(self, name: str, args: JsonObject, context: CallContext) -> Json:
        """Fill, show or empty the slot.

        Raises:
            RequestError: If a request is out of bounds.
        """
        if name == "status":
            return self._compaction.status()
        if name == "cancel":
            self._compaction.cancel()
            context.activity(_entity("cancelled"))
            return {"cancelled": True}
        intent = self._compaction.request(
            reason=args.get("reason"),
            instructions=args.get("instructions"),
            preserve=args.get("preserve"),
            requested_by=args.get("requestedBy"),
        )
        context.activity(_entity("requested", intent))
        return {"requested": True, "intent": intent}


def _entity(progress: str, intent: JsonObject | None = None) -> JsonObject:
    """What an activity view shows; there is one slot, so its id is always the same."""
    shown = {key: value for key, value in (intent or {}).items() if key in ("reason", "requestedBy")}
    return {"kind": "compaction", "id": "compact", "label": "Compaction", "progress": progress, **shown}


def offer(around: Surroundings) -> CompactProvider | None:
    """The provider for a host; None where nothing can be compacted."""
    compaction = around.ports.compaction
    return None if compaction is None else CompactProvider(compaction)
