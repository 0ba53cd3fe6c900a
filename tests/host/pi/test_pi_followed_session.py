"""A branch is what Pi says it is: from the file where that agrees, from Pi where it does not."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.config.model import CompactionConfig
from pi_fabric.history.events import normalize
from pi_fabric.host.pi.followed_session import BranchEvents, join_branch
from pi_fabric.host.pi.summaries import Summaries


def entry(entry_id: str, parent: str | None, role: str = "user", text: str = "hello") -> JsonObject:
    message = {"role": role, "content": [{"type": "text", "text": text}]}
    return {
        "type": "message", "id": entry_id, "parentId": parent, "timestamp": "2026-01-01T00:00:00.000Z",
        "message": message,
    }  # fmt: skip


TALK = [
    entry("a", None, text="Mend the parser."),
    entry("b", "a", "assistant"),
    entry("c", "b", text="And the printer."),
    entry("d", "c", "assistant"),
]


def write(path: Path, *entries: JsonObject) -> Path:
    header = {"type": "session", "version": 3, "id": "s", "timestamp": "", "cwd": "/"}
    path.write_text("".join(json.dumps(line) + "\n" for line in (header, *entries)), encoding="utf-8")
    return path


def ask(path: Path | None, *entries: JsonObject, **fields: Any) -> JsonObject:
    return {
        "file": None if path is None else str(path), "ids": [line["id"] for line in entries],
        "tokensBefore": 50_000,
    } | fields  # fmt: skip


@pytest.mark.requirement("pi_compaction:follow:ids")
def test_a_branch_on_the_disk_needs_its_ids_alone(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", *TALK)
    answer = Summaries(CompactionConfig()).compact(ask(path, *TALK))
    assert answer["kind"] == "compaction"
    assert "Mend the parser." in answer["summary"]
    assert answer["firstKeptEntryId"] == "c"


@pytest.mark.requirement("pi_compaction:follow:ids")
def test_another_branch_of_the_same_file_is_told_from_its_own_entries(tmp_path: Path) -> None:
    other = [TALK[0], entry("e", "a", text="Something else."), entry("f", "e", "assistant")]
    summaries = Summaries(CompactionConfig())
    path = write(tmp_path / "s.jsonl", *TALK, *other[1:])
    summaries.follow({"file": str(path), "leafId": "d"})
    answer = summaries.compact(ask(path, *other, entry("g", "f"), sent=[entry("g", "f")]))
    assert "Something else." in answer["summary"]
    assert "printer" not in answer["summary"]
    # What was followed is what compiling anew gives.
    anew = Summaries(CompactionConfig()).compact(ask(path, *TALK))
    assert summaries.compact(ask(path, *TALK)) == anew


@pytest.mark.requirement("pi_compaction:follow:wanted")
def test_entries_that_are_not_on_the_disk_are_wanted_and_then_used(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", *TALK[:2])
    summaries = Summaries(CompactionConfig())
    assert summaries.compact(ask(path, *TALK)) == {"kind": "wanted", "ids": ["c", "d"]}
    answer = summaries.compact(ask(path, *TALK, sent=TALK[2:]))
    assert answer["kind"] == "compaction"
    assert answer["firstKeptEntryId"] == "c"


@pytest.mark.requirement("pi_compaction:follow:wanted")
@pytest.mark.parametrize("kind", ["missing", "folder", "no session"])
def test_without_a_readable_file_all_entries_are_wanted(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "s.jsonl"
    if kind == "folder":
        path.mkdir()
    elif kind == "no session":
        path.write_bytes(b"\xff\n")
    summaries = Summaries(CompactionConfig())
    assert summaries.compact(ask(path, *TALK)) == {"kind": "wanted", "ids": ["a", "b", "c", "d"]}
    assert summaries.compact(ask(path, *TALK, sent=TALK))["kind"] == "compaction"


@pytest.mark.requirement("pi_compaction:follow:wanted")
def test_a_session_in_memory_is_compiled_from_what_pi_sends() -> None:
    answer = Summaries(CompactionConfig()).compact(ask(None, *TALK, sent=TALK))
    assert answer["kind"] == "compaction"


@pytest.mark.requirement("pi_compaction:engine:pi")
def test_with_the_engine_pi_nothing_is_read_or_wanted(tmp_path: Path) -> None:
    summaries = Summaries(CompactionConfig(engine="pi"))
    question = ask(tmp_path / "missing.jsonl", *TALK)
    assert summaries.compact(question) == {"kind": "none"}
    assert summaries.summarize_branch(question) == {"kind": "none"}


@pytest.mark.requirement("pi_compaction:follow:disagrees")
def test_a_file_that_links_the_ids_otherwise_is_not_believed(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", TALK[0], TALK[1], {**TALK[2], "parentId": "a"}, TALK[3])
    summaries = Summaries(CompactionConfig())
    assert summaries.compact(ask(path, *TALK)) == {"kind": "wanted", "ids": ["a", "b", "c", "d"]}
    assert summaries.compact(ask(path, *TALK, sent=TALK))["kind"] == "compaction"


@pytest.mark.requirement("pi_compaction:follow:disagrees")
def test_what_pi_sends_counts_for_more_than_the_file() -> None:
    newer = entry("b", "a", "assistant", "newer")
    branch, wanted = join_branch(["a", "b"], {"a": TALK[0], "b": TALK[1]}, {"b": newer})
    assert branch == [TALK[0], newer]
    assert wanted == []


@pytest.mark.requirement("pi_compaction:follow:events")
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 12)), max_size=6))
def test_events_kept_from_look_to_look_are_those_of_the_branch(looks: list[tuple[int, int]]) -> None:
    texts = [entry(f"m{number}", None, text=str(number)) for number in range(6)]
    other = [entry(f"o{number}", None, text=str(number)) for number in range(12)]
    events = BranchEvents()
    for shared, own in looks:
        branch = [*texts[:shared], *other[:own]]
        events.follow(branch)
        for position in range(len(branch) + 1):
            assert list(events.before(position)) == normalize(branch[:position])
