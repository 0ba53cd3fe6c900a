"""Branches that tell something, for tests of what summaries make of them."""

from collections.abc import Iterable, Sequence

from hypothesis import strategies as st

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.compaction.projections import PROJECTIONS, Source
from pi_fabric.compaction.section import Section
from pi_fabric.history.events.normalize import normalize


def path(entries: Iterable[JsonObject], *, first: int = 1) -> list[JsonObject]:
    """The entries as one path with ids `e1`, `e2`, ... and a second between them; an id that is set stays."""
    linked: list[JsonObject] = []
    for number, entry in enumerate(entries, start=first):
        parent = linked[-1]["id"] if linked else None
        minutes, seconds = divmod(number, 60)
        time = f"2025-01-01T{minutes // 60:02}:{minutes % 60:02}:{seconds:02}.000Z"
        linked.append({"id": f"e{number}", "parentId": parent, "timestamp": time, **entry})
    return linked


def user(text: str) -> JsonObject:
    return _message("user", content=text)


def says(text: str) -> JsonObject:
    return _message("assistant", content=[{"type": "text", "text": text}])


def calls(name: str, call_id: str, **arguments: Json) -> JsonObject:
    part = {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}
    return _message("assistant", content=[part])


def returns(
    name: str, call_id: str, text: str = "ok", *, is_error: bool = False, **fields: Json
) -> JsonObject:
    content = [{"type": "text", "text": text}]
    return _message(
        "toolResult", toolCallId=call_id, toolName=name, content=content, isError=is_error, **fields
    )


def ran(call_id: str, operations: Sequence[JsonObject], phases: Sequence[str] = ()) -> JsonObject:
    """The result of a program that called these."""
    counts = dict.fromkeys(("droppedValues", "truncatedValues", "redactedValues", "droppedOperations"), 0)
    trace = {
        "kind": "pi-fabric.execution",
        "version": 1,
        "outcome": "succeeded",
        "phases": list(phases),
        "operations": [{"type": "call", "sequence": at, **one} for at, one in enumerate(operations)],
        "counts": counts,
    }
    return returns("fabric_exec", call_id, details={"success": True, "trace": trace})


def operation(ref: str, outcome: str = "succeeded", error: str | None = None, **args: Json) -> JsonObject:
    provider, _, action = ref.partition(".")
    record = {"ref": ref, "provider": provider, "action": action, "args": args, "outcome": outcome}
    return record if error is None else record | {"error": error}


def note(custom_type: str, text: str, **fields: Json) -> JsonObject:
    return {"type": "custom_message", "customType": custom_type, "content": text, "display": True, **fields}


def marker(summary: str, first_kept_entry_id: str, **fields: Json) -> JsonObject:
    fields = {"summary": summary, "firstKeptEntryId": first_kept_entry_id, "tokensBefore": 1, **fields}
    return {"type": "compaction", **fields}


def edited(file: str, call_id: str, *, is_error: bool = False, text: str = "ok") -> list[JsonObject]:
    """An edit with its result."""
    return [calls("edit", call_id, path=file), returns("edit", call_id, text, is_error=is_error)]


def sections(entries: Iterable[JsonObject]) -> dict[str, Section]:
    """What each projection makes of a path."""
    source = Source.of(normalize(entries))
    return {section.name: section for section in (project(source) for project in PROJECTIONS)}


def shown(entries: Iterable[JsonObject], name: str) -> list[str]:
    """The lines of one section of a path."""
    return [line.text for line in sections(entries)[name].lines]


def _message(role: str, **fields: Json) -> JsonObject:
    return {"type": "message", "message": {"role": role, **fields}}


def _grown(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    return st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)


def _repeated(text: str, times: int) -> str:
    return text * times


def _call(name: str, call_id: str, text: str) -> JsonObject:
    return calls(name, call_id, path=text, command=text)


def _result(name: str, call_id: str, text: str, is_error: bool) -> JsonObject:
    return returns(name, call_id, text, is_error=is_error)


def _operation(ref: str, outcome: str, text: str) -> JsonObject:
    return operation(ref, outcome, text, path=text, command=text)


JSON_VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | st.text(max_size=6),
    _grown,
    max_leaves=8,
)
# Scripts of one, two, three and four bytes, blanks, line breaks and half a surrogate pair.
TEXTS = st.text(st.sampled_from("ab \n\t\u0436\u76ee\U0001f600\ufeff\u2028\ud83d-[]()\u2026#"), max_size=120)
LONG_TEXTS = st.builds(_repeated, TEXTS, st.sampled_from([1, 1, 1, 40]))
CALL_IDS = st.sampled_from(["a", "b", "c", ""])
TOOLS = st.sampled_from(["read", "edit", "write", "bash", "web", "fabric_exec"])
REFS = st.sampled_from(["pi.read", "pi.write", "pi.bash", "agents.run", "mcp.x.y"])
OUTCOMES = st.sampled_from(["succeeded", "failed", "timed_out", "aborted"])
OPERATIONS = st.lists(st.builds(_operation, REFS, OUTCOMES, TEXTS), max_size=5)

ENTRIES: st.SearchStrategy[JsonObject] = st.one_of(
    st.builds(user, LONG_TEXTS),
    st.builds(says, LONG_TEXTS),
    st.builds(_call, TOOLS, CALL_IDS, TEXTS),
    st.builds(_result, TOOLS, CALL_IDS, LONG_TEXTS, st.booleans()),
    st.builds(ran, CALL_IDS, OPERATIONS, st.lists(TEXTS, max_size=2)),
    st.builds(note, TEXTS, TEXTS),
    st.builds(marker, TEXTS, st.sampled_from(["", "e1", "e3", "none"])),
)
"""Entries of every kind, with calls and results in any order."""

MESSAGES: st.SearchStrategy[JsonObject] = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["user", "assistant", "toolResult", "bashExecution"]) | JSON_VALUES,
        "content": JSON_VALUES,
        "toolCallId": JSON_VALUES,
        "details": JSON_VALUES,
    },
)
ANY_ENTRIES: st.SearchStrategy[JsonObject] = ENTRIES | st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["message", "custom_message", "branch_summary", "compaction"]) | JSON_VALUES,
        "id": JSON_VALUES,
        "timestamp": JSON_VALUES,
        "message": MESSAGES | JSON_VALUES,
        "customType": JSON_VALUES,
        "content": JSON_VALUES,
        "display": JSON_VALUES,
        "details": JSON_VALUES,
        "firstKeptEntryId": JSON_VALUES,
    },
)
"""Also entries that no host would write."""
