"""Session files below one home, and memories of them, for tests of recall."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from hypothesis import strategies as st

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.config.model import MemoryConfig
from pi_fabric.memory import Current, Memory
from pi_fabric.memory.entries import EntryReader
from pi_fabric.memory.model import Entry, Privacy
from pi_fabric.protocol.regex import RegexPort

CWD: Final = "/work/proj"
FOLDER: Final = "--work-proj--"
NOON_MS: Final = 1_735_732_800_000
"""2025-01-01 12:00 UTC, when the first entry of every path was written."""


def path(*entries: JsonObject) -> list[JsonObject]:
    """The entries as one path with ids `e1`, `e2`, ... and a second between them; what is set stays."""
    linked: list[JsonObject] = []
    for number, entry in enumerate(entries, start=1):
        parent = linked[-1]["id"] if linked else None
        time = NOON_MS + 1000 * (number - 1)
        linked.append({"id": f"e{number}", "parentId": parent, "timestamp": time, **entry})
    return linked


def message(role: Json, **fields: Json) -> JsonObject:
    return {"type": "message", "message": {"role": role, **fields}}


def user(text: str) -> JsonObject:
    return message("user", content=text)


def says(text: str) -> JsonObject:
    return message("assistant", content=[{"type": "text", "text": text}])


def thinks(text: str) -> JsonObject:
    return message("assistant", content=[{"type": "thinking", "thinking": text}])


def calls(name: Json, **arguments: Json) -> JsonObject:
    part = {"type": "toolCall", "id": "c1", "name": name, "arguments": arguments}
    return message("assistant", content=[part])


def returns(name: str, text: str = "ok", **fields: Json) -> JsonObject:
    content = [{"type": "text", "text": text}]
    return message("toolResult", toolCallId="c1", toolName=name, content=content, **fields)


def shell(command: str, output: str = "", exit_code: Json = 0) -> JsonObject:
    return message("bashExecution", command=command, output=output, exitCode=exit_code)


def note(custom_type: str, text: str) -> JsonObject:
    return {"type": "custom_message", "customType": custom_type, "content": text, "display": True}


def compaction(summary: str) -> JsonObject:
    return {"type": "compaction", "summary": summary, "firstKeptEntryId": "e1", "tokensBefore": 1}


def trace(operations: Sequence[JsonObject], phases: Sequence[str] = ()) -> JsonObject:
    counts = dict.fromkeys(("droppedValues", "truncatedValues", "redactedValues", "droppedOperations"), 0)
    return {
        "kind": "pi-fabric.execution",
        "version": 1,
        "outcome": "succeeded",
        "phases": list(phases),
        "operations": [{"type": "call", "sequence": at, **one} for at, one in enumerate(operations)],
        "counts": counts,
    }


def ran(*operations: JsonObject, phases: Sequence[str] = ()) -> JsonObject:
    """The result of a program that called these."""
    return returns("fabric_exec", details={"success": True, "trace": trace(operations, phases)})


def operation(
    ref: str, outcome: str = "succeeded", *, error: str | None = None, **fields: Json
) -> JsonObject:
    provider, _, action = ref.partition(".")
    record: JsonObject = {"ref": ref, "provider": provider, "action": action, "args": {}, "outcome": outcome}
    record |= fields
    return record if error is None else record | {"error": error}


def fact(kind: str, entry_id: str, subordinal: str, **fields: Json) -> JsonObject:
    address = f"{entry_id}/{subordinal}"
    return {"kind": kind, "entryId": entry_id, "subordinal": subordinal, "address": address, **fields}


def operation_fact(entry_id: str, sequence: str = "0", **fields: Json) -> JsonObject:
    told: JsonObject = {"ref": "pi.bash", "tool": "bash", "args": {}, "outcome": "failed"}
    return fact("operation", entry_id, sequence, **{**told, **fields})


def envelope(*facts: JsonObject, **fields: Json) -> JsonObject:
    return {
        "kind": "pi-fabric.branch-summary",
        "version": 1,
        "source": {"firstEntryId": "b1", "lastEntryId": "b9", "entryCount": 9, "oldLeafId": "b9"},
        "facts": list(facts),
        "omittedFacts": 0,
        "sections": ["[Session Goal]"],
        "request": {"text": "", "sourceBytes": 0, "truncated": False},
        **fields,
    }


def carries(details: Json, summary: str = "prose") -> JsonObject:
    """A branch summary with these details."""
    return {"type": "branch_summary", "fromId": "b9", "summary": summary, "details": details}


def read_all(*entries: JsonObject, privacy: Privacy | None = None, session_id: str = "s") -> list[Entry]:
    """The normalized entries of raw ones."""
    reader = EntryReader(session_file="/s.jsonl", privacy=privacy or Privacy())
    return [entry for raw in entries for entry in reader.read(session_id, raw)]


def header(session_id: str, cwd: str = CWD, **fields: Json) -> JsonObject:
    return {"type": "session", "version": 3, "id": session_id, "cwd": cwd, "timestamp": NOON_MS, **fields}


def lines(values: Iterable[Json | bytes]) -> bytes:
    """A line for each value; bytes go in as they are."""
    return b"".join((one if isinstance(one, bytes) else json.dumps(one).encode()) + b"\n" for one in values)


@dataclass(frozen=True, slots=True)
class Home:
    """A user's home with an agent's folder in it."""

    root: Path

    @property
    def sessions(self) -> Path:
        return self.root / "agent" / "sessions"

    @property
    def environ(self) -> dict[str, str]:
        return {"PI_CODING_AGENT_DIR": str(self.root / "agent"), "HOME": str(self.root)}

    def session(
        self,
        name: str,
        entries: Iterable[Json | bytes],
        *,
        cwd: str = CWD,
        folder: str = FOLDER,
        age: int = 0,
        session_id: str | None = None,
    ) -> str:
        """Write a session with a header; the older, the larger its `age` in seconds."""
        return self.raw(name, [header(session_id or name, cwd), *entries], folder=folder, age=age)

    def raw(self, name: str, values: Iterable[Json | bytes], *, folder: str = FOLDER, age: int = 0) -> str:
        """Write a session as it is told."""
        file = self.sessions / folder / f"{name}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(lines(values))
        set_age(file, age)
        return str(file)

    def memory(self, *, regex: RegexPort | None = None, **settings: Json) -> Memory:
        config = replace(MemoryConfig(), **settings)
        # Making one looks at the working folder, which must not be done on an event loop.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(lambda: Memory(config=config, environ=self.environ, regex=regex)).result()

    async def recall(self, query: str | None, *, memory: Memory | None = None, **args: Json) -> JsonObject:
        """Ask for something in all sessions, in full."""
        asked: JsonObject = {"scope": "global", "detail": "full", **args}
        if query is not None:
            asked["query"] = query
        return await (memory or self.memory()).recall(asked, cwd=Path(CWD))

    async def expand(self, session: str, *, current: Current | None = None, **args: Json) -> JsonObject:
        return await self.memory().expand({"session": session, **args}, cwd=Path(CWD), current=current)

    def records(self) -> Iterator[tuple[Path, JsonObject]]:
        """Every record of the index."""
        for file in sorted((self.root / "agent/fabric/memory-index").glob("*.json")):
            yield file, json.loads(file.read_bytes())


def set_age(file: Path | str, age: int) -> None:
    """Make a file this many seconds older than the newest."""
    when = (NOON_MS // 1000 - age) * 1_000_000_000
    os.utime(file, ns=(when, when))


def found_ids(answer: JsonObject) -> list[str | None]:
    """Ids of the entries that a full answer of segments marks, in its order."""
    return [match["entryId"] for segment in answer["segments"] for match in segment["exactMatches"]]


def found_files(answer: JsonObject) -> list[str]:
    """Names of the files that an answer tells of, in its order, without their suffix."""
    told = [*answer["segments"], *answer["digestHits"]]
    return [Path(one["sessionFile"]).stem for one in told]


def _grown(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    return st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)


# Letters of one to four bytes, marks, blanks, breaks, joiners of names.
TEXTS: Final = st.text(
    st.sampled_from(
        "abAB9 _.-+#\n\u0301\u0130\u03a3\u03c2\u0436\u8bc4\u5ba1\uac00\uff21\ufb01\U00020000\u2028"
    ),
    max_size=60,
)

JSON_VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(10**40) | st.floats() | st.text(max_size=6),
    _grown,
    max_leaves=8,
)


def _told(told: str, ref: str, outcome: str) -> JsonObject:
    return ran(operation(ref, outcome, args={"path": told}, result=told), phases=[told])


def _carried(entry_id: str, text: str) -> JsonObject:
    return carries(envelope(fact("user", entry_id, "user", text=text), operation_fact(entry_id)))


ENTRIES: st.SearchStrategy[JsonObject] = st.one_of(
    st.builds(user, TEXTS),
    st.builds(says, TEXTS),
    st.builds(thinks, TEXTS),
    st.builds(calls, TEXTS, path=TEXTS, other=JSON_VALUES),
    st.builds(returns, st.sampled_from(["read", "bash", ""]), TEXTS, isError=JSON_VALUES),
    st.builds(shell, TEXTS, TEXTS, JSON_VALUES),
    st.builds(note, TEXTS, TEXTS),
    st.builds(compaction, TEXTS),
    st.builds(
        _told, TEXTS, st.sampled_from(["pi.read", "mcp.x.y"]), st.sampled_from(["succeeded", "failed"])
    ),
    st.builds(_carried, st.sampled_from(["a", "b"]), TEXTS),
)
"""Entries of every kind that a host writes, without ids."""

_ANY_MESSAGE: st.SearchStrategy[Json] = JSON_VALUES | st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["user", "assistant", "toolResult", "bashExecution", "custom"]) | JSON_VALUES,
        "content": JSON_VALUES
        | st.lists(st.fixed_dictionaries({"type": st.sampled_from(["text", "toolCall"])})),
        "toolName": st.just("fabric_exec") | JSON_VALUES,
        "details": JSON_VALUES,
        "timestamp": JSON_VALUES,
    },
)

ANY_ENTRIES: st.SearchStrategy[JsonObject] = ENTRIES | st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["message", "custom_message", "branch_summary", "compaction"]) | JSON_VALUES,
        "id": JSON_VALUES,
        "parentId": JSON_VALUES,
        "timestamp": JSON_VALUES,
        "message": _ANY_MESSAGE,
        "customType": JSON_VALUES,
        "content": JSON_VALUES,
        "summary": JSON_VALUES,
        "details": JSON_VALUES,
    },
)
"""Also entries that no host would write."""
