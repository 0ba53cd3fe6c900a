"""Whatever happens to a summary of ours, Pi makes its own and the person is told."""

import json

import pytest

from pi_fabric.base.jsonvalue import JsonObject
from tests.host.pi.compaction_lab import (
    NEIGHBOUR,
    compact,
    compactions,
    open_small,
    open_without_fabric,
    talk,
    user_ids,
    with_faults,
)
from tests.host.pi.pi_lab import Lab, notices, sidecars_of
from tools import install_pi
from tools.pi_rpc import PiSession
from tools.scripted_model import Reply

pytestmark = [pytest.mark.anyio, pytest.mark.pi]

RIGHT: JsonObject = {"kind": "compaction", "summary": "s", "firstKeptEntryId": "", "details": {}}
WRONG: tuple[tuple[JsonObject, str], ...] = (
    ({**RIGHT, "firstKeptEntryId": "nowhere"}, "not on the branch"),
    ({**RIGHT, "firstKeptEntryId": None}, "does not say what is kept"),
    ({**RIGHT, "summary": " "}, "has no summary"),
    ({**RIGHT, "summary": "é" * 16_385}, "longer than 32 KiB"),
    ({**RIGHT, "details": [1]}, "has no details"),
    ({**RIGHT, "details": {"x": "y" * 170_000}}, "details are longer"),
    ({"kind": "something"}, "unknown kind"),
)


async def own_summary(lab: Lab, pi: PiSession, instructions: str) -> str:
    """Let one compaction fail; Pi must summarize with the model. What the person was told."""
    await talk(lab, pi, "Some more work.")
    shown = len(notices(pi.events))
    lab.model.say(Reply(text="a summary by the model"))
    answer = await compact(pi, instructions)
    assert answer["success"] is True, answer
    assert "a summary by the model" in answer["data"]["summary"]
    (notice,) = [text for text in notices(pi.events)[shown:] if "could not compact" in text]
    assert len(notice) < 600
    assert "Pi summarizes with the model" in notice
    return notice


@pytest.mark.requirement("pi_compaction:fault:wrong", "pi_compaction:fault:exception")
async def test_a_wrong_answer_or_an_exception_leaves_the_summary_to_pi(lab: Lab) -> None:
    with_faults(lab)
    async with open_small(lab) as pi:
        await talk(lab, pi, "Mend the parser.")
        for answer, reason in WRONG:
            assert reason in await own_summary(lab, pi, json.dumps(answer))
        assert "RuntimeError: a fault in Python" in await own_summary(lab, pi, "raise")
        await talk(lab, pi, "And the printer.")
        assert (await compact(pi))["success"] is True
    assert compactions(lab)[-1]["details"]["compactor"] == "fabric"


@pytest.mark.requirement("pi_compaction:fault:killed", "pi_compaction:fault:slow")
async def test_a_sidecar_that_dies_or_is_slow_leaves_the_summary_to_pi_and_serves_again(lab: Lab) -> None:
    with_faults(lab)
    lab.variables["PI_FABRIC_COMPACT_MS"] = "1500"
    async with open_small(lab) as pi:
        await talk(lab, pi, "Mend the parser.")
        assert "exit code 7" in await own_summary(lab, pi, "die")
        assert "within 1.5 s" in await own_summary(lab, pi, "hang")
        await talk(lab, pi, "And the printer.")
        assert (await compact(pi))["success"] is True
        assert "within 1.5 s" in await own_summary(lab, pi, "freeze")
        assert await pi.close() == 0
    assert [line.get("fromHook", False) for line in compactions(lab)] == [False, False, True, False]
    async with open_without_fabric(lab) as pi:
        assert (await pi.command("get_messages"))["success"] is True


@pytest.mark.requirement("pi_compaction:request:unseen")
async def test_a_frozen_sidecar_is_not_taken_for_a_request_that_failed(lab: Lab) -> None:
    async with open_small(lab) as pi:
        await pi.prompt("Hello.")
        for sidecar in sidecars_of(pi.pid):
            sidecar.suspend()
        told = notices(await pi.prompt("Hello again."))
    assert told == [
        "Fabric could not see whether a compaction was asked for: no answer to compact.take came within 2 s"
    ]


@pytest.mark.requirement("pi_compaction:fault:aborted")
async def test_an_aborted_compaction_is_neither_made_nor_complained_of(lab: Lab) -> None:
    if lab.version == install_pi.FLOOR:
        pytest.skip("Pi 0.80 aborts no compaction")
    with_faults(lab)
    async with open_small(lab) as pi:
        await talk(lab, pi, "Mend the parser.")
        await talk(lab, pi, "And the printer.")
        identity = await pi.send("compact", customInstructions="hang")
        await pi.wait_for(lambda event: event.get("type") == "compaction_start")
        await pi.command("abort")
        answer = await pi.wait_for(lambda event: event.get("id") == identity)
        assert answer["error"] == "Compaction cancelled"
        assert notices(pi.events) == []
        assert (await compact(pi))["success"] is True


@pytest.mark.requirement("pi_compaction:fault:missing")
async def test_without_python_pi_compacts_as_always(lab: Lab) -> None:
    lab.variables["PI_FABRIC_PYTHON"] = "/nonexistent/python"
    async with open_small(lab) as pi:
        await talk(lab, pi, "Mend the parser.")
        assert "could not be started" in await own_summary(lab, pi, "Keep the names.")


@pytest.mark.requirement("pi_compaction:fault:branch")
async def test_a_branch_summary_that_fails_is_left_to_pi(lab: Lab) -> None:
    with_faults(lab)
    async with open_small(lab, "-e", str(NEIGHBOUR)) as pi:
        await talk(lab, pi, "Mend the parser.")
        await talk(lab, pi, "And the printer.")
        lab.model.say(Reply(text="a summary by the model"))
        order = {"to": user_ids(lab)[0], "summarize": True, "customInstructions": "raise"}
        await pi.prompt(f"/go {json.dumps(order)}")
        (notice,) = [text for text in notices(pi.events) if "could not summarize the branch" in text]
    (stored,) = [line for line in lab.session_lines() if line["type"] == "branch_summary"]
    assert "a fault in Python" in notice
    assert "a summary by the model" in stored["summary"]
