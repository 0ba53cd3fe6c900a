import os
from pathlib import Path

import pytest

from pi_fabric.cli.memory import rebuilt_lines
from pi_fabric.memory.upkeep import RebuildResult
from pi_fabric.memory.wording import REASONS
from tests.cli.memory_shell import COLUMNS, Shell, entry, in_terminal


@pytest.mark.requirement("memory:shell:status")
def test_the_status_says_what_the_index_holds(shell: Shell) -> None:
    shell.configure(hotSessions=1)
    shell.session("s1", "word", day=1)
    shell.session("s2", "x" * 3_000, day=2)
    before = shell("memory", "status").splitlines()
    assert before == [
        "index     ~/agent/fabric/memory-index",
        "sessions  2 on the disk",
        "active    nothing is indexed; a question does it, or:",
        "          pi-fabric memory rebuild",
        "all       nothing is indexed; a question does it, or:",
        "          pi-fabric memory rebuild --branches all",
        "records   0 files, 0 bytes",
        "beside    0 files, 0 bytes",
    ]
    assert not shell.index.exists()
    shell("recall", "word")
    after = shell("memory", "status").splitlines()
    assert after[2] == "active    2 indexed: 1 hot (text), 1 cold (words); 0 new or changed since"
    assert after[3] == "          1 session is not wholly in the index:"
    assert after[4] == "            1: long entries are indexed only up to memory.maxEntryChars"
    assert after[7].startswith("records   2 files, ")
    assert all(len(line) <= COLUMNS for line in before + after)
    shell.session("s3", "more", day=3)
    assert "1 new or changed since" in shell("memory", "status")
    assert shell.code == 0


@pytest.mark.requirement("memory:shell:status")
def test_the_status_for_machines_has_each_reason_with_its_meaning(shell: Shell) -> None:
    file = shell.session("s1", "x" * 3_000, lines=[entry("e", "s1-0", "user", "y")])
    with file.open("a") as stream:
        stream.write("no json\n")
    shell("recall", "word")
    found = shell.json("memory", "status")
    assert (found["enabled"], found["folder"]) == (True, str(shell.index))
    assert (found["sessionsOnDisk"], found["recordFiles"], found["unreadable"]) == (1, 1, [])
    active = found["byMode"]["active"]
    assert (active["indexed"], active["hot"], active["cold"], active["stale"]) == (1, 1, 0, 0)
    assert (active["incomplete"], active["skippedLines"]) == (1, 1)
    assert active["reasons"]["max_entry_chars"]["sessions"] == 1
    assert "memory.maxEntryChars" in active["reasons"]["max_entry_chars"]["meaning"]
    assert found["byMode"]["all"]["indexed"] == 0
    assert "          left out: 1 line that is no JSON\n" in shell("memory", "status")


@pytest.mark.requirement("memory:shell:rebuild")
def test_everything_is_built_anew_whatever_the_budgets_of_a_question(shell: Shell) -> None:
    for number in range(3):
        shell.session(f"s{number}", "word")
    shell.configure(maxSyncSessions=1)
    assert "Not complete, 1 of 3 sessions searched" in shell("recall", "word")
    assert shell("memory", "rebuild") == "Indexed 3 sessions.\n"
    assert shell.code == 0
    assert "Complete: 3 sessions searched." in shell("recall", "word")
    assert shell.json("memory", "rebuild", "--branches", "all") == {"indexed": 3, "failed": {}}
    assert shell.json("memory", "status")["byMode"]["all"]["indexed"] == 3


@pytest.mark.requirement("memory:shell:rebuild")
def test_sessions_that_could_not_be_indexed_are_named_with_the_reason(shell: Shell) -> None:
    failed = {f"{shell.home}/s\x1b{number}.jsonl": "source_unavailable" for number in range(7)}
    lines = list(rebuilt_lines(RebuildResult(indexed=1, failed=failed)))
    assert lines[:4] == [
        "Indexed 1 session.",
        "7 sessions could not be indexed:",
        "  ~/s\\x1b0.jsonl",
        f"    {REASONS['source_unavailable']}",
    ]
    assert lines[-1] == "  and 2 more; --json lists them all"


@pytest.mark.requirement("memory:shell:status")
@pytest.mark.requirement("memory:shell:safe")
def test_what_could_not_be_looked_at_is_named(shell: Shell) -> None:
    folder = shell.session("s1", "word").parent
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff\x1b.jsonl")).write_text("")
    lines = shell("memory", "status").splitlines()
    assert lines[-2] == "These could not be looked at:"
    assert lines[-1].endswith("/\\udcff\\x1b.jsonl")
    assert len(shell.json("memory", "status")["unreadable"]) == 1


@pytest.mark.anyio
@pytest.mark.requirement("memory:shell:rebuild")
@pytest.mark.requirement("memory:shell:progress")
async def test_a_terminal_sees_how_far_the_building_is(shell: Shell) -> None:
    shell.session("s1", "word")
    shown = await in_terminal(shell, "memory", "rebuild", stream="err")
    assert "indexing sessions" in shown.err
    assert (shown.out, shown.code) == ("Indexed 1 session.\n", 0)


@pytest.mark.requirement("memory:shell:clear")
def test_clearing_removes_the_index_and_nothing_else(shell: Shell) -> None:
    file = shell.session("s1", "word")
    shell("recall", "word")
    content = file.read_bytes()
    mine = shell.index / "notes.txt"
    mine.write_text("mine")
    lock = shell.index / "search-1" / "lock"
    # A second name of a file is no second file.
    count = len(
        {one.stat().st_ino for one in shell.index.rglob("*") if one.is_file()}
        - {mine.stat().st_ino, lock.stat().st_ino}
    )
    lines = shell("memory", "clear").splitlines()
    assert shell.code == 0
    assert lines[0].startswith(f"Removed {count} files, ")
    assert lines[1:] == ["  ~/agent/fabric/memory-index", "Sessions themselves were not touched."]
    # Another process may be waiting for the lock.
    assert {one for one in shell.index.rglob("*") if one.is_file()} == {mine, lock}
    assert file.read_bytes() == content
    assert shell.json("memory", "clear") == {"folder": str(shell.index), "files": 0, "bytes": 0}
    assert shell("memory", "clear").startswith("There was no index.\n")
    assert "word" in shell("recall", "word")


@pytest.mark.requirement("memory:shell:switched-off")
def test_status_and_clear_work_when_memory_is_switched_off(shell: Shell) -> None:
    shell.session("s1", "word")
    shell("recall", "word")
    shell.configure(enabled=False)
    assert shell("memory", "status").startswith("Memory is switched off: memory.enabled is false.\n")
    assert shell.json("memory", "status")["enabled"] is False
    assert shell("memory", "clear").startswith("Removed ")
    assert shell.code == 0
    assert [one.name for one in shell.index.rglob("*") if one.is_file()] == ["lock"]


@pytest.mark.requirement("memory:shell:memory-help")
@pytest.mark.parametrize("command", ["status", "rebuild", "clear"])
def test_each_help_has_an_example(shell: Shell, command: str) -> None:
    assert f"pi-fabric memory {command}" in " ".join(shell("memory", command, "--help").split())
    assert command in shell("memory", "--help")
