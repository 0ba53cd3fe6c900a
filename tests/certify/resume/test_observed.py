"""What a run did, read from a session: only what is new in it counts."""

import json
from pathlib import Path
from typing import Any

import pytest

from pi_fabric.certify.resume.fixture import BUILT_IN
from pi_fabric.certify.resume.observed import NOTHING, Observed, Summary, known_ids, observe
from pi_fabric.compaction.compile import CompactionEvent, compile_summary
from pi_fabric.compaction.outcome import Compiled
from pi_fabric.history.session import read_session
from tests.certify.resume.own_fixture import session_lines

USAGE = {"input": 90, "output": 10, "cacheRead": 5, "cacheWrite": 1, "cost": {"total": 0.25}}


def our_details() -> Any:
    """The record of a compaction that Fabric makes."""
    branch = read_session(BUILT_IN / "tenant-limits" / "session.jsonl").branch()
    outcome = compile_summary(CompactionEvent(entries=branch, tokens_before=50_000))
    assert isinstance(outcome, Compiled)
    return outcome.details


def seen(tmp_path: Path, *entries: dict[str, Any]) -> Observed:
    file = tmp_path / "session.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in session_lines()))
    known = known_ids(file)
    with file.open("a") as stream:
        for number, entry in enumerate(entries):
            link = {"id": f"n{number}", "parentId": f"n{number - 1}" if number else "a2", "timestamp": "t"}
            stream.write(json.dumps(link | entry) + "\n")
    return observe(file, known)


def said(role: str, **fields: Any) -> dict[str, Any]:
    return {"type": "message", "message": {"role": role, **fields}}


def call(name: str) -> dict[str, Any]:
    return {"type": "toolCall", "id": "c", "name": name, "arguments": {}}


def traced(*refs: str) -> dict[str, Any]:
    operations: list[dict[str, Any]] = [
        {"type": "call", "sequence": number, "ref": ref, "args": {}, "outcome": "succeeded"}
        for number, ref in enumerate(refs, 1)
    ]
    counts = dict.fromkeys(["droppedValues", "truncatedValues", "redactedValues", "droppedOperations"], 0)
    return {
        "trace": {
            "kind": "pi-fabric.execution",
            "version": 1,
            "outcome": "succeeded",
            "phases": [],
            "operations": operations,
            "counts": counts,
        }
    }


def compaction(**fields: Any) -> dict[str, Any]:
    return {"type": "compaction", "summary": "Größe", "firstKeptEntryId": "a2", "tokensBefore": 1, **fields}


def test_what_the_fixture_had_is_not_counted(tmp_path: Path) -> None:
    assert seen(tmp_path) == NOTHING


@pytest.mark.requirement("certify:resume:figures")
def test_money_and_tokens_of_answers_tools_summaries_and_records_add_up(tmp_path: Path) -> None:
    found = seen(
        tmp_path,
        compaction(usage=USAGE),
        said("assistant", usage=USAGE, stopReason="toolUse", content=[]),
        said("toolResult", usage=USAGE),
        {"type": "usage", "kind": "cache_warm", "usage": USAGE},
    )
    assert found.usd == 1.0
    assert found.tokens == {"input": 360, "output": 40, "cacheRead": 20, "cacheWrite": 4}
    assert found.is_cost_complete


@pytest.mark.requirement("certify:resume:figures")
def test_calls_are_counted_and_questions_to_past_sessions_among_them(tmp_path: Path) -> None:
    found = seen(
        tmp_path,
        said("assistant", content=[call("fabric_exec"), call("vcc_recall"), {"type": "text", "text": "x"}]),
        said("toolResult", details=traced("memory.recall", "pi.read", "memory.expand", "memory.sessions")),
        said("assistant", content=[call("read")], stopReason="stop"),
    )
    assert (found.tool_calls, found.nested_calls, found.recall_calls) == (3, 4, 3)


@pytest.mark.requirement("certify:resume:figures")
@pytest.mark.parametrize(
    ("fields", "author", "is_complete"),
    [
        ({"fromHook": True, "details": our_details()}, "fabric", True),
        ({"fromHook": True, "details": {"compactor": "pi-vcc"}}, "extension", True),
        ({"usage": USAGE}, "model", True),
        ({}, "model", False),
    ],
)
def test_the_author_of_a_summary_is_known_and_whether_its_cost_is(
    tmp_path: Path, fields: dict[str, Any], author: Any, is_complete: bool
) -> None:
    found = seen(tmp_path, compaction(**fields))
    assert found.summary == Summary(author=author, size_bytes=7)
    assert found.is_cost_complete is is_complete


@pytest.mark.parametrize(
    ("fields", "failure"),
    [
        ({"stopReason": "error", "errorMessage": "401"}, "401"),
        ({"stopReason": "aborted"}, "no reason given"),
        ({"stopReason": "stop"}, ""),
    ],
)
def test_the_last_answer_says_whether_the_model_failed(
    tmp_path: Path, fields: dict[str, Any], failure: str
) -> None:
    found = seen(tmp_path, said("assistant", stopReason="error"), said("assistant", **fields))
    assert (found.failure, found.has_answer) == (failure, True)


@pytest.mark.parametrize(
    "usage", [None, "much", {"input": "1", "cost": 3}, {"input": -5, "cost": {"total": -1}}]
)
def test_figures_that_are_none_count_nothing(tmp_path: Path, usage: Any) -> None:
    found = seen(tmp_path, said("assistant", usage=usage))
    assert (found.usd, sum(found.tokens.values())) == (0, 0)
