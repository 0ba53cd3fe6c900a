"""Facts of a branch that was left as entries, from the typed details of the summary that carries them."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.history.events.branch_events import branch_events
from pi_fabric.history.events.branch_reader import read_branch_details
from pi_fabric.history.events.model import CustomMessage, Event, FabricOperation, FabricPhase, UserText
from pi_fabric.memory.entry_text import custom_text
from pi_fabric.memory.files_touched import named_paths
from pi_fabric.memory.model import Entry, Privacy
from pi_fabric.memory.operations import Place, operation_entry, operation_record

FACT_TYPE: Final = "fabric_branch_fact"
DUPLICATE_FACT: Final = "duplicate_branch_fact_address"
DUPLICATE_OPERATION: Final = "duplicate_operation_address"


@dataclass(frozen=True, slots=True, kw_only=True)
class Carrier:
    """The branch summary that tells of the facts."""

    place: Place
    from_id: str | None
    """Entry that the branch was left from."""


class FactReader:
    """Reads the envelopes of one session; a fact that an earlier summary told already is not told again."""

    def __init__(self, privacy: Privacy) -> None:
        self.reasons: set[str] = set()
        """What the index lacks because an envelope was refused."""
        self._privacy = privacy
        self._told: set[str] = set()

    def entries(self, details: Json, carrier: Carrier) -> Iterator[Entry]:
        """The new facts of an envelope, in its order; none of anything that is no envelope.

        An envelope in which an address comes twice is refused as a whole.
        """
        envelope = read_branch_details(details)
        if envelope is None:
            return
        addresses = [fact.address for fact in envelope.facts]
        if len(set(addresses)) < len(addresses):
            self.reasons |= {DUPLICATE_FACT, DUPLICATE_OPERATION}
            return
        for fact, event in zip(
            envelope.facts, branch_events(details, carrier.place.entry_id, itertools.count(1)), strict=True
        ):
            if fact.address not in self._told:
                self._told.add(fact.address)
                yield self._entry(event, fact.address, fact.to_json(), carrier)

    def _entry(self, event: Event, address: str, fact: JsonObject, carrier: Carrier) -> Entry:
        place = carrier.place
        if isinstance(event, FabricOperation):
            record = operation_record(event, {"subordinal": event.subordinal}, self._privacy)
            entry = operation_entry(
                event,
                record,
                place,
                paths=named_paths(event.args),
                label="fabricOperation branchFact ref",
            )
            if "result" not in record:
                fact.pop("result", None)
        else:
            entry = _plain_entry(event, address, place)
        told = {
            "carrierEntryId": place.entry_id,
            "carrierParentId": place.parent_id,
            "carrierFromId": carrier.from_id,
        }
        entry.type = FACT_TYPE
        entry.fact_address = address
        entry.carrier_entry_id = place.entry_id
        entry.carrier_parent_id = place.parent_id
        entry.carrier_from_id = carrier.from_id
        entry.branch_fact = fact | told
        return entry


def _plain_entry(event: Event, address: str, place: Place) -> Entry:
    role, text = _told_by(event)
    return Entry(
        session_file=place.session_file,
        session_id=place.session_id,
        entry_id=address,
        parent_id=place.parent_id,
        parent_entry_id=place.entry_id,
        type=FACT_TYPE,
        role=role,
        tool_name=None,
        text=text,
        timestamp=place.timestamp,
        is_error=False,
        truncated=False,
        index=0,
        files_touched=msgspec.UNSET,
    )


def _told_by(event: Event) -> tuple[str, str]:
    """Role and text of a fact that is no operation."""
    if isinstance(event, UserText):
        return "branchUser", event.text
    if isinstance(event, FabricPhase):
        return "fabricPhase", f"fabricPhase phase {event.phase}"
    assert isinstance(event, CustomMessage)
    return "branchCustomMessage", custom_text(event.custom_type, event.text)
