"""What a branch summary knows for certain: typed facts in an envelope beside its prose.

The envelope is `details` of a branch summary entry. Its facts are of the branch that was left; later
summaries read them, never the prose. This module owns the shapes; the reader and the writer are beside it.
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

from pi_fabric.base.jsonvalue import UNDEFINED, Json, JsonObject
from pi_fabric.protocol.actions import Outcome

KIND: Final = "pi-fabric.branch-summary"
VERSION: Final = 1

# All bounds are the format's: an envelope is read at each compaction and must stay cheap.
MAX_FACTS: Final = 256
MAX_SECTIONS: Final = 64
MAX_ENVELOPE_BYTES: Final = 128 * 1024
# Of arguments, results and details: how deep one nests, how wide a collection is, and how many values all the
# facts of an envelope hold together.
MAX_DEPTH: Final = 16
MAX_ITEMS: Final = 256
MAX_NODES: Final = 4096
# Of a text or an error in a new envelope; more than any section of a summary shows of it.
MAX_TEXT_BYTES: Final = 2048

USER: Final = "user"
CUSTOM_MESSAGE: Final = "custom-message"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Where a fact was told."""

    entry_id: str
    """Entry of the branch that was left."""
    subordinal: str
    """What of the entry."""

    @property
    def address(self) -> str:
        """Where `expand` opens it."""
        return f"{self.entry_id}/{self.subordinal}"

    def place(self) -> JsonObject:
        """The keys that every fact has."""
        return {"entryId": self.entry_id, "subordinal": self.subordinal, "address": self.address}


@dataclass(frozen=True, slots=True, kw_only=True)
class UserFact(Told):
    """The user said something."""

    subordinal: str = USER
    text: str

    def to_json(self) -> JsonObject:
        """The fact's object of the format."""
        return {"kind": "user", **self.place(), "text": self.text}


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomMessageFact(Told):
    """An extension put a message into the model's context."""

    subordinal: str = CUSTOM_MESSAGE
    custom_type: str
    text: str
    display: bool
    details: Json = UNDEFINED

    def to_json(self) -> JsonObject:
        """The fact's object of the format; without details there is no such key."""
        record: JsonObject = {"kind": "customMessage", **self.place(), "customType": self.custom_type}
        record |= {"text": self.text, "display": self.display}
        if self.details is not UNDEFINED:
            record["details"] = self.details
        return record


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseFact(Told):
    """A program began a phase; its subordinal is `phase:N`."""

    phase: str

    def to_json(self) -> JsonObject:
        """The fact's object of the format."""
        return {"kind": "phase", **self.place(), "phase": self.phase}


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationFact(Told):
    """A tool ran, called by the model, by the user, or by a program.

    It is told by the entry of the call, of the user's command, or of the result that holds a program's trace.
    The subordinal is `call:ID` for the model's call, `bash` for a command, else the operation's sequence.
    """

    ref: str
    provider: str | None = None
    action: str | None = None
    tool: str
    args: JsonObject
    outcome: Outcome
    error: str | None = None
    result: Json = UNDEFINED

    def to_json(self) -> JsonObject:
        """The fact's object of the format; what is absent has no key."""
        record: JsonObject = {"kind": "operation", **self.place(), "ref": self.ref}
        optional = {"provider": self.provider, "action": self.action}
        record |= {key: value for key, value in optional.items() if value is not None}
        record |= {"tool": self.tool, "args": self.args, "outcome": self.outcome}
        if self.error is not None:
            record["error"] = self.error
        if self.result is not UNDEFINED:
            record["result"] = self.result
        return record


Fact: TypeAlias = UserFact | CustomMessageFact | PhaseFact | OperationFact


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchSource:
    """What was summarized."""

    first_entry_id: str
    last_entry_id: str
    entry_count: int
    old_leaf_id: str | None = None
    """Leaf of the branch that was left."""
    names_leaf: bool = True
    """False for an older envelope, which does not say."""

    def to_json(self) -> JsonObject:
        """The `source` object of the format."""
        record: JsonObject = {
            "firstEntryId": self.first_entry_id,
            "lastEntryId": self.last_entry_id,
            "entryCount": self.entry_count,
        }
        if self.names_leaf:
            record["oldLeafId"] = self.old_leaf_id
        return record


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchRequest:
    """What the user asked the summary to mind."""

    text: str = ""
    source_bytes: int = 0
    truncated: bool = False

    def to_json(self) -> JsonObject:
        """The `request` object of the format."""
        return {"text": self.text, "sourceBytes": self.source_bytes, "truncated": self.truncated}


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchDetails:
    """One envelope."""

    source: BranchSource
    facts: tuple[Fact, ...]
    """In the order in which things were told; an address may come twice."""
    omitted_facts: int = 0
    """Facts of the branch that are not here."""
    sections: tuple[str, ...] = ()
    """Headers of the summary's sections."""
    request: BranchRequest = BranchRequest()

    def to_json(self) -> JsonObject:
        """The envelope, as it is persisted."""
        return {
            "kind": KIND,
            "version": VERSION,
            "source": self.source.to_json(),
            "facts": [fact.to_json() for fact in self.facts],
            "omittedFacts": self.omitted_facts,
            "sections": list(self.sections),
            "request": self.request.to_json(),
        }
