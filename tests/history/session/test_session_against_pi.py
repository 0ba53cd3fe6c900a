"""Our reading of sessions beside that of the real Pi, both versions."""

import random
from pathlib import Path

import anyio
import pytest
from session_branches import compacted, entry, said

from bench.sessions import write_session
from pi_fabric.base.jsonl import append_records
from pi_fabric.base.jsonvalue import Json, JsonObject, decode
from pi_fabric.base.process import child_process
from pi_fabric.history.session import context_messages, context_tokens, estimate_tokens, read_session
from tools import install_pi

pytestmark = pytest.mark.pi

SCRIPT = Path(__file__).parent / "data" / "pi_context.mjs"
HEADER = {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/"}
TEXTS = ("", "four", "größe 🚀", "\u2028 \ufeff", "x" * 999)
ARGUMENTS: tuple[JsonObject, ...] = (
    {},
    {"b": 1.0, "10": [1e21, 1e-7, -0.0], "a": None},
    {"🚀": "\u0001\x7f"},
)


def any_entry(chance: random.Random, number: int, *, is_new: bool) -> JsonObject:
    """An entry of any type; `is_new` allows what only Pi 1.6 writes."""
    text, target = chance.choice(TEXTS), f"e{chance.randint(1, number)}"
    kinds = (
        "user",
        "assistant",
        "assistant",
        "toolResult",
        "bash",
        "custom",
        "branch",
        "compaction",
        "label",
    )
    match chance.choice((*kinds, "system", "edit") if is_new else kinds):
        case "assistant":
            usage = chance.choice((None, {"totalTokens": chance.randint(0, 9000)}))
            call = {"type": "toolCall", "id": "c", "name": "run", "arguments": chance.choice(ARGUMENTS)}
            parts = [{"type": "thinking", "thinking": text}, {"type": "text", "text": text}, call]
            reason = chance.choice(("stop", "error", "aborted"))
            message = {"role": "assistant", "content": parts, "usage": usage, "stopReason": reason}
            return entry(number, "message", message=message)
        case "bash":
            return entry(number, "message", message={"role": "bashExecution", "command": text, "output": "x"})
        case "custom":
            return entry(number, "custom_message", customType="t", content=text, display=True)
        case "branch":
            return entry(number, "branch_summary", summary=text, fromId=target)
        case "compaction":
            system: JsonObject = {"role": "system", "content": text, "timestamp": 1}
            fields = {"systemMessage": system} if is_new else {}
            return compacted(number, chance.choice((target, "", "gone")), **fields)
        case "label":
            return entry(number, "label", targetId=target, label=text)
        case "system":
            sections = {"a": chance.choice((text, None)), "b": text}
            tools: list[Json] = [{"name": chance.choice("tu"), "parameters": {"1": text}}]
            fields = {
                "sections": sections,
                "toolsAdded": tools,
                "toolsRemoved": [{"name": "u"}],
                "timestamp": 1,
            }
            return said(number, "system", text, **fields)
        case "edit":
            replacement = chance.choice(
                (None, {"content": text}, {"content": [{"type": "text", "text": text}]})
            )
            return entry(number, "context_edit", targetId=target, replacement=replacement)
        case role:
            return said(number, role, text)


def write_any(path: Path, seed: int, *, is_new: bool) -> Path:
    chance = random.Random(seed)
    entries = [any_entry(chance, number, is_new=is_new) for number in range(1, chance.randint(2, 40))]
    append_records(path, [HEADER, *entries])
    return path


async def ask_pi(version: str, paths: list[Path]) -> list[JsonObject]:
    home = install_pi.CACHE / version / "node_modules" / install_pi.SCOPE / "pi-coding-agent"
    argv = [str(install_pi.node()), str(SCRIPT), str(home), *map(str, paths)]
    with anyio.fail_after(60):
        async with child_process(argv) as pi:
            assert pi.stdout is not None
            answer = b"".join([chunk async for chunk in pi.stdout])
    return decode(answer)


@pytest.mark.requirement("session:context:as-pi")
def test_contexts_sizes_and_estimates_are_those_of_pi(pi_version: str, tmp_path: Path) -> None:
    is_new = pi_version != install_pi.FLOOR
    paths = [write_any(tmp_path / f"{seed}.jsonl", seed, is_new=is_new) for seed in range(200)]
    long = tmp_path / "long.jsonl"
    write_session(long, entries=2_000, size_bytes=2_000_000, seed=1)

    answers = anyio.run(ask_pi, pi_version, [*paths, long])

    for path, answer in zip([*paths, long], answers, strict=True):
        branch = read_session(path).branch()
        messages = context_messages(branch, replays_older_summaries=not is_new)
        contents = [[m["role"], m.get("content", m.get("summary"))] for m in messages]
        assert contents == answer["contents"], path.name
        assert [estimate_tokens(message) for message in messages] == answer["estimates"], path.name
        if is_new:
            assert context_tokens(branch) == answer["size"], path.name
