"""Facts of a branch that was left as entries, from the typed details of the summary that carries them."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.history.events.branch_events import branch_events
from pi_fabric.history.events.branch_reader import read_branch_details
from pi_fabric.history.events.model import CustomMessage, Event, FabricOperation, FabricPhase, UserText
from pi_fabric.memory.entry_text import custom_text
from pi_fabric.memory.files_touched import named_paths
from pi_fabric.memory.model import Entry, Privacy
from pi_fabric.memory.operations import Place, operation_entry, operation_record, tell_operation

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

    def entries(self, details: Json, carrier: Carrier, wants_text: Callable[[int], bool]) -> Iterator[Entry]:
        """The new facts of an envelope, in its order; none of anything that is no envelope.

        An envelope in which an address comes twice is refused as a whole.

        Args:
            details: Of the summary, any JSON.
            carrier: The summary's entry.
            wants_text: Told a new fact's place, from 0, says whether its text and record are wanted.
        """
        envelope = read_branch_details(details)
        if envelope is None:
            return
        addresses = [fact.address for fact in envelope.facts]
        if len(set(addresses)) < len(addresses):
            self.reasons |= {DUPLICATE_FACT, DUPLICATE_OPERATION}
            return
        events = branch_events(details, carrier.place.entry_id, itertools.count(1))
        told = zip(envelope.facts, events, strict=True)
        fresh = [(fact, event) for fact, event in told if fact.address not in self._told]
        self._told.update(addresses)
        for number, (fact, event) in enumerate(fresh):
            entry = _entry(event, fact.address, carrier)
            if wants_text(number):
                self._tell(entry, event, fact.to_json(), carrier)
            yield entry

    def _tell(self, entry: Entry, event: Event, fact: JsonObject, carrier: Carrier) -> None:
        """Give a fact's entry its text and its record."""
        place = carrier.place
        if isinstance(event, FabricOperation):
            record = operation_record(event, {"subordinal": event.subordinal}, self._privacy)
            label = "fabricOperation branchFact ref"
            tell_operation(entry, record, paths=named_paths(event.args), label=label)
            if "result" not in record:
                fact.pop("result", None)
        else:
            entry.text = _text_of(event)
        entry.branch_fact = fact | {
            "carrierEntryId": place.entry_id,
            "carrierParentId": place.parent_id,
            "carrierFromId": carrier.from_id,
        }


def _entry(event: Event, address: str, carrier: Carrier) -> Entry:
    """The entry of one fact, without its text."""
    place = carrier.place
    is_operation = isinstance(event, FabricOperation)
    entry = operation_entry(event, place) if is_operation else _plain_entry(event, address, place)
    entry.type = FACT_TYPE
    entry.fact_address = address
    entry.carrier_entry_id = place.entry_id
    entry.carrier_parent_id = place.parent_id
    entry.carrier_from_id = carrier.from_id
    return entry


def _plain_entry(event: Event, address: str, place: Place) -> Entry:
    return Entry(
        session_file=place.session_file,
        session_id=place.session_id,
        entry_id=address,
        parent_id=place.parent_id,
        parent_entry_id=place.entry_id,
        type=FACT_TYPE,
        role=_role_of(event),
        tool_name=None,
        text="",
        timestamp=place.timestamp,
        is_error=False,
        truncated=False,
        index=0,
    )


def _role_of(event: Event) -> str:
    """Role of a fact that is no operation."""
    if isinstance(event, UserText):
        return "branchUser"
    return "fabricPhase" if isinstance(event, FabricPhase) else "branchCustomMessage"


def _text_of(event: Event) -> str:
    """Text of a fact that is no operation."""
    if isinstance(event, UserText):
        return event.text
    if isinstance(event, FabricPhase):
        return f"fabricPhase phase {event.phase}"
    assert isinstance(event, CustomMessage)
    return custom_text(event.custom_type, event.text)
