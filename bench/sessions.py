"""Session files for measuring: made from a seed, of a given number of entries and size.

`python bench/sessions.py FILE [ENTRIES BYTES SEED]` writes one.
"""

import json
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SIZES = {"330k": (311, 330 * 1024), "5m": (4_869, 5_000_000), "50m": (50_000, 50_000_000)}
"""Entries and bytes of the sizes that rows are about."""

PROSE = (
    "the parser drops a token when buffer and cache disagree so retry after flush and keep order of every "
    "shard while router config stays the same schema test fails"
)
WORDS = tuple(PROSE.split())
# Most text of a session is ASCII; a part of it is not.
OTHER_WORDS = ("größe", "内存", "naïve", "🚀", "данные")
OTHER_SHARE = 0.1
FOLDERS = ("src/app", "src/app/store", "tests/unit", "docs", "packages/ui/src", "scripts")
NAMES = ("index", "router", "cache", "shard", "parser", "schema", "retry", "flush", "ledger", "quota")
COMMANDS = ("npm test", "npm run build", "git status", "pytest -q tests", "rg -n TODO src", "make check")
# A context of a model with 200,000 tokens, compacted a little before it is full.
FULL_TOKENS = 180_000
# Bytes of an entry that is no tool result, and the share of those that are: measured of what is made here.
PLAIN_BYTES, RESULT_SHARE = 640, 0.525


def write_session(path: Path, *, entries: int, size_bytes: int, seed: int) -> None:
    """Write a session of exactly `entries` entries and about `size_bytes` bytes (within a few percent).

    The same arguments give the same bytes. Turns of a user's message, tool calls (some parallel, some
    failing, programs with traces) and an answer; commands of the user's, custom entries and messages,
    labels, and a compaction whenever the context is full.
    """
    maker = _Maker(random.Random(seed), entries, size_bytes)
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        for line in maker.lines():
            stream.write(line)


@dataclass
class _Maker:
    chance: random.Random
    entries_left: int
    bytes_left: int
    made: int = 0
    previous_id: str | None = None
    tokens: int = 2_000
    users: list[str] = field(default_factory=list[str])

    def lines(self) -> Iterator[str]:
        header = {"type": "session", "version": 3, "id": "bench", "timestamp": _time(0), "cwd": "/srv/bench"}
        yield _line(header)
        for entry in self._entries():
            yield (line := _line(self._linked(entry)))
            size = len(line.encode())
            self.bytes_left -= size
            self.tokens += size // 4
            self.entries_left -= 1
            if not self.entries_left:
                return

    def _linked(self, entry: dict[str, Any]) -> dict[str, Any]:
        self.made += 1
        entry_id = f"{self.made:08x}"
        parent, self.previous_id = self.previous_id, entry_id
        if entry.get("message", {}).get("role") == "user":
            self.users.append(entry_id)
        kind = entry.pop("type")
        return {"type": kind, "id": entry_id, "parentId": parent, "timestamp": _time(self.made), **entry}

    def _entries(self) -> Iterator[dict[str, Any]]:
        yield {"type": "model_change", "provider": "bench", "modelId": "bench-1"}
        yield {"type": "thinking_level_change", "thinkingLevel": "medium"}
        while True:
            yield _message("user", content=[_text(self._prose(8, 60))])
            for _ in range(self.chance.randint(2, 9)):
                yield from self._step()
            yield self._answer([_text(self._prose(20, 90))], "stop")
            yield from self._between_turns()

    def _step(self) -> Iterator[dict[str, Any]]:
        calls = [self._call(index) for index in range(self.chance.choice((1, 1, 1, 2, 3)))]
        parts: list[dict[str, Any]] = [{"type": "thinking", "thinking": self._prose(5, 30)}]
        if self.chance.random() < 0.4:
            parts.append(_text(self._prose(4, 20)))
        yield self._answer([*parts, *calls], "toolUse")
        self.chance.shuffle(calls)
        for call in calls:
            yield self._result(call)

    def _call(self, index: int) -> dict[str, Any]:
        name = self.chance.choice(("read", "read", "bash", "edit", "write", "grep", "fabric_exec"))
        arguments: dict[str, Any] = {"path": self._path()}
        if name == "bash":
            arguments = {"command": self.chance.choice(COMMANDS)}
        elif name == "edit":
            arguments["edits"] = [{"oldText": self._prose(2, 12), "newText": self._prose(2, 12)}]
        elif name == "write":
            arguments["content"] = self._prose(10, 60)
        elif name == "grep":
            arguments["pattern"] = self.chance.choice(WORDS)
        elif name == "fabric_exec":
            arguments = {"code": f"return await pi.read({json.dumps(self._path())});"}
        return {"type": "toolCall", "id": f"call_{self.made}_{index}", "name": name, "arguments": arguments}

    def _result(self, call: dict[str, Any]) -> dict[str, Any]:
        is_error = self.chance.random() < 0.08
        fields: dict[str, Any] = {"toolCallId": call["id"], "toolName": call["name"]}
        if call["name"] == "fabric_exec":
            fields["details"] = {"success": not is_error, "trace": self._trace(is_error)}
        return _message("toolResult", content=[_text(self._output())], isError=is_error, **fields)

    def _output(self) -> str:
        """Text as long as keeps the file on its way to its size."""
        mean = (self.bytes_left - self.entries_left * PLAIN_BYTES) / (self.entries_left * RESULT_SHARE)
        wanted = int(min(60_000.0, max(20.0, mean) * self.chance.expovariate(1)))
        line = f"{self._path()}:{self.made}: {self._prose(10, 30)}\n"
        return (line * (wanted // len(line) + 1))[:wanted]

    def _trace(self, is_error: bool) -> dict[str, Any]:
        operations: list[dict[str, Any]] = []
        for sequence in range(self.chance.randint(1, 6)):
            action = self.chance.choice(("read", "grep", "edit", "write", "bash"))
            args = {"command": self.chance.choice(COMMANDS)} if action == "bash" else {"path": self._path()}
            frame = {"type": "call", "sequence": sequence, "ref": f"pi.{action}", "provider": "pi"}
            operations.append({**frame, "action": action, "args": args, "outcome": "succeeded"})
        if is_error:
            operations[-1] |= {"outcome": "failed", "failureStage": "invoke", "error": "The call failed."}
        counts = dict.fromkeys(("droppedValues", "truncatedValues", "redactedValues", "droppedOperations"), 0)
        return {
            "kind": "pi-fabric.execution",
            "version": 1,
            "outcome": "failed" if is_error else "succeeded",
            "phases": ["look", "change"][: self.chance.randint(0, 2)],
            "operations": operations,
            "counts": counts,
        }

    def _answer(self, content: list[dict[str, Any]], reason: str) -> dict[str, Any]:
        usage = {"input": 12, "output": 40, "cacheRead": self.tokens, "cacheWrite": 0}
        usage["totalTokens"] = sum(usage.values())
        fields = {"api": "bench", "provider": "bench", "model": "bench-1", "usage": usage}
        return _message("assistant", content=content, stopReason=reason, **fields)

    def _between_turns(self) -> Iterator[dict[str, Any]]:
        chance = self.chance.random()
        if self.tokens > FULL_TOKENS:
            yield self._compaction()
        elif chance < 0.1:
            ran = {"command": self.chance.choice(COMMANDS), "output": self._prose(5, 40), "exitCode": 0}
            yield _message("bashExecution", cancelled=False, truncated=False, **ran)
        elif chance < 0.2:
            yield {"type": "custom", "customType": "bench.state", "data": {"text": self._prose(5, 40)}}
        elif chance < 0.3:
            fields = {"customType": "bench.note", "content": self._prose(5, 30), "display": True}
            yield {"type": "custom_message", **fields, "details": {"turn": len(self.users)}}
        elif chance < 0.35:
            yield {"type": "label", "targetId": self.users[-1], "label": "here"}

    def _compaction(self) -> dict[str, Any]:
        before, self.tokens = self.tokens, 20_000
        kept = {"firstKeptEntryId": self.users[-1], "tokensBefore": before, "fromHook": False}
        return {"type": "compaction", "summary": self._prose(100, 400), **kept}

    def _path(self) -> str:
        return f"{self.chance.choice(FOLDERS)}/{self.chance.choice(NAMES)}{self.chance.randint(1, 20)}.ts"

    def _prose(self, fewest: int, most: int) -> str:
        words = (*WORDS, *OTHER_WORDS) if self.chance.random() < OTHER_SHARE else WORDS
        return " ".join(self.chance.choices(words, k=self.chance.randint(fewest, most)))


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _message(role: str, **fields: Any) -> dict[str, Any]:
    return {"type": "message", "message": {"role": role, **fields}}


def _time(number: int) -> str:
    minutes, seconds = divmod(number * 7, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"2026-01-{1 + days % 28:02}T{hours:02}:{minutes:02}:{seconds:02}.000Z"


def _line(entry: dict[str, Any]) -> str:
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n"


def main() -> None:
    """Write the file that the command line asks for."""
    path, *numbers = sys.argv[1:]
    entries, size_bytes, seed = [int(number) for number in numbers] or [*SIZES["5m"], 1]
    write_session(Path(path), entries=entries, size_bytes=size_bytes, seed=seed)


if __name__ == "__main__":
    main()
