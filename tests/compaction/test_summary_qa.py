import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from told_sessions import ANY_ENTRIES, ENTRIES, calls, edited, operation, path, ran, returns, says, user

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.compaction.assemble import assemble, told_until
from pi_fabric.compaction.compile import CompactionEvent, compile_summary
from pi_fabric.compaction.outcome import Compiled
from pi_fabric.compaction.qa import Report, check
from pi_fabric.history.events.normalize import normalize
from pi_fabric.history.session import context_tokens, read_session

TOLD = path(
    [
        user("fix the parser\nkeep the order\nno new files\nthanks"),
        *edited("src/a.ts", "c1", is_error=True, text="oldText not found"),
        calls("read", "c2", path="src/b.ts"),
        returns("read", "c2"),
        user("and the tests"),
        ran("c3", [operation("pi.bash", command="npm test")], ["verify"]),
        *edited("src/a.ts", "c4"),
        calls("bash", "c5", command="npm run build"),
        returns("bash", "c5", "1 error", is_error=True),
        user("now the docs"),
        says("on it"),
    ]
)
MANY = path([entry for n in range(60) for entry in (user(f"wish {n}"), *edited(f"src/{n}.ts", f"c{n}"))])


def summary_of(entries: list[JsonObject]) -> str:
    events = normalize(entries)
    return assemble(events, timestamp=told_until(entries, events)).text


def without(summary: str, line: str) -> str:
    """The summary without the lines that hold these words; some must."""
    kept = [text for text in summary.split("\n") if line not in text]
    assert len(kept) < summary.count("\n") + 1
    return "\n".join(kept)


def lost(report: Report) -> set[str]:
    return {loss.section for loss in report.losses}


@pytest.mark.requirement("summary:qa:complete")
@pytest.mark.parametrize("entries", [TOLD, MANY])
def test_a_summary_of_its_source_is_complete(entries: list[JsonObject]):
    report = check(summary_of(entries), entries)
    assert report.is_complete, report.losses
    assert report.checked > 10


@pytest.mark.requirement("summary:qa:mutations")
@pytest.mark.parametrize(
    ("words", "section"),
    [
        ("b.ts", "files"),
        ("Modified:", "files"),
        ("1 error", "outstanding"),
        ("resolved in", "outstanding"),
        ("keep the order", "goal"),
        ("more line, in e1", "goal"),
        ("[e6] and the tests", "goal"),
        ("[e1] fix the parser", "earlierTurns"),
        ("phase verify", "activity"),
        ("[e7/0] pi.bash", "activity"),
        ("Latest request", "status"),
        ("Latest change", "status"),
        ("#3 ", "transcript"),
        ("Made from entries", "footer"),
        ("memory.expand", "footer"),
    ],
)
def test_a_line_that_is_missing_is_found(words: str, section: str):
    assert section in lost(check(without(summary_of(TOLD), words), TOLD))


@pytest.mark.requirement("summary:qa:mutations")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[e6] and the tests", "[e7] and the tests"),
        ("- [e2] edit src/a.ts: resolved in e8", "- [e2] edit src/a.ts failed"),
        ("Made from entries e1 to e13", "Made from entries e2 to e13"),
        ("Latest request (e12)", "Latest request (e6)"),
        ("00:00:13", "00:00:12"),
    ],
)
def test_a_line_that_says_something_else_is_found(old: str, new: str):
    summary = summary_of(TOLD)
    if old not in summary:
        pytest.fail(f"{old!r} is not in\n{summary}")
    assert not check(summary.replace(old, new), TOLD).is_complete


@pytest.mark.requirement("summary:qa:omissions")
def test_what_is_said_to_be_left_out_must_be_what_is_missing():
    summary = summary_of(MANY)
    omissions = re.findall(r"… \d+ more, .*", summary)
    assert len(omissions) >= 4
    for line in omissions:
        count = int(line.split()[1])
        fewer = line.replace(f"… {count} ", f"… {count - 1} ", 1)
        assert not check(summary.replace(line, fewer), MANY).is_complete
        elsewhere = line.replace(" to e", " to x")
        assert not check(summary.replace(line, elsewhere), MANY).is_complete


def test_an_empty_summary_lacks_everything():
    assert lost(check("", TOLD)) == {
        "goal",
        "files",
        "activity",
        "outstanding",
        "earlierTurns",
        "status",
        "transcript",
        "footer",
    }


@pytest.mark.requirement("summary:qa:complete")
@given(st.lists(ENTRIES, min_size=1, max_size=60))
@settings(max_examples=80, deadline=None)
def test_every_summary_of_ours_is_complete(entries: list[JsonObject]):
    branch = path(entries)
    if normalize(branch):
        report = check(summary_of(branch), branch)
        assert report.is_complete, report.losses


@pytest.mark.requirement("summary:robustness:total")
@given(st.text(max_size=300), st.lists(ANY_ENTRIES, max_size=8))
@settings(deadline=None)
def test_any_text_and_entries_are_checked(summary: str, entries: list[JsonObject]):
    check(summary, entries)


def test_half_pairs_in_ids_and_texts_and_endless_nesting_are_no_loss():
    deep: JsonObject = {}
    for _ in range(5_000):
        deep = {"a": deep}
    entries = path(
        [user("go\ud83d"), calls("web", "c1", deep=deep), returns("web", "c1", "\ude00", is_error=True)]
    )
    entries[0]["id"] = "x\ud83d y"
    report = check(summary_of(entries), entries)
    assert report.is_complete, report.losses


@pytest.mark.requirement("summary:qa:real-sessions")
@pytest.mark.parametrize("window", [None, 32_000, 200_000])
def test_real_sessions_are_summarized_completely(window: int | None):
    folder = Path(__file__).resolve().parents[3] / "shared" / "sessions"
    if not folder.is_dir():
        pytest.skip("the folder with recorded sessions is not there")
    files = [*folder.glob("pi/*.jsonl"), *folder.glob("public/pi-*.jsonl")]
    assert files
    for file in files:
        tree = read_session(file).tree
        branch = tree.path_to(tree.leaf_id) if tree.leaf_id else []
        event = CompactionEvent(
            entries=branch, tokens_before=context_tokens(branch), context_window=window, target_ratio=0.65
        )
        outcome = compile_summary(event)
        if isinstance(outcome, Compiled):
            ids = [entry["id"] for entry in branch]
            kept = outcome.first_kept_entry_id
            report = check(outcome.summary, branch[: ids.index(kept)] if kept else branch)
            assert report.is_complete, (file.name, report.losses)
        report = check(summary_of(branch), branch) if normalize(branch) else Report(checked=0, losses=())
        assert report.is_complete, (file.name, report.losses)
