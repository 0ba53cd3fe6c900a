"""Each check of compaction fails when, and only when, what it looks at is falsified."""

from collections.abc import Callable

import pytest

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.certify import closures, endurance, functions, saturation
from pi_fabric.certify.context import Size
from tests.certify.recorded_pi import (
    CLOSURES,
    ENDURANCE,
    PROBLEM,
    SATURATION,
    Change,
    Falsify,
    by,
    compaction,
    cut_at,
    entry_where,
    failures,
    play,
    retold,
)
from tools import install_pi

pytestmark = [
    pytest.mark.pi,
    pytest.mark.skipif(not install_pi.is_installed(install_pi.TARGET), reason="it is not installed"),
]
LAST = ENDURANCE[-1]
MIDDLE = 5
WHOLE_ENDURANCE = Size(cycles=100, sessions=50)


def failed(falsify: Falsify) -> set[tuple[str, str]]:
    report = play(install_pi.TARGET, falsify)
    assert not report.holds
    assert report.to_json()["passed"] is False
    return failures(report)


def without(*texts: str) -> Change:
    def change(facts: JsonObject) -> JsonObject:
        summary = facts["summary"]
        for text in texts:
            assert text in summary
            summary = summary.replace(text, "…")
        return retold(facts, summary=summary)

    return change


def without_line(*parts: str) -> Change:
    def change(facts: JsonObject) -> JsonObject:
        lines = facts["summary"].split("\n")
        kept = [line for line in lines if not all(part in line for part in parts)]
        assert len(kept) == len(lines) - 1
        return retold(facts, summary="\n".join(kept))

    return change


def covering(**ends: int) -> Change:
    """The source is said to begin or end at another entry."""

    def change(facts: JsonObject) -> JsonObject:
        ids = [entry["id"] for entry in facts["branch"] if entry["type"] != "compaction"]
        details = facts["details"]
        source = details["coverage"]["cumulativeSourceRange"]
        source = source | {end: ids[ids.index(source[end]) + step] for end, step in ends.items()}
        coverage = details["coverage"] | {"cumulativeSourceRange": source}
        return retold(facts, details=details | {"coverage": coverage})

    return change


def stored_otherwise(**changes: Json) -> Change:
    return lambda facts: facts | {"stored": facts["stored"] | changes}


def in_context(change: Callable[[list[str]], list[str]]) -> Change:
    """Both of Pi's builders give another context."""
    return lambda facts: facts | {name: change(facts[name]) for name in ("contextIds", "publicContextIds")}


def splitting(facts: JsonObject) -> JsonObject:
    return cut_at(facts, entry_where(facts, lambda entry: bool(entry["answers"])))


ANSWERS, PREPARES, ELIGIBLE = endurance.CHECKS[2], endurance.CHECKS[1], endurance.CHECKS[0]
PREVIOUS, READS, POISONED, FACTS, ADDRESSES, CLOSED, KNOWN, STORED, AGREE, CONTEXT, TEXT, BOUNDARIES = (
    endurance.CHECKS[3:]
)
INELIGIBLE: JsonObject = {"kind": "ineligible", "reads": []}


@pytest.mark.requirement(
    "certify:context:eligible",
    "certify:context:prepared",
    "certify:context:previous-summary",
    "certify:context:poison-unread",
    "certify:context:poison-excluded",
    "certify:context:facts",
    "certify:context:addresses",
    "certify:context:closure",
    "certify:context:boundary-known",
    "certify:context:stored",
    "certify:context:builders",
    "certify:context:exact",
    "certify:context:size",
    "certify:context:rejected",
)
@pytest.mark.parametrize(
    ("number", "change", "check"),
    [
        pytest.param(MIDDLE, by(lambda f: f | {"previousSummary": "x"}), PREVIOUS, id="another-previous"),
        pytest.param(MIDDLE, by(lambda f: f | {"previousSummary": None}), PREVIOUS, id="no-previous"),
        pytest.param(MIDDLE, by(lambda f: f | {"reads": ["settings", "previousSummary"]}), READS, id="read"),
        pytest.param(
            LAST,
            by(lambda f: retold(f, summary=f"{f['summary']}\n{endurance.POISON}008")),
            POISONED,
            id="poisoned-summary",
        ),
        pytest.param(
            LAST,
            by(lambda f: retold(f, details=f["details"] | {"note": [{"deep": endurance.POISON}]})),
            POISONED,
            id="poisoned-details",
        ),
        pytest.param(LAST, without(endurance.GOAL), FACTS, id="no-goal"),
        pytest.param(LAST, without(endurance.CONSTRAINT), FACTS, id="no-constraint"),
        pytest.param(LAST, without("🜁"), FACTS, id="no-exact-fact"),
        pytest.param(LAST, covering(first=1), ADDRESSES, id="source-begins-later"),
        pytest.param(LAST, covering(last=-1), ADDRESSES, id="source-ends-earlier"),
        pytest.param(LAST, without_line("- [", "double_entry.py"), ADDRESSES, id="no-file"),
        pytest.param(LAST, without_line("- [", "audit-trail failed"), ADDRESSES, id="no-error"),
        pytest.param(LAST, splitting, CLOSED, id="split-pair"),
        pytest.param(LAST, by(lambda f: cut_at(f, "ffffffff")), KNOWN, id="unknown-boundary"),
        pytest.param(LAST, stored_otherwise(summary="another"), STORED, id="stored-summary"),
        pytest.param(LAST, stored_otherwise(details={}), STORED, id="stored-details"),
        pytest.param(LAST, stored_otherwise(firstKeptEntryId=""), STORED, id="stored-boundary"),
        pytest.param(LAST, by(lambda f: f | {"publicContextIds": f["contextIds"][:-1]}), AGREE, id="differ"),
        pytest.param(LAST, in_context(lambda ids: ids[:-1]), CONTEXT, id="context-lacks-one"),
        pytest.param(LAST, in_context(lambda ids: [*ids, "ffffffff"]), CONTEXT, id="context-has-more"),
        pytest.param(LAST, in_context(lambda ids: [*ids[1:], ids[0]]), CONTEXT, id="context-in-other-order"),
        pytest.param(LAST, by(lambda f: retold(f, summary=f["summary"] + "x" * 32_768)), TEXT, id="large"),
        pytest.param(LAST, by(lambda f: f | {"isText": False}), TEXT, id="half-a-character"),
    ],
)
def test_one_falsified_compaction_fails_one_check_of_endurance(
    number: int, change: Change, check: str
) -> None:
    assert failed(compaction(number, change)) == {("endurance", check)}


@pytest.mark.requirement("certify:context:eligible", "certify:context:prepared", "certify:context:handler")
@pytest.mark.parametrize(
    ("change", "check"),
    [
        (INELIGIBLE | {"isEligible": False}, ELIGIBLE),
        (INELIGIBLE | {"isPrepared": False}, PREPARES),
        ({"kind": "none"}, ANSWERS),
        ({"kind": "cancel"}, ANSWERS),
    ],
)
def test_without_a_compaction_endurance_ends_and_says_why(change: JsonObject, check: str) -> None:
    falsified = compaction(MIDDLE, lambda facts: facts | change)
    assert failed(falsified) == {("endurance", check), ("endurance", PROBLEM)}


@pytest.mark.requirement("certify:context:exact", "certify:context:appends")
@pytest.mark.parametrize("place", [0, 4, 8])
def test_a_context_that_is_wrong_after_one_later_append_fails(place: int) -> None:
    def falsify(method: str, number: int, answer: Json) -> Json:
        if (method, number) == ("append", 3):
            answer[place]["contextIds"].pop(0)
        return answer

    assert failed(falsify) == {("endurance", CONTEXT)}


@pytest.mark.requirement("certify:context:boundary-kinds")
def test_compactions_that_all_keep_nothing_prove_too_little() -> None:
    last = ""

    def falsify(method: str, number: int, answer: Json) -> Json:
        nonlocal last
        if method == "compact" and number in ENDURANCE:
            last = answer["compactionId"]
            return cut_at(answer, "")
        if method == "append" and last and number < len(ENDURANCE):
            ids = [one["id"] for one in answer]
            return [one | {"contextIds": [last, *ids[: at + 1]]} for at, one in enumerate(answer)]
        return answer

    assert failed(falsify) == {("endurance", BOUNDARIES)}


def padded(*sizes: int) -> Falsify:
    """The last summaries are longer by so many bytes; Pi shows them so to the next one."""
    first = WHOLE_ENDURANCE.cycles - len(sizes)
    pad = {first + at: "x" * size for at, size in enumerate(sizes)}

    def falsify(method: str, number: int, answer: Json) -> Json:
        if method != "compact" or number not in pad:
            return answer
        facts = retold(answer, summary=answer["summary"] + pad[number])
        suffix = f"\n{endurance.POISON}{number - 1:03}"
        previous = facts["previousSummary"].removesuffix(suffix) + pad.get(number - 1, "") + suffix
        return facts | {"previousSummary": previous}

    return falsify


@pytest.mark.requirement("certify:context:tail")
@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        # By themselves the recorded ones grow by 3.6 bytes each, and lie within 131.
        (range(0, 12 * 20, 12), set[tuple[str, str]]()),
        (range(0, 14 * 20, 14), {("endurance", endurance.TAIL_CHECK)}),
        (range(21 * 20, 0, -21), {("endurance", endurance.TAIL_CHECK)}),
        ([0] * 9 + [500, 500] + [0] * 9, {("endurance", endurance.TAIL_CHECK)}),
        # Before the last twenty a summary may be of any size.
        ([600] + [0] * 20, set[tuple[str, str]]()),
    ],
    ids=["slow", "fast", "shrinking", "leap", "earlier"],
)
def test_the_last_twenty_summaries_may_neither_grow_nor_leap(
    sizes: list[int], expected: set[tuple[str, str]]
) -> None:
    report = play(install_pi.TARGET, padded(*sizes), size=WHOLE_ENDURANCE)
    assert failures(report) == expected


NAMES = [fixture.name for fixture in closures.FIXTURES]


def of_fixture(number: int) -> list[str]:
    """Names of the five checks of a fixture."""
    told = play(install_pi.TARGET).versions[0].phases[2]
    return [name for name in told.checks if name.startswith(f"{NAMES[number]}: ")]


@pytest.mark.requirement("certify:context:fixtures")
@pytest.mark.parametrize("number", range(6), ids=NAMES)
def test_a_fixture_that_is_not_compacted_fails_whole(number: int) -> None:
    ended = compaction(CLOSURES[number], lambda facts: facts | {"kind": "none"})
    checks = of_fixture(number)
    assert len(checks) == 5
    assert failed(ended) == {("closures", check) for check in checks}


def unmade(facts: JsonObject) -> JsonObject:
    return facts | {"branch": [entry | {"calls": [], "answers": None} for entry in facts["branch"]]}


def known_boundary(facts: JsonObject) -> JsonObject:
    first = facts["branch"][0]["id"]
    branch = [entry | ({"keepsFrom": first} if entry["keepsFrom"] else {}) for entry in facts["branch"]]
    return facts | {"branch": branch}


@pytest.mark.requirement("certify:context:fixtures")
@pytest.mark.parametrize(
    ("number", "change"),
    [
        (0, by(lambda facts: cut_at(facts, ""))),
        (1, by(lambda facts: cut_at(facts, facts["branch"][0]["id"]))),
        (2, by(lambda facts: facts | {"isSplitTurn": False})),
        (3, unmade),
        (4, unmade),
        (5, known_boundary),
    ],
    ids=NAMES,
)
def test_a_fixture_that_is_not_what_its_name_says_fails(number: int, change: Change) -> None:
    name = closures._SHAPED.format(NAMES[number])  # pyright: ignore[reportPrivateUsage] - the check's own words
    assert failed(compaction(CLOSURES[number], change)) == {("closures", name)}


@pytest.mark.requirement("certify:context:fixtures", "certify:context:closure")
@pytest.mark.parametrize("number", [0, 2, 3, 5])
def test_a_cut_through_a_pair_fails_the_closure_of_its_fixture(number: int) -> None:
    # Of the last call the result is kept and the call is not; a reversed pair and a single turn come next.
    assert failed(compaction(CLOSURES[number], splitting)) == {("closures", of_fixture(number)[2])}


@pytest.mark.requirement("certify:context:fixtures", "certify:context:closure")
def test_a_cut_between_a_result_and_its_later_call_fails() -> None:
    def change(facts: JsonObject) -> JsonObject:
        return cut_at(facts, entry_where(facts, lambda entry: "late" in entry["calls"]))

    assert failed(compaction(CLOSURES[4], change)) == {("closures", of_fixture(4)[2])}


@pytest.mark.requirement("certify:context:boundary-known", "certify:context:exact")
@pytest.mark.parametrize("number", [0, 5])
def test_a_fixtures_boundary_must_be_known_and_its_context_exact(number: int) -> None:
    unknown, inexact = of_fixture(number)[3:]
    assert failed(compaction(CLOSURES[number], lambda f: cut_at(f, "ffffffff"))) == {("closures", unknown)}
    wrong = compaction(CLOSURES[number], in_context(lambda ids: ids[:-1]))
    assert failed(wrong) == {("closures", inexact)}


@pytest.mark.requirement("certify:context:saturation")
@pytest.mark.parametrize(
    ("change", "check"),
    [
        (by(lambda facts: facts | {"summary": facts["summary"][:5_000]}), saturation.CHECKS[1]),
        (by(lambda facts: facts | {"summary": facts["summary"] + "鯨" * 3_000}), saturation.CHECKS[2]),
        (by(lambda facts: facts | {"isText": False}), saturation.CHECKS[3]),
    ],
    ids=["small", "large", "half-a-character"],
)
def test_a_saturated_summary_out_of_its_bounds_fails(change: Change, check: str) -> None:
    assert failed(compaction(SATURATION, change)) == {("saturation", check)}


def test_a_maximal_source_that_is_not_compacted_fails() -> None:
    ended = failed(compaction(SATURATION, lambda facts: facts | {"kind": "none"}))
    unseen = {("saturation", check) for check in saturation.CHECKS[1:]}
    assert ended == {("saturation", PROBLEM), *unseen}


@pytest.mark.requirement("certify:context:saturation")
def test_a_source_of_another_size_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    # The first turn alone is larger.
    monkeypatch.setattr(saturation, "SOURCE_BYTES", 100)
    assert failures(play(install_pi.TARGET)) == {("saturation", saturation.CHECKS[0])}


@pytest.mark.requirement("certify:context:known-functions")
@pytest.mark.parametrize(
    ("changes", "check"),
    [
        ({"version": "0.0.1"}, functions.CHECKS[0]),
        ({"exports": {"shouldCompact": {"isFound": True, "parameters": 2}}}, functions.CHECKS[1]),
        ({"exports": {"prepareCompaction": {"isFound": False, "parameters": None}}}, functions.CHECKS[1]),
    ],
)
def test_another_pi_than_the_installed_one_fails(changes: JsonObject, check: str) -> None:
    def falsify(method: str, _number: int, answer: Json) -> Json:
        return answer | changes if method == "info" else answer

    assert failed(falsify) == {("driver", check)}
