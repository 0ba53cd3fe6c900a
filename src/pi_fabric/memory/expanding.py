"""Opening addresses: the full text of entries, read from the source and never from the index."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from pi_fabric.base.errors import RequestError
from pi_fabric.base.jsonvalue import Json, JsonObject, is_array, is_finite_number
from pi_fabric.memory.branch_facts import FACT_TYPE
from pi_fabric.memory.building import SOURCE_UNAVAILABLE
from pi_fabric.memory.discovery import Found
from pi_fabric.memory.hydration import hydrate, stale_pointer
from pi_fabric.memory.lineage import LiveBranch
from pi_fabric.memory.model import EVERYTHING, Branches, Entry
from pi_fabric.memory.query import EntryRange, Expected, read_branches, read_expected, read_range
from pi_fabric.memory.source import SourceChanged

REF: Final = "memory.expand"

# What an expanded entry tells besides index, id and text, where it has it.
_TOLD: Final = (
    "parent_entry_id", "operation_address", "ref", "provider", "action", "outcome", "files_touched",
    "operation", "branch_fact", "fact_address", "carrier_entry_id", "carrier_parent_id", "carrier_from_id",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpandRequest:
    """What is to be opened of one session."""

    session: str
    branches: Branches
    indices: tuple[Json, ...]
    entry_ids: tuple[str, ...]
    addresses: tuple[str, ...]
    entry_range: EntryRange | None
    expected: Expected


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why nothing was opened."""

    code: str
    message: str
    details: JsonObject
    is_bound: bool = False
    """True when the answer names the source as it was read."""

    def to_json(self) -> JsonObject:
        """The `error` object of an answer."""
        return {"code": self.code, "message": self.message, **self.details}


def read_request(args: JsonObject) -> ExpandRequest:
    """Check the arguments of `memory.expand`.

    Raises:
        RequestError: If no session is named, or a list is none.
    """
    session = args.get("session")
    if not isinstance(session, str) or not session.strip():
        raise RequestError(REF, "session is needed: the path of a session file, its id or its file's name")
    return ExpandRequest(
        session=session,
        branches=read_branches(args, REF),
        indices=tuple(_list(args, "indices")),
        entry_ids=_texts(args, "entryIds"),
        addresses=_texts(args, "operationAddresses"),
        entry_range=read_range(args, REF),
        expected=read_expected(args),
    )


def expand_session(request: ExpandRequest, found: Found, live: LiveBranch | None) -> JsonObject:
    """The answer over one session; blocking."""
    named: JsonObject = {"session": found.path}
    try:
        hydrated = hydrate(found, request.branches, live, EVERYTHING)
        if not hydrated.matches(request.expected):
            stale = stale_pointer(hydrated, request.expected)
            return named | {"branches": request.branches, "error": stale, "expanded": []}
        bound = named | {
            "sourceHash": hydrated.source.source_hash,
            "branches": request.branches,
            "lineageFingerprint": hydrated.lineage.fingerprint,
        }
        outline = hydrated.outline()
        chosen = choose(request, outline.entries)
        if isinstance(chosen, Problem):
            head = bound if chosen.is_bound else named
            return head | {"error": chosen.to_json(), "expanded": []}
        entries = hydrated.pick(outline, chosen)
    except (OSError, SourceChanged) as error:
        return named | {"error": unavailable(found, error).to_json(), "expanded": []}
    return bound | {"expanded": [expanded(entry) for entry in entries]}


def not_found(request: ExpandRequest, hidden: Sequence[str] = ()) -> JsonObject:
    """The answer when no session has the name.

    Args:
        request: What was asked.
        hidden: Where nothing could be listed, and the session may lie.
    """
    message = "no session has this path, id or file name"
    if hidden:
        message += f"; {hidden[0]} could not be looked into"
    problem = {"code": "session_not_found", "message": message}
    return {"session": request.session, "error": problem, "expanded": []}


def choose(request: ExpandRequest, entries: Sequence[Entry]) -> frozenset[int] | Problem:
    """The indices of the entries that a request means.

    An address means exactly one entry or nothing is opened. One that a summary prints of a phase, a call or
    a command is opened by the entry that tells of it.
    """
    count = len(entries)
    if problem := _out_of_bounds(request, count):
        return problem
    chosen: set[int] = {int(index) for index in request.indices}
    if request.entry_range is not None:
        chosen.update(range(int(request.entry_range.first), int(request.entry_range.last) + 1))
    named = [("entry_id", one) for one in request.entry_ids]
    named += [("operation_address", one) for one in request.addresses]
    places = _by_address(entries) if named else {}
    for kind, address in named:
        matches = _matches(kind, address, places)
        if len(matches) != 1:
            return _not_one(kind, address, len(matches))
        chosen.add(matches[0])
    return frozenset(chosen)


def expanded(entry: Entry) -> JsonObject:
    """An entry as it is answered."""
    record: JsonObject = {"index": entry.index, "entryId": entry.entry_id, "text": entry.text}
    if entry.tool_name is not None:
        record["toolName"] = entry.tool_name
    told = msgspec.to_builtins(entry)
    for name in _TOLD:
        key = _camel(name)
        if key in told:
            record[key] = told[key]
    return record


def _by_address(entries: Iterable[Entry]) -> dict[tuple[str, str | None], list[Entry]]:
    """The entries of each id and of each operation's address."""
    places: dict[tuple[str, str | None], list[Entry]] = {}
    for entry in entries:
        places.setdefault(("entry_id", entry.entry_id), []).append(entry)
        places.setdefault(("operation_address", entry.address), []).append(entry)
    return places


def _matches(kind: str, address: str, places: Mapping[tuple[str, str | None], list[Entry]]) -> list[int]:
    exact = places.get((kind, address), [])
    # What a branch summary tells again of an operation is not a second one.
    told_first = [entry for entry in exact if entry.type != FACT_TYPE]
    if exact or "/" not in address:
        return [entry.index for entry in (told_first if len(told_first) == 1 else exact)]
    teller, _, what = address.partition("/")
    return [entry.index for entry in places.get(("entry_id", teller), ()) if _tells(entry, what)]


def _tells(entry: Entry, what: str) -> bool:
    """True when an entry is where a summary's address of a phase, a call or a command leads."""
    return (
        (what.startswith("phase:") and entry.role == "toolResult")
        or (what.startswith("call:") and entry.role in ("assistant", "toolResult"))
        or (what == "bash" and entry.role == "bashExecution")
        or (what == "user" and entry.role == "user")
        or (what == "custom-message" and entry.role == "custom")
    )


def _out_of_bounds(request: ExpandRequest, count: int) -> Problem | None:
    """The first address that no session or not this one has."""
    for index in request.indices:
        if not is_finite_number(index) or index != int(index) or index < 0:
            return Problem(code="index_out_of_bounds", message=f"{index!r} is no index", details={})
        if index >= count:
            return beyond(count)
    if request.entry_range is not None:
        return range_problem(request.entry_range, count)
    return None


def range_problem(entry_range: EntryRange, count: int) -> Problem | None:
    """Why a range is none of a session of `count` entries; None when it is one."""
    if not entry_range.is_sound():
        message = f"{entry_range.first} to {entry_range.last} is no range of entries"
        return Problem(code="index_out_of_bounds", message=message, details={})
    return None if entry_range.fits(count) else beyond(count)


def unavailable(found: Found, error: Exception) -> Problem:
    """The answer over a source that could not be read."""
    is_busy = isinstance(error, SourceChanged)
    reason = "is written all the time; ask again" if is_busy else "cannot be read"
    return Problem(code=SOURCE_UNAVAILABLE, message=f"{found.path} {reason}", details={})


def beyond(count: int) -> Problem:
    """The answer to an index that a session does not have."""
    last = f"; the last is {count - 1}" if count else ""
    entries = "1 entry" if count == 1 else f"{count:,} entries"
    message = f"the session has {entries}{last}"
    return Problem(code="index_out_of_bounds", message=message, details={"entryCount": count})


def _not_one(kind: str, address: str, matches: int) -> Problem:
    code = "ambiguous_address" if matches else "address_not_found"
    reason = (
        f"{matches} entries have the address {address}; name one by its index"
        if matches
        else f"no entry of these branches has the address {address}"
    )
    details: JsonObject = {"addressType": kind, "address": address, "matches": matches}
    return Problem(code=code, message=reason, details=details, is_bound=True)


def _list(args: JsonObject, key: str) -> list[Json]:
    value = args.get(key)
    if value is None:
        return []
    if not is_array(value):
        raise RequestError(REF, f"{key} is a list")
    return value


def _texts(args: JsonObject, key: str) -> tuple[str, ...]:
    return tuple(item for item in _list(args, key) if isinstance(item, str) and item)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
