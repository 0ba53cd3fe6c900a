import pytest
from told_sessions import path, says, user

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.compaction.compile import CompactionEvent
from pi_fabric.compaction.hook import decide_compaction
from pi_fabric.compaction.request import PI_VCC_SENTINEL, REQUEST_PREFIX

TOLD = path([user("goal"), says("ok"), user("next")])


def event(entries: list[JsonObject] = TOLD, **fields: Json) -> CompactionEvent:
    return CompactionEvent(entries=entries, tokens_before=1_000, **fields)


@pytest.mark.requirement("summary:hook:claimed")
def test_a_compaction_is_claimed():
    decision = decide_compaction(event())
    assert (decision.kind, decision.is_claimed, decision.notice) == ("compaction", True, None)


@pytest.mark.requirement("summary:hook:sentinel")
def test_the_sentinel_hands_over_to_pi_vcc():
    decision = decide_compaction(event(custom_instructions=PI_VCC_SENTINEL))
    assert (decision.kind, decision.is_claimed) == ("undefined", False)


@pytest.mark.requirement("summary:hook:sentinel")
def test_text_around_the_sentinel_makes_it_ordinary_text():
    assert decide_compaction(event(custom_instructions=f"{PI_VCC_SENTINEL} ")).kind == "compaction"


@pytest.mark.requirement("summary:hook:engine")
def test_with_the_hosts_engine_nothing_is_claimed_cancelled_or_said():
    decision = decide_compaction(event(custom_instructions=REQUEST_PREFIX), engine="pi")
    assert (decision.kind, decision.is_claimed, decision.notice) == ("undefined", False, None)


@pytest.mark.requirement("summary:hook:refused")
@pytest.mark.parametrize("has_pi_vcc_result", [False, True])
def test_a_broken_request_is_told_and_cancels_whoever_answered_before(has_pi_vcc_result: bool):
    decision = decide_compaction(
        event(custom_instructions=REQUEST_PREFIX), has_pi_vcc_result=has_pi_vcc_result
    )
    assert (decision.kind, decision.is_claimed) == ("cancel", False)
    assert decision.notice is not None


@pytest.mark.requirement("summary:hook:pi-vcc")
def test_a_result_of_pi_vcc_stands_when_there_is_nothing_to_compact():
    assert decide_compaction(event([])).kind == "cancel"
    decision = decide_compaction(event([]), has_pi_vcc_result=True)
    assert decision.kind == "undefined"
    assert decision.declined is not None
    assert decision.declined.cause == "empty-live-window"
