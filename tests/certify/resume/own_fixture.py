"""A fixture of one's own, as small as one can be; tests break it in one place each."""

import json
from pathlib import Path
from typing import Any

DESCRIPTION: dict[str, Any] = {
    "title": "A small one",
    "expected": {"answer.txt": "bytes"},
    "forbidden": ["fixed.txt", "kept"],
    "oracle": ["{python}", "-c", "import sys; sys.exit(open('answer.txt').read() != 'forty-two\\n')"],
}


def session_lines(cwd: str = "/somewhere/else") -> list[dict[str, Any]]:
    """A session of two messages."""
    head = {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-01-05T00:00:00Z", "cwd": cwd}
    return [
        head,
        message("a1", None, "user", f"Write forty-two into {cwd}/answer.txt."),
        message("a2", "a1", "assistant", "Later.", stopReason="stop"),
    ]


def message(entry_id: str, parent: str | None, role: str, text: str, **fields: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    entry = {"type": "message", "id": entry_id, "parentId": parent, "timestamp": "2026-01-05T00:00:00Z"}
    return entry | {"message": {"role": role, "content": content, **fields}}


def write_fixture(folder: Path, **changes: Any) -> Path:
    """Write the fixture; `changes` replace fields of its description."""
    for name in ("repo/kept", "expected"):
        (folder / name).mkdir(parents=True)
    (folder / "repo" / "fixed.txt").write_text("fixed\n")
    (folder / "repo" / "kept" / "one.txt").write_text("one\n")
    (folder / "expected" / "answer.txt").write_text("forty-two\n")
    (folder / "fixture.json").write_text(json.dumps(DESCRIPTION | changes))
    write_session(folder, session_lines())
    return folder


def write_session(folder: Path, lines: list[dict[str, Any]]) -> None:
    (folder / "session.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
