"""Takes Pi's place where Pi must misbehave: `python fake_pi.py MODE ... --session FILE`.

Speaks the line protocol and appends to the session as Pi does. MODE says what it does with a prompt:

    work        does the task of `own_fixture`, and its answer costs 0.5 USD
    idle        settles without an answer
    spoil       as `work`, but changes what must not change
    fail        its answer fails with words that hold the key
    crash       ends with exit code 3, the key in its last words
    rantN       ends with exit code 4 after more last words than are kept: the key, and N dots
    hang        never answers
    garbage     writes something that is no protocol
    refuse      refuses the prompt with words that hold the key
    handled     says that an extension took the prompt
    decline     cancels a compaction, and an extension tells the person why
    ask         works once its question was cancelled
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

MODE, ARGUMENTS = sys.argv[1], sys.argv[2:]
SESSION = Path(ARGUMENTS[ARGUMENTS.index("--session") + 1])
KEY = os.environ.get("BENCH_TEST_KEY", "")


def send(message: dict[str, Any], *, end: str = "\n") -> None:
    sys.stdout.buffer.write(json.dumps(message, ensure_ascii=False).encode() + end.encode())
    sys.stdout.buffer.flush()


def respond(command: dict[str, Any], **fields: Any) -> None:
    send({"id": command["id"], "type": "response", "command": command["type"], "success": True} | fields)


def append(**fields: Any) -> None:
    last = json.loads(SESSION.read_text(encoding="utf-8").rstrip("\n").split("\n")[-1])
    entry = {
        "id": f"new{SESSION.stat().st_size}",
        "parentId": last["id"],
        "timestamp": "2026-01-05T01:00:00Z",
    }
    with SESSION.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry | fields) + "\n")


def answer(stop: str = "stop", **fields: Any) -> None:
    usage = {"input": 90, "output": 10, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 100}
    content = [{"type": "text", "text": "Done."}]
    message = {"role": "assistant", "content": content, "stopReason": stop}
    append(type="message", message=message | {"usage": usage | {"cost": {"total": 0.5}}} | fields)


def work() -> None:
    Path("answer.txt").write_text("forty-two\n", encoding="utf-8")
    answer()


def prompted(command: dict[str, Any]) -> None:
    if MODE == "hang":
        return
    if MODE == "crash":
        sys.stderr.write(f"TypeError: cannot use {KEY}\n    at run (cli.js:1:1)\n\nNode.js v24.0.0\n")
        sys.exit(3)
    if MODE.startswith("rant"):
        sys.stderr.write(KEY * 1000 + "." * int(MODE.removeprefix("rant") or 0))
        sys.exit(4)
    if MODE == "garbage":
        sys.stdout.write(f"this is no frame, and it holds {KEY}\n")
        sys.stdout.flush()
        return
    if MODE == "refuse":
        respond(command, success=False, error=f"401: the key {KEY} is unknown")
        return
    if MODE == "handled":
        respond(command, data={"disposition": "handled"})
        return
    respond(command)
    if MODE == "ask":
        send({"type": "extension_ui_request", "id": "q1", "method": "confirm", "title": "Sure?"})
        reply = json.loads(sys.stdin.buffer.readline())
        assert reply == {"type": "extension_ui_response", "id": "q1", "cancelled": True}
    if MODE == "spoil":
        Path("fixed.txt").write_text("changed\n", encoding="utf-8")
    if MODE == "fail":
        answer("error", errorMessage=f"401 {KEY}")
    elif MODE != "idle":
        work()
    # A line separator of Unicode is text, and a carriage return before the line feed is dropped.
    send({"type": "message_end", "message": {"text": "one\u2028two\u2029three"}})
    send({"type": "agent_settled"}, end="\r\n")


def main() -> None:
    while line := sys.stdin.buffer.readline():
        command = json.loads(line)
        if command["type"] == "prompt":
            prompted(command)
        elif command["type"] == "compact" and MODE == "decline":
            told = f"Fabric did not compact: nothing new since {KEY}."
            send({"type": "extension_ui_request", "id": "n1", "method": "notify", "message": told})
            respond(command, success=False, error="Compaction cancelled")
        elif command["type"] == "compact":
            kept = command.get("customInstructions") == "__pi_vcc__"
            append(type="compaction", summary="Short.", firstKeptEntryId="", tokensBefore=9, fromHook=kept)
            respond(command, data={"summary": "Short."})


if __name__ == "__main__":
    main()
