"""Folders of many Pi sessions, made from a seed and kept under `.cache/` for the next run.

`python bench/corpora.py [NAME...]` makes them and tells what is in them.
"""

import hashlib
import json
import os
import random
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.vocabulary import Voice

COLD_WORD, HOT_WORD = "zyzzogeton", "quillwort"
"""Each in one entry of one session: far back, and among the newest."""
COMMON_WORDS: Final = "the parser cache"
"""In nearly every session."""
# From the end; the newest fifty are hot.
HOT_PLACE: Final = 7
SEED: Final = 7
CACHE = Path(__file__).resolve().parents[1] / ".cache" / "bench"
# The files are of the past, so that nothing takes them for just written; a second apart or more.
FIRST_MTIME_S, MTIME_STEP_S = 1_750_000_000, 61.007
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """A folder of sessions."""

    name: str
    sessions: int
    size_bytes: int
    """Of one session, within a few percent."""
    projects: int
    folder: Path = field(init=False)
    """With a folder for each project, as Pi has them."""

    def __post_init__(self) -> None:
        sources = (Path(__file__), Path(__file__).with_name("vocabulary.py"))
        told = repr((self.sessions, self.size_bytes, self.projects, SEED)).encode()
        key = hashlib.sha256(b"".join(path.read_bytes() for path in sources) + told).hexdigest()[:12]
        object.__setattr__(self, "folder", CACHE / f"sessions-{self.name}-{key}")

    def made(self) -> Path:
        """The folder, made now unless it is there."""
        if not self.folder.is_dir():
            for old in CACHE.glob(f"sessions-{self.name}-*"):
                shutil.rmtree(old)
            fresh = self.folder.with_name(f"new-{self.folder.name}")
            shutil.rmtree(fresh, ignore_errors=True)
            for number in range(self.sessions):
                self._write(fresh, number)
            fresh.rename(self.folder)
        return self.folder

    def files(self) -> list[Path]:
        """Every session, oldest first."""
        return sorted(self.made().rglob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns)

    def _write(self, folder: Path, number: int) -> None:
        chance = random.Random(f"{SEED} {self.name} {number}")
        words = {self.sessions // 3: COLD_WORD, self.sessions - HOT_PLACE: HOT_WORD}
        project = f"/work/proj-{chance.randrange(self.projects)}"
        session = _Session(chance, self.size_bytes, project, FIRST_MTIME_S + number * MTIME_STEP_S)
        path = folder / f"-{project.replace('/', '-')}--" / session.file_name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes("".join(session.lines(words.get(number))).encode())
        os.utime(path, (session.now_s, session.now_s))


CORPORA = {
    "a": Corpus(name="a", sessions=1_000, size_bytes=20_000, projects=12),
    "b": Corpus(name="b", sessions=200, size_bytes=1_000_000, projects=8),
    "c": Corpus(name="c", sessions=10_000, size_bytes=20_000, projects=40),
}


class _Session:
    """One session: turns of a user's message, tool calls with their results, and an answer."""

    def __init__(self, chance: random.Random, size_bytes: int, cwd: str, start_s: float) -> None:
        # Larger sessions know more names, and their tools print more.
        is_large = size_bytes > 200_000
        self.now_s = start_s
        self._chance, self._bytes_left, self._cwd = chance, size_bytes, cwd
        self._voice = Voice(chance, 1_500 if is_large else 120)
        self._mean_lines = 45 if is_large else 4
        self._compaction_share = 0.02
        self._parent: str | None = None
        self._user = ""
        ids = self._voice.hexadecimal(32)
        self._id = "-".join((ids[:8], ids[8:12], ids[12:16], ids[16:20], ids[20:]))

    @property
    def file_name(self) -> str:
        """As Pi names it; before any line is made."""
        return f"{self._time().replace(':', '-').replace('.', '-')}_{self._id}.jsonl"

    def lines(self, last_word: str | None) -> Iterator[str]:
        """The lines of the file.

        Args:
            last_word: Said at the end and nowhere else; None says nothing more.
        """
        header = {"type": "session", "version": 3, "id": self._id, "timestamp": self._time()}
        yield _encode(header | {"cwd": self._cwd}) + "\n"
        for entry in self._entries():
            line = self._line(entry)
            yield line
            self._bytes_left -= len(line.encode())
            if self._bytes_left <= 0:
                break
        if last_word is not None:
            yield self._line(self._said(f"{self._voice.prose(5, 9)} {last_word} {self._voice.prose(5, 9)}"))

    def _line(self, entry: dict[str, Any]) -> str:
        entry_id = self._voice.hexadecimal(8)
        self.now_s += round(self._chance.uniform(0.01, 0.2), 3)
        kind = entry.pop("type")
        links = {"type": kind, "id": entry_id, "parentId": self._parent, "timestamp": self._time()}
        self._parent = entry_id
        if entry.get("message", {}).get("role") == "user":
            self._user = entry_id
        return _encode(links | entry) + "\n"

    def _entries(self) -> Iterator[dict[str, Any]]:
        yield {"type": "model_change", "provider": "bench", "modelId": "bench-1"}
        yield {"type": "thinking_level_change", "thinkingLevel": "medium"}
        while True:
            yield self._said(self._voice.prose(10, 70))
            for _ in range(self._chance.randint(1, 6)):
                yield from self._step()
            yield self._answer([_text(self._voice.prose(20, 90))], "stop")
            if self._chance.random() < 0.15:
                yield self._command()
            if self._chance.random() < self._compaction_share:
                kept = {"firstKeptEntryId": self._user, "tokensBefore": 180_000, "fromHook": False}
                yield {"type": "compaction", "summary": self._voice.prose(100, 300), **kept}

    def _step(self) -> Iterator[dict[str, Any]]:
        calls = [self._call() for _ in range(self._chance.choice((1, 1, 1, 2)))]
        thought = {"type": "thinking", "thinking": self._voice.prose(5, 40), "thinkingSignature": ""}
        parts = [thought] if self._chance.random() < 0.5 else []
        parts += [_text(self._voice.prose(5, 25))] if self._chance.random() < 0.5 else []
        yield self._answer([*parts, *calls], "toolUse")
        for call in calls:
            yield self._result(call)

    def _call(self) -> dict[str, Any]:
        voice = self._voice
        name = self._chance.choice(("read", "read", "bash", "edit", "write", "grep", "fabric_exec"))
        arguments: dict[str, Any] = {"path": voice.path()}
        if name == "bash":
            arguments = {
                "command": f"rg -n {voice.name()} {voice.path()} | head -{voice.chance.randint(5, 99)}"
            }
        elif name == "edit":
            arguments["edits"] = [{"oldText": voice.output(2), "newText": voice.output(3)}]
        elif name == "write":
            arguments["content"] = voice.output(self._lines_of_text())
        elif name == "grep":
            arguments["pattern"] = voice.name()
        elif name == "fabric_exec":
            arguments = {"code": f"const text = await pi.read({{ path: {voice.path()!r} }});\nreturn text;"}
        return {
            "type": "toolCall",
            "id": f"toolu_{voice.hexadecimal(24)}",
            "name": name,
            "arguments": arguments,
        }

    def _result(self, call: dict[str, Any]) -> dict[str, Any]:
        is_error = self._chance.random() < 0.08
        fields: dict[str, Any] = {"toolCallId": call["id"], "toolName": call["name"]}
        if call["name"] == "fabric_exec":
            fields["details"] = {"success": not is_error, "trace": self._trace(is_error)}
        output = self._voice.output(self._lines_of_text())
        return _message("toolResult", content=[_text(output)], isError=is_error, **fields)

    def _trace(self, is_error: bool) -> dict[str, Any]:
        operations: list[dict[str, Any]] = []
        for sequence in range(self._chance.randint(1, 4)):
            action = self._chance.choice(("read", "grep", "edit", "write"))
            frame = {"type": "call", "sequence": sequence, "ref": f"pi.{action}", "provider": "pi"}
            told = {"action": action, "args": {"path": self._voice.path()}, "outcome": "succeeded"}
            operations.append({**frame, **told, "result": {"text": self._voice.output(2)}})
        if is_error:
            operations[-1] |= {"outcome": "failed", "failureStage": "invoke", "error": "The call failed."}
        counts = dict.fromkeys(("droppedValues", "truncatedValues", "redactedValues", "droppedOperations"), 0)
        head = {"kind": "pi-fabric.execution", "version": 1, "outcome": operations[-1]["outcome"]}
        return {**head, "phases": ["look"], "operations": operations, "counts": counts}

    def _command(self) -> dict[str, Any]:
        ran = {"command": f"npm test -- {self._voice.path()}", "output": self._voice.output(3), "exitCode": 0}
        return _message("bashExecution", cancelled=False, truncated=False, **ran)

    def _said(self, text: str) -> dict[str, Any]:
        return _message("user", content=[_text(text)])

    def _answer(self, content: list[dict[str, Any]], reason: str) -> dict[str, Any]:
        usage = {"input": 12, "output": 40, "cacheRead": 20_000, "cacheWrite": 0, "totalTokens": 20_052}
        fields = {"api": "bench", "provider": "bench", "model": "bench-1", "usage": usage}
        return _message("assistant", content=content, stopReason=reason, **fields)

    def _lines_of_text(self) -> int:
        return 1 + int(min(600.0, self._mean_lines * self._chance.expovariate(1)))

    def _time(self) -> str:
        return datetime.fromtimestamp(self.now_s, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _message(role: str, **fields: Any) -> dict[str, Any]:
    return {"type": "message", "message": {"role": role, **fields}}


@cache
def described(name: str) -> str:
    """Sessions and bytes of a corpus."""
    sizes = [path.stat().st_size for path in CORPORA[name].files()]
    return f"{len(sizes):,} sessions, {sum(sizes) / 1e6:.0f} MB, {min(sizes):,}-{max(sizes):,} bytes each"


def main() -> None:
    """Make the corpora that the command line names, or all."""
    for name in sys.argv[1:] or CORPORA:
        start = time.perf_counter()
        CORPORA[name].made()
        elapsed_s = time.perf_counter() - start
        print(f"{name}: {described(name)}, made in {elapsed_s:.1f} s")


if __name__ == "__main__":
    main()
