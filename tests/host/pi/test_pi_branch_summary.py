"""Branch summaries in the real Pi, both versions, when another extension navigates."""

import json
from typing import Any

import pytest

from tests.host.pi.compaction_lab import NEIGHBOUR, compact, last_compaction, open_small, talk, user_ids
from tests.host.pi.pi_lab import Lab
from tools.pi_rpc import PiSession
from tools.scripted_model import Reply

pytestmark = [pytest.mark.anyio, pytest.mark.pi]


async def go(pi: PiSession, to: str, **options: Any) -> None:
    await pi.prompt(f"/go {json.dumps({'to': to, 'summarize': True} | options)}")


def summaries(lab: Lab) -> list[dict[str, Any]]:
    return [line for line in lab.session_lines() if line["type"] == "branch_summary"]


@pytest.mark.requirement("pi_compaction:branch:facts", "pi_compaction:branch:later")
async def test_a_branch_that_is_left_is_summarized_and_its_facts_outlive_a_compaction(lab: Lab) -> None:
    async with open_small(lab, "-e", str(NEIGHBOUR)) as pi:
        await talk(lab, pi, "Mend the parser.")
        await talk(lab, pi, "Try the other grammar.")
        lines = lab.session_lines()
        left = lines[-1]["id"]
        (parent,) = [line["parentId"] for line in lines if line.get("id") == user_ids(lab)[1]]
        asked = len(lab.model.requests)
        await go(pi, parent, customInstructions="Keep the names.")
        assert len(lab.model.requests) == asked
        await talk(lab, pi, "Back to the first one.")
        assert (await compact(pi))["success"] is True
    (stored,) = summaries(lab)
    assert stored["fromHook"] is True
    assert stored["details"]["kind"] == "pi-fabric.branch-summary"
    assert stored["details"]["source"]["oldLeafId"] == left
    assert "Try the other grammar." in stored["summary"]
    assert "Keep the names." in stored["summary"]
    assert "Try the other grammar." in last_compaction(lab)["summary"]


@pytest.mark.requirement(
    "pi_compaction:branch:not-wanted", "pi_compaction:branch:replaced", "pi_compaction:branch:cancel"
)
async def test_only_a_summary_that_is_wanted_and_ours_to_make_is_made(lab: Lab) -> None:
    async with open_small(lab, "-e", str(NEIGHBOUR)) as pi:
        await talk(lab, pi, "Mend the parser.")
        await talk(lab, pi, "Try the other grammar.")
        target = user_ids(lab)[1]
        await go(pi, target, customInstructions="__pi_fabric_compact_request_v1__:[]")
        (notice,) = [event for event in pi.events if event.get("method") == "notify"]
        assert notice["notifyType"] == "error"
        assert summaries(lab) == []
        lab.model.say(Reply(text="a summary by the model"))
        await go(pi, target, customInstructions="Write a poem.", replaceInstructions=True)
        (stored,) = summaries(lab)
        assert "a summary by the model" in stored["summary"]
        await talk(lab, pi, "Another try.")
        await go(pi, user_ids(lab)[-1], summarize=False)
        await talk(lab, pi, "The last one.")
    assert len(summaries(lab)) == 1
