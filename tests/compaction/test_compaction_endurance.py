"""What a hundred compactions of one session leave standing."""

import re

import pytest
from told_sessions import calls, edited, marker, operation, path, ran, returns, says, user

from pi_fabric.base.bounds import utf8_bytes
from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.compaction.compile import CompactionEvent, compile_summary
from pi_fabric.compaction.outcome import Compiled
from pi_fabric.compaction.qa import check
from pi_fabric.history.events.normalize import normalize
from pi_fabric.history.session import context_tokens

CYCLES = 100
FIRST = ["build a ledger that never loses a cent", "never add co-author lines", "the rare fact is ζ-9431 ✓"]
POISON = "PRIOR_SUMMARY_POISON_991"
ADDRESS = re.compile(r"(?:- |#\d+ )\[([^\]]+)\]|in (e[\d/]\S*)|(e\S+) to (e[^\s;,]+)|\((e[^)]+)\): ")


def turn(cycle: int) -> list[JsonObject]:
    """What happens between two compactions: long words, then work that a cut may keep."""
    outcome = "failed" if cycle % 5 else "succeeded"
    return [
        user(f"request {cycle}: first the reader, then the writer, then the tests"),
        says(f"cycle {cycle} begins {'x' * 48_000}"),
        *edited(f"src/module{cycle}.ts", f"e{cycle}"),
        calls("bash", f"b{cycle}", command=f"npm test -- {cycle % 7}"),
        returns("bash", f"b{cycle}", f"failed in cycle {cycle}", is_error=cycle % 3 == 0),
        user(f"request {cycle} has a second part"),
        ran(f"p{cycle}", [operation("agents.run", outcome)], [f"phase {cycle}"]),
        says(f"cycle {cycle} is done"),
    ]


def compacted(branch: list[JsonObject]) -> Compiled:
    event = CompactionEvent(
        entries=branch,
        tokens_before=context_tokens(branch) + 3_000,
        settings={"reserveTokens": 1_024, "keepRecentTokens": 200},
        context_window=64_000,
        target_ratio=0.65,
    )
    outcome = compile_summary(event)
    assert isinstance(outcome, Compiled), outcome
    return outcome


@pytest.mark.requirement("summary:endurance:goal")
@pytest.mark.requirement("summary:endurance:addresses")
def test_after_a_hundred_compactions_goal_request_and_addresses_still_stand():
    branch = path([user("\n".join([*FIRST, "thanks"]))])
    sizes: list[int] = []
    kept_ids: set[str] = set()
    for cycle in range(CYCLES):
        branch += path(turn(cycle), first=len(branch) + 1)
        found = compacted(branch)
        _stands(branch, found)
        sizes.append(utf8_bytes(found.summary))
        kept = found.first_kept_entry_id
        kept_ids.add(kept)
        stored = marker(f"{found.summary} {POISON}_{cycle}", kept, details=found.details)
        branch += path([stored], first=len(branch) + 1)
    # Most cuts keep something raw.
    assert len(kept_ids) > CYCLES / 2
    assert max(sizes[-20:]) - min(sizes[-20:]) <= 512


def _stands(branch: list[JsonObject], found: Compiled) -> None:
    ids = [entry["id"] for entry in branch]
    end = ids.index(found.first_kept_entry_id) if found.first_kept_entry_id else len(branch)
    source = branch[:end]
    assert f"[Session Goal]\n> {FIRST[0]}\n> {FIRST[1]}\n> {FIRST[2]}\n" in found.summary
    asked = [entry for entry in source if entry.get("message", {}).get("role") == "user"]
    newest = asked[-1]["message"]["content"].replace("\n", " ")
    assert f"Latest request ({asked[-1]['id']}): {newest}" in found.summary
    assert POISON not in found.summary
    report = check(found.summary, source)
    assert report.is_complete, report.losses
    _opens(found.summary, source)
    for block in found.summary.split("\n\n"):
        lines = block.split("\n")
        assert len(set(lines)) == len(lines)


def _opens(summary: str, source: list[JsonObject]) -> None:
    """Every address is of an entry, or of a call or a phase that an entry tells of."""
    known = {entry["id"] for entry in source}
    known |= {address for event in normalize(source) if (address := getattr(event, "address", None))}
    body = summary.rpartition("\n\n---\n")[0]
    named = {address for found in ADDRESS.findall(body) for address in found if address}
    assert named
    assert named <= known
