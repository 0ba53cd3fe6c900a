"""Each check of memory fails when, and only when, what it looks at is falsified."""

import pytest

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.certify.cross_layer import CHECKS
from tests.certify.recorded_pi import (
    ENDURANCE,
    PROBLEM,
    Change,
    FalsifyMemory,
    by,
    compaction,
    failures,
    play,
    retold,
)
from tools import install_pi

pytestmark = [
    pytest.mark.pi,
    pytest.mark.skipif(not install_pi.is_installed(install_pi.TARGET), reason="it is not installed"),
]
WHOLE, HOT, FOUND, HASH, HYDRATED, EXPANDED, OPENS, SAME, REFUSED = CHECKS


def answering(action: str, number: int, change: Change) -> FalsifyMemory:
    """Falsify one answer of the memory that is asked about the thousand sessions."""

    def falsify(memory: int, asked: str, count: int, answer: JsonObject) -> JsonObject:
        return change(answer) if (memory, asked, count) == (0, action, number) else answer

    return falsify


def failed(falsify: FalsifyMemory) -> set[tuple[str, str]]:
    report = play(install_pi.TARGET, falsify_memory=falsify)
    assert not report.holds
    return failures(report)


def covering(**changes: object) -> Change:
    return lambda answer: answer | {"coverage": answer["coverage"] | changes}


def hot_too(answer: JsonObject) -> JsonObject:
    """A ninth session is hot."""
    return answer | {"segments": [*answer["segments"], answer["segments"][0] | {"sessionFile": "/another"}]}


def one_fewer(answer: JsonObject) -> JsonObject:
    gone = answer["segments"][0]["sessionFile"]
    return answer | {"segments": [one for one in answer["segments"] if one["sessionFile"] != gone]}


def another_one(answer: JsonObject) -> JsonObject:
    """Eight are hot, and one of them is not among the newest."""
    gone = answer["segments"][0]["sessionFile"]
    oldest = gone.replace(gone.rpartition("/")[2], "2000-01-01.jsonl")
    moved = [
        one | {"sessionFile": oldest} if one["sessionFile"] == gone else one for one in answer["segments"]
    ]
    return answer | {"segments": moved}


def pointing(**changes: object) -> Change:
    return lambda answer: answer | {"digestHits": [hit | changes for hit in answer["digestHits"]]}


def saying(text: str) -> Change:
    return lambda answer: answer | {"expanded": [one | {"text": text} for one in answer["expanded"]]}


def accepted(answer: JsonObject) -> JsonObject:
    return {name: value for name, value in answer.items() if name != "error"}


@pytest.mark.requirement(
    "certify:memory:coverage",
    "certify:memory:hot",
    "certify:memory:expansion",
    "certify:memory:agreement",
    "certify:memory:integrity",
    "certify:context:rejected",
)
@pytest.mark.parametrize(
    ("falsify", "check"),
    [
        pytest.param(answering("recall", 0, covering(complete=False)), WHOLE, id="incomplete"),
        pytest.param(answering("recall", 0, covering(indexedSessions=50)), WHOLE, id="one-not-indexed"),
        pytest.param(
            answering("recall", 0, covering(eligibleSessions=49, indexedSessions=49)), WHOLE, id="too-few"
        ),
        pytest.param(answering("recall", 1, one_fewer), HOT, id="seven-hot"),
        pytest.param(answering("recall", 1, hot_too), HOT, id="nine-hot"),
        pytest.param(answering("recall", 1, another_one), HOT, id="an-old-one-is-hot"),
        pytest.param(answering("recall", 2, lambda a: a | {"segments": []}), HYDRATED, id="cold-and-empty"),
        pytest.param(answering("expand", 0, saying("something else")), EXPANDED, id="another-fact"),
        pytest.param(answering("expand", 0, lambda a: a | {"expanded": []}), EXPANDED, id="no-expansion"),
        pytest.param(
            answering(
                "expand", 0, lambda a: a | {"expanded": [one | {"entryId": "x"} for one in a["expanded"]]}
            ),
            EXPANDED,
            id="another-entry",
        ),
        pytest.param(answering("expand", 2, saying("something else")), SAME, id="another-text"),
        pytest.param(answering("recall", 3, accepted), REFUSED, id="stale-recall-accepted"),
        pytest.param(answering("expand", 1, accepted), REFUSED, id="stale-expansion-accepted"),
        pytest.param(answering("expand", 3, accepted), REFUSED, id="stale-address-accepted"),
        pytest.param(
            answering("expand", 1, lambda a: a | {"expanded": [{"entryId": "x", "text": "y"}]}),
            REFUSED,
            id="refused-and-shown",
        ),
        pytest.param(
            answering("expand", 1, lambda a: a | {"error": {"code": "not_found"}}), REFUSED, id="other-error"
        ),
    ],
)
def test_one_falsified_answer_fails_one_check_of_memory(falsify: FalsifyMemory, check: str) -> None:
    assert failed(falsify) == {("memory", check)}


@pytest.mark.requirement("certify:memory:recall", "certify:memory:cold")
@pytest.mark.parametrize(
    "change",
    [
        by(lambda answer: answer | {"digestHits": []}),
        by(lambda answer: answer | {"segments": [{"sessionFile": answer["digestHits"][0]["sessionFile"]}]}),
        by(lambda answer: answer | {"digestHits": answer["digestHits"] * 2}),
        pointing(sessionFile="/another"),
    ],
    ids=["not-found", "found-hot", "found-twice", "found-elsewhere"],
)
def test_a_rare_fact_that_is_not_found_in_its_cold_session_alone_is_not_opened(change: Change) -> None:
    unopened = {("memory", check) for check in (FOUND, HASH, HYDRATED, EXPANDED)}
    assert failed(answering("recall", 0, change)) == unopened


@pytest.mark.requirement("certify:memory:cold")
def test_a_rare_session_that_browsing_shows_as_hot_fails() -> None:
    rare = ""

    def falsify(memory: int, action: str, count: int, answer: JsonObject) -> JsonObject:
        nonlocal rare
        if (memory, action, count) == (0, "recall", 0):
            rare = answer["digestHits"][0]["sessionFile"]
        if (memory, action, count) == (0, "recall", 1):
            gone = answer["segments"][0]["sessionFile"]
            moved = [rare if one["sessionFile"] == gone else one["sessionFile"] for one in answer["segments"]]
            return answer | {"segments": [{"sessionFile": file} for file in moved]}
        return answer

    assert failed(falsify) == {("memory", HOT)}


@pytest.mark.requirement("certify:memory:integrity")
def test_a_pointer_with_another_hash_fails_and_opens_nothing() -> None:
    wrong = failed(answering("recall", 0, pointing(sourceHash="0" * 64)))
    # Memory itself refuses what is bound to it.
    assert wrong == {("memory", HASH), ("memory", HYDRATED), ("memory", EXPANDED)}


@pytest.mark.requirement("certify:memory:every-address")
def test_an_address_of_a_summary_that_leads_nowhere_fails() -> None:
    def change(facts: JsonObject) -> JsonObject:
        return retold(facts, summary=facts["summary"] + "\n- [0123abcd] nobody knows\n")

    report = play(install_pi.TARGET, compaction(ENDURANCE[-1], change))
    assert failures(report) == {("memory", OPENS)}
    [check] = [one for one in report.versions[0].phases[4].checks.values() if not one.holds]
    assert check.failed == 1
    assert check.failures == ["0123abcd does not open"]


@pytest.mark.requirement("certify:memory:every-address")
@pytest.mark.parametrize("number", [ENDURANCE[0], ENDURANCE[4]])
def test_an_address_in_the_details_alone_of_any_compaction_is_opened_too(number: int) -> None:
    def change(facts: JsonObject) -> JsonObject:
        return retold(facts, details=facts["details"] | {"more": {"deep": ["0123abcd"]}})

    assert failures(play(install_pi.TARGET, compaction(number, change))) == {("memory", OPENS)}


@pytest.mark.requirement("certify:memory:every-address")
def test_an_entry_that_memory_leaves_out_fails() -> None:
    gone = ""

    def falsify(memory: int, action: str, count: int, answer: JsonObject) -> JsonObject:
        nonlocal gone
        if memory or action != "expand" or count < 2 or not answer["expanded"]:
            return answer
        gone = gone or answer["expanded"][0]["entryId"]
        return answer | {"expanded": [one for one in answer["expanded"] if one["entryId"] != gone]}

    assert failed(falsify) == {("memory", OPENS)}


def test_an_answer_that_is_none_is_told_in_the_report() -> None:
    told = failed(answering("recall", 0, lambda _: {"error": {"code": "broken"}}))
    assert told == {("memory", PROBLEM), *(("memory", check) for check in CHECKS)}
