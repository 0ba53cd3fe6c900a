"""What people reported that compactions of other tools lost."""

import re

import pytest
from told_sessions import calls, edited, marker, path, returns, says, user

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.compaction.compile import CompactionEvent, compile_summary
from pi_fabric.compaction.outcome import Compiled
from pi_fabric.history.events.file_tools import FILE_TOOLS

ADDRESS = re.compile(r"\[(e\d+)")


def summary_of(entries: list[JsonObject]) -> str:
    outcome = compile_summary(CompactionEvent(entries=entries, tokens_before=1_000))
    assert isinstance(outcome, Compiled)
    return outcome.summary


@pytest.mark.requirement("summary:reports:addresses")
def test_addresses_are_ids_of_entries_after_any_number_of_compactions() -> None:
    told = [user("first"), *edited("a.py", "c1"), user("second"), *edited("b.py", "c2"), says("done")]
    entries = path(
        [*told, marker("old words", ""), user("third"), *edited("c.py", "c3"), user("last"), says("x")]
    )
    by_id = {entry["id"]: entry for entry in entries}
    addresses = ADDRESS.findall(summary_of(entries))
    assert addresses
    assert all(by_id[address]["type"] == "message" for address in addresses)
    line = next(line for line in summary_of(entries).split("\n") if "b.py" in line)
    (call,) = by_id[ADDRESS.findall(line)[0]]["message"]["content"]
    assert call["arguments"]["path"] == "b.py"


@pytest.mark.requirement("summary:reports:newest-request")
def test_every_part_of_the_newest_request_is_kept_or_is_in_the_summary_with_its_address() -> None:
    request = "do X in parser.py, then Y in the tests, then Z in the docs; and keep the public names"
    told = [user("start"), says("ok"), user(request), *edited("parser.py", "c1"), says("X is done")]
    kept = compile_summary(CompactionEvent(entries=path(told), tokens_before=1_000))
    assert isinstance(kept, Compiled)
    assert kept.first_kept_entry_id == "e3"
    summary = summary_of(path([*told, user("go on"), says("Y")]))
    status = next(line for line in summary.split("\n") if line.startswith("Latest request"))
    assert request in status
    assert "e3" in status


@pytest.mark.requirement("summary:reports:rules")
def test_a_rule_of_the_first_message_is_there_after_many_compactions() -> None:
    entries = [user("Refactor the parser.\nNever add co-author lines to commits."), says("ok")]
    for cycle in range(100):
        entries += [
            marker(f"summary {cycle}", ""),
            user(f"step {cycle}"),
            *edited(f"f{cycle}.py", f"c{cycle}"),
        ]
    assert "Never add co-author lines to commits." in summary_of(path([*entries, says("at it")]))


@pytest.mark.requirement("summary:reports:long-list")
def test_a_message_of_many_items_is_sampled_counted_and_addressed() -> None:
    bullets = [f"- item number {number}" for number in range(163)]
    findings = [f"Finding {number}: the cause is in module {number}." for number in range(6)]
    entries = path([user("\n".join([*bullets, *findings])), says("noted"), user("go"), says("x")])
    goal = summary_of(entries).split("\n\n")[0]
    assert all(bullet in goal for bullet in bullets[:3])
    assert "e1" in goal
    # What is left out is counted: 169 lines, three of which are shown.
    assert "166" in goal


@pytest.mark.requirement("summary:reports:file-tools")
@pytest.mark.parametrize("tool", sorted(FILE_TOOLS))
def test_every_file_tool_gives_an_address_by_its_real_name(tool: str) -> None:
    entries = path(
        [user("go"), calls(tool, "c1", path="src/x.py"), returns(tool, "c1"), says("done"), user("n")]
    )
    files = next(block for block in summary_of(entries).split("\n\n") if block.startswith("[Files"))
    assert "Paths below src/" in files
    assert "[e2] x.py" in files


@pytest.mark.requirement("summary:reports:file-tools")
@pytest.mark.parametrize("tool", ["Read", "apply_patch", "quick_edit"])
def test_a_tool_of_another_name_is_told_but_makes_no_file_fact(tool: str) -> None:
    entries = path(
        [user("go"), calls(tool, "c1", path="src/x.py"), returns(tool, "c1"), says("done"), user("n")]
    )
    summary = summary_of(entries)
    assert "[Files And Changes]" not in summary
    assert tool in summary


@pytest.mark.requirement("summary:reports:state-entries")
def test_state_that_extensions_keep_never_reaches_the_summary() -> None:
    state: JsonObject = {"type": "custom", "customType": "state", "data": "s3cret " * 2_000}
    told = [user("goal"), says("ok"), *[dict(state) for _ in range(500)], user("more"), says("x")]
    summary = summary_of(path(told))
    assert "s3cret" not in summary
    assert len(summary) < 4_000
