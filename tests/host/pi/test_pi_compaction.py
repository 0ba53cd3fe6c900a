"""Compaction in the real Pi, both versions: ours is stored, resumed and compacted again."""

import json
import sys
from typing import Any

import anyio
import pytest

from tests.host.pi.compaction_lab import (
    FILLER,
    KEEP_NOTHING,
    NEIGHBOUR,
    branch_ids,
    compact,
    compactions,
    last_compaction,
    open_small,
    open_without_fabric,
    talk,
)
from tests.host.pi.pi_lab import Lab, notices, program, text_of, tool_results
from tools.pi_rpc import Event, PiSession
from tools.scripted_model import Reply, ToolCall

pytestmark = [pytest.mark.anyio, pytest.mark.pi]

OVERFLOW = "This model's maximum context length is 30000 tokens. Please reduce the length of the messages."
GOAL = ("Mend the parser.", "It loses the last line.", "Add a test.")


def ends(events: list[Event]) -> list[Event]:
    return [event for event in events if event.get("type") == "compaction_end"]


async def texts_of_context(pi: PiSession) -> str:
    return json.dumps((await pi.command("get_messages"))["data"]["messages"])


async def fabric_status(pi: PiSession) -> str:
    return notices(await pi.prompt("/fabric status"))[-1]


def real(code: str) -> Reply:
    """The model runs a real program."""
    return Reply(calls=[ToolCall(name="fabric_exec", arguments={"code": code})])


def is_ours(stored: dict[str, Any], lab: Lab) -> bool:
    kept = stored.get("firstKeptEntryId")
    is_on_branch = not kept or kept in branch_ids(lab, stored["id"])
    return stored["fromHook"] is True and stored["details"]["compactor"] == "fabric" and is_on_branch


@pytest.mark.requirement("pi_compaction:compact:manual")
async def test_a_manual_compaction_is_ours_and_asks_no_model(lab: Lab) -> None:
    async with open_small(lab) as pi:
        await talk(lab, pi, "Mend the parser.")
        await talk(lab, pi, "And the printer.")
        answer = await compact(pi, "Keep the names.")
        assert answer["success"] is True, answer
        assert "Mend the parser." in await texts_of_context(pi)
    stored = last_compaction(lab)
    assert is_ours(stored, lab)
    assert "Keep the names." in stored["summary"]
    assert stored["tokensBefore"] == answer["data"]["tokensBefore"] > 15_000
    assert len(lab.model.requests) == 2


@pytest.mark.requirement("pi_compaction:compact:again", "pi_compaction:session:without-fabric")
async def test_twenty_compactions_keep_the_first_goal_and_resume_without_fabric(lab: Lab) -> None:
    async with open_small(lab) as pi:
        await talk(lab, pi, "\n".join(GOAL))
        for number in range(20):
            await talk(lab, pi, f"Request {number}.", f"Answer {number}.")
            answer = await compact(pi)
            assert answer["success"] is True, answer
            assert "compactionSummary" in await texts_of_context(pi)
        assert await pi.close() == 0
    stored = compactions(lab)
    assert len(stored) == 20
    assert all(is_ours(compaction, lab) for compaction in stored)
    assert all(line in stored[-1]["summary"] for line in (*GOAL, "Request 19."))
    assert len(stored[-1]["summary"].encode()) <= 32 * 1024
    lab.model.say(Reply(text="still here"))
    async with open_without_fabric(lab) as pi:
        await pi.prompt("go on")
        context = await texts_of_context(pi)
    assert "compactionSummary" in context
    assert all(line in context for line in (*GOAL, "still here"))


@pytest.mark.requirement("pi_compaction:compact:threshold", "pi_compaction:compact:overflow")
async def test_automatic_compactions_are_ours_too(lab: Lab) -> None:
    lab.settings["compaction"] = KEEP_NOTHING | {"reserveTokens": 8_000}
    async with open_small(lab, window=30_000) as pi:
        await talk(lab, pi, "Mend the parser.")
        grown = [event for number in range(2) for event in await talk(lab, pi, f"Request {number}.")]
        lab.model.say(Reply(error=OVERFLOW), Reply(text="after the retry"))
        failed = await pi.prompt(f"One more.\n{FILLER}")
        context = await texts_of_context(pi)
    assert [(end["reason"], end["aborted"]) for end in ends(grown)] == [("threshold", False)]
    assert [(end["reason"], end["aborted"]) for end in ends(failed)] == [("overflow", False)]
    assert "after the retry" in context
    assert len(compactions(lab)) == 2
    assert all(is_ours(compaction, lab) for compaction in compactions(lab))


@pytest.mark.requirement("pi_compaction:compact:cancel", "pi_compaction:compact:pointless")
async def test_a_broken_request_and_a_pointless_one_cancel_and_are_told(lab: Lab) -> None:
    async with open_small(lab) as pi:
        await talk(lab, pi, "Mend the parser.")
        await talk(lab, pi, "And the printer.")
        broken = await compact(pi, "__pi_fabric_compact_request_v1__:{not json")
        done = await compact(pi)
        lab.model.counts_tokens = False  # as if next to nothing were in use
        await pi.prompt("A short one.")
        pointless = await compact(pi)
    assert broken["error"] == "Compaction cancelled"
    assert done["success"] is True
    assert pointless["error"] == "Compaction cancelled"
    told = [event for event in pi.events if event.get("method") == "notify"]
    assert [(event["notifyType"], event["message"]) for event in told] == [
        ("error", "Fabric did not summarize: the request is not valid JSON"),
        ("info", "Fabric did not compact: its summary would not make the context smaller than the target."),
    ]


@pytest.mark.requirement("pi_compaction:compact:stuck")
async def test_after_an_overflow_the_person_learns_why_there_is_no_compaction(lab: Lab) -> None:
    async with open_small(lab, window=4_500) as pi:
        at_the_threshold = [event for number in range(2) for event in await pi.prompt(f"Request {number}.")]
        lab.model.say(Reply(error=OVERFLOW))
        failed = await pi.prompt("One more.")
    assert notices(at_the_threshold) == []
    assert notices(failed) == [
        "Fabric did not compact: its summary would not make the context smaller than the target."
    ]


@pytest.mark.requirement("pi_compaction:follow:ahead")
async def test_the_session_is_read_before_anybody_asks_for_a_summary(lab: Lab) -> None:
    async with open_small(lab) as pi:
        await talk(lab, pi, "Mend the parser.")
        await talk(lab, pi, "And the printer.")
        count = len(lab.session_lines()) - 1
        with anyio.fail_after(20):
            while f"{count} entries of the session read" not in (await fabric_status(pi)):  # noqa: ASYNC110
                await anyio.sleep(0.02)


@pytest.mark.requirement("pi_compaction:follow:wanted")
async def test_entries_that_the_file_has_lost_come_from_pi(lab: Lab) -> None:
    async with open_small(lab) as pi:
        await talk(lab, pi, "Mend the parser.")
        await talk(lab, pi, "And the printer.")
        file = lab.session_file()
        lines = file.read_bytes().split(b"\n")
        file.write_bytes(b"\n".join([*lines[:-3], b""]))
        answer = await compact(pi)
    assert answer["data"]["details"]["compactor"] == "fabric"
    assert "And the printer." in answer["data"]["summary"]


@pytest.mark.requirement("pi_compaction:session:memory")
async def test_a_session_that_is_in_memory_alone_is_compacted_too(lab: Lab) -> None:
    async with open_small(lab, "--no-session") as pi:
        await talk(lab, pi, "Mend the parser.")
        await talk(lab, pi, "And the printer.")
        answer = await compact(pi)
    assert answer["data"]["details"]["compactor"] == "fabric"


@pytest.mark.requirement("pi_compaction:engine:pi")
async def test_with_the_engine_pi_the_model_summarizes(lab: Lab) -> None:
    lab.agent_dir.mkdir()
    (lab.agent_dir / "fabric.json").write_text('{"compaction": {"engine": "pi"}}')
    async with open_small(lab) as pi:
        await talk(lab, pi, "Mend the parser.")
        await talk(lab, pi, "And the printer.")
        lab.model.say(Reply(text="a summary by the model"))
        answer = await compact(pi)
        assert notices(pi.events) == []
    assert "a summary by the model" in answer["data"]["summary"]
    assert last_compaction(lab).get("fromHook") is not True


@pytest.mark.requirement("pi_compaction:order:later", "pi_compaction:order:claim")
async def test_a_handler_that_is_loaded_after_ours_may_replace_the_result(lab: Lab) -> None:
    lab.variables["COMPACTION_NEIGHBOUR"] = "claims"
    async with open_small(lab, "-e", str(NEIGHBOUR)) as pi:
        await talk(lab, pi, "Mend the parser.")
        await talk(lab, pi, "And the printer.")
        answer = await compact(pi)
    assert answer["data"]["summary"] == "claimed: true"


@pytest.mark.requirement("pi_compaction:order:pi-vcc", "pi_compaction:order:sentinel")
async def test_an_earlier_result_of_pi_vcc_stands_unless_ours_takes_its_place(lab: Lab) -> None:
    lab.variables["COMPACTION_NEIGHBOUR"] = "pi-vcc"
    async with open_small(lab, before=[NEIGHBOUR]) as pi:
        await talk(lab, pi, "Mend the parser.")
        await talk(lab, pi, "And the printer.")
        routed = await compact(pi, "__pi_vcc__")
        lab.model.counts_tokens = False  # as if next to nothing were in use
        await talk(lab, pi, "Some more work.")
        without_ours = await compact(pi)
        await talk(lab, pi, "Some more work.")
        broken = await compact(pi, "__pi_fabric_compact_request_v1__:1")
        lab.model.counts_tokens = True
        await talk(lab, pi, "Some more work.")
        ours = await compact(pi)
    assert routed["data"]["summary"] == without_ours["data"]["summary"] == "by pi-vcc"
    assert broken["error"] == "Compaction cancelled"
    assert ours["data"]["details"]["compactor"] == "fabric"


@pytest.mark.requirement("pi_compaction:request:commit")
async def test_a_request_of_a_program_is_carried_out_when_the_agent_has_settled(lab: Lab) -> None:
    async with open_small(lab) as pi:
        await talk(lab, pi, "Mend the parser.")
        lab.model.say(program({"ask": {"instructions": "Keep the names.", "preserve": ["a fact"]}}))
        events = await pi.prompt(f"And the printer.\n{FILLER}")
        status = await lab.run(pi, {"asked": True})
    kinds = [event["type"] for event in events if event["type"] in ("compaction_end", "agent_settled")]
    assert kinds == ["compaction_end", "agent_settled"]
    stored = compactions(lab)[0]
    assert is_ours(stored, lab)
    assert "a fact" in stored["summary"]
    (said,) = json.loads(status["content"][0]["text"])
    assert said["last"]["status"] == "committed"
    assert "pending" not in said


@pytest.mark.requirement("pi_compaction:request:failed")
async def test_a_request_that_cannot_be_carried_out_says_why(lab: Lab) -> None:
    lab.settings["compaction"] = KEEP_NOTHING | {"keepRecentTokens": 100_000}
    async with open_small(lab) as pi:
        await talk(lab, pi, "Mend the parser.")
        await lab.run(pi, {"ask": {}})
        status = await lab.run(pi, {"asked": True})
    (said,) = json.loads(status["content"][0]["text"])
    assert said["last"]["status"] == "failed"
    assert "too small" in said["last"]["error"]


@pytest.mark.requirement("pi_compaction:request:deadline")
async def test_a_compaction_that_does_not_end_holds_the_settled_agent_no_longer_than_its_deadline(
    lab: Lab,
) -> None:
    lab.variables |= {"COMPACTION_NEIGHBOUR": "slow", "PI_FABRIC_COMMIT_MS": "500"}
    async with open_small(lab, "-e", str(NEIGHBOUR)) as pi:
        await talk(lab, pi, "Mend the parser.")
        lab.model.say(program({"ask": {}}))
        events = await pi.prompt(f"And the printer.\n{FILLER}")
    kinds = [event["type"] for event in events]
    assert "compaction_start" in kinds
    assert "compaction_end" not in kinds


@pytest.mark.requirement("pi_compaction:request:program")
async def test_a_real_program_asks_and_later_reads_how_it_ended(lab: Lab) -> None:
    lab.variables["PI_FABRIC_PYTHON"] = sys.executable
    async with open_small(lab) as pi:
        await talk(lab, pi, "Mend the parser.")
        lab.model.say(real("return await compact.request({preserve: ['a fact to keep']})"))
        (asked,) = tool_results(await pi.prompt(f"And the printer.\n{FILLER}"))
        lab.model.say(real("return (await compact.status()).last?.status"))
        (status,) = tool_results(await pi.prompt("How did it end?"))
    assert asked["isError"] is False
    assert text_of(status).strip() == "committed"
    assert "a fact to keep" in last_compaction(lab)["summary"]


@pytest.mark.requirement("pi_compaction:print:answer")
async def test_print_mode_prints_the_answer_when_our_compaction_would_keep_nothing(lab: Lab) -> None:
    lab.settings["compaction"] = KEEP_NOTHING
    lab.model.counts_tokens = True
    lab.model.say(program({"ask": {}}), Reply(text="the answer"), Reply(text="a summary by the model"))
    code, output = await lab.print_mode("-p", f"Mend the parser.\n{FILLER}")
    assert (code, output) == (0, "the answer\n")
    assert "a summary by the model" in last_compaction(lab)["summary"]
