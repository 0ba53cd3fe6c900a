"""Writes the sessions of the built-in fixtures: `python -m tests.certify.resume.make_fixtures`.

Each is a conversation in which the facts of the task are told early, then comes a detour that is longer
than what a compaction keeps, and at the end the task is put off without its facts being repeated.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pi_fabric.certify.resume.fixture import BUILT_IN

FOLDER = "/work/recorded-session"
START_MS = 1_767_571_200_000  # 2026-01-05T00:00:00Z
WORDS = (
    "alder", "birch", "cedar", "hazel", "larch", "maple", "rowan", "spruce", "willow", "yew",
    "amber", "basil", "clove", "fennel", "sorrel",
)  # fmt: skip
USAGE = {
    "input": 0,
    "output": 0,
    "cacheRead": 0,
    "cacheWrite": 0,
    "totalTokens": 0,
    "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
}


class Story:
    """A session that is being told; `lines` has it in format 3."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._count = 0
        self._parent: str | None = None
        header = {"type": "session", "version": 3, "id": self._uuid(), "timestamp": self._time()}
        self.lines: list[dict[str, Any]] = [header | {"cwd": FOLDER}]

    def user(self, text: str) -> None:
        self._add({"role": "user", "content": [{"type": "text", "text": text}]})

    def says(self, text: str) -> None:
        self._answer([{"type": "text", "text": text}], "stop")

    def calls(self, tool: str, arguments: dict[str, Any], output: str, *, text: str = "") -> None:
        call_id = f"call_{self._name}_{self._count}"
        said = [{"type": "text", "text": text}] if text else []
        call = {"type": "toolCall", "id": call_id, "name": tool, "arguments": arguments}
        self._answer([*said, call], "toolUse")
        result = {"role": "toolResult", "toolCallId": call_id, "toolName": tool, "isError": False}
        self._add(result | {"content": [{"type": "text", "text": output}]})

    def reads(self, path: str, *, text: str = "") -> None:
        content = (BUILT_IN / self._name / "repo" / path).read_text(encoding="utf-8")
        self.calls("read", {"path": path}, content, text=text)

    def _answer(self, content: list[dict[str, Any]], stop: str) -> None:
        origin = {"api": "openai-completions", "provider": "recorded", "model": "recorded"}
        self._add({"role": "assistant", "content": content, **origin, "usage": USAGE, "stopReason": stop})

    def _add(self, message: dict[str, Any]) -> None:
        self._count += 1
        entry_id = hashlib.sha256(f"{self._name}{self._count}".encode()).hexdigest()[:8]
        entry = {"type": "message", "id": entry_id, "parentId": self._parent, "timestamp": self._time()}
        self.lines.append(entry | {"message": message | {"timestamp": START_MS + self._count * 1000}})
        self._parent = entry_id

    def _time(self) -> str:
        minutes, seconds = divmod(self._count, 60)
        return f"2026-01-05T00:{minutes:02}:{seconds:02}.000Z"

    def _uuid(self) -> str:
        digest = hashlib.sha256(self._name.encode()).hexdigest()
        return f"{digest[:8]}-{digest[8:12]}-7{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"


def log_lines(seed: str, count: int) -> str:
    """Lines of a log in which nothing happens."""
    return "\n".join(_log(seed, count))


def _log(seed: str, count: int) -> Iterator[str]:
    for number in range(count):
        digest = hashlib.sha256(f"{seed}{number}".encode()).digest()
        first, second = WORDS[digest[0] % len(WORDS)], WORDS[digest[1] % len(WORDS)]
        yield f"{number:05} {first}-{second} took {digest[2]} ms, {digest[3]} rows, shard {digest[4] % 16}"


def detour(story: Story, subjects: list[str]) -> None:
    """Other work, in between; it needs none of the facts and changes no file."""
    for subject in subjects:
        story.user(f"Something else first: look at the log of the {subject} run, does anything stand out?")
        command = f"tail -n 150 /var/log/{subject}.log"
        story.calls("bash", {"command": command}, log_lines(subject, 150), text="I look at its end.")
        story.calls("bash", {"command": f"grep -c took /var/log/{subject}.log"}, "150")
        story.says(f"Nothing stands out in the log of the {subject} run: 150 lines, all below 256 ms.")


def tenant_limits() -> Story:
    """Facts: burst 37, window 900 ms, header x-tenant-code, the edge of the window, what must not change."""
    story = Story("tenant-limits")
    story.user(
        "We take on the tenant orchid. It goes into config/limits.json with a burst of 37 requests, a window"
        " of 900 ms and the header x-tenant-code (not x-tenant: their proxy eats that one). The two tenants"
        " that are there stay as they are."
    )
    story.reads("config/limits.json", text="I look at what is there.")
    story.reads("src/limits.mjs")
    story.says("Understood: orchid with its own header. src/limits.mjs cannot decide yet, allow is missing.")
    story.user(
        "Right, that belongs to it: src/limits.mjs exports allow(name, timesMs, nowMs), true when fewer"
        " requests than the burst are in the window. A request exactly as old as the window no longer counts,"
        " and an unknown tenant throws, as limitsOf does. Never touch config/legacy.json, billing reads it:"
        " its 30 for orchid is on purpose. And leave docs alone, Mira writes them."
    )
    story.says("Clear. I change config/limits.json and src/limits.mjs, and nothing else.")
    detour(story, ["ingest", "billing", "mirror", "search", "nightly", "replay"])
    story.user("Good. I have to go; take up the limits next time, just as we agreed at the beginning.")
    story.says("I will. Nothing of it is done so far.")
    return story


def release_notes() -> Story:
    """Facts: version, code name, the order, what is left out, the closing line, what must not change."""
    story = Story("release-notes")
    story.user(
        'The next release is 4.7.0-rc.2 with the code name "Quiet Heron". Put both into version.json, in the'
        " fields that are there."
    )
    story.reads("version.json", text="I look at the fields.")
    story.reads("archive/4.6.0.md")
    story.says("Two fields, version and codename. The title of the notes has both, as in the archive.")
    story.user(
        "Then RELEASE.md from notes/: the title as in the archive, then '## Fixed' with the kind fix, then"
        " '## New' with the kind feature; internal ones stay out. In each part by text, in alphabetical"
        " order, a line each: '- TEXT (#PULL)'. A blank line around headings and lists. The last line is"
        " 'Thanks to Amara Okafor, who found both faults.'. Nothing in archive/ or notes/ may change."
    )
    for name in ("0398-quota", "0405-timer", "0407-export", "0412-retry", "0421-locale"):
        story.reads(f"notes/{name}.md")
    story.says("Five notes: two fixes, two features, one internal that stays out.")
    detour(story, ["upload", "thumbnail", "quota", "export", "index", "backup"])
    story.user("Fine. That is all for today; the release comes next time, by the rules from the beginning.")
    story.says("All right. version.json and RELEASE.md are still to be written.")
    return story


STORIES = (tenant_limits, release_notes)


def written(story: Story) -> str:
    """The file's content."""
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in story.lines)


def main() -> None:
    for tell in STORIES:
        name = tell.__name__.replace("_", "-")
        Path(BUILT_IN / name / "session.jsonl").write_text(written(tell()), encoding="utf-8")


if __name__ == "__main__":
    main()
