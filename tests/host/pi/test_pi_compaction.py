"""Compaction in the real Pi, both versions: ours is stored, resumed and compacted again."""

import pytest

from tests.host.pi.compaction_lab import FILLER, compact, last_compaction, open_small
from tests.host.pi.pi_lab import Lab
from tools.scripted_model import Reply

pytestmark = [pytest.mark.anyio, pytest.mark.pi]


async def test_a_manual_compaction_is_ours(lab: Lab) -> None:
    async with open_small(lab) as pi:
        lab.model.say(Reply(text="first answer"), Reply(text="second answer"))
        await pi.prompt("Mend the parser.\n" + FILLER)
        await pi.prompt("And the printer.\n" + FILLER)
        answer = await compact(pi, customInstructions="Keep the names.")
    assert answer["success"] is True, answer
    stored = last_compaction(lab)
    assert stored["fromHook"] is True
    assert stored["details"]["compactor"] == "fabric"
    assert "Mend the parser." in stored["summary"]
    assert "Keep the names." in stored["summary"]
    assert len(lab.model.requests) == 2
