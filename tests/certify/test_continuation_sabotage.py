"""Each check of the continuation fails when, and only when, what it looks at is falsified."""

import base64
import dataclasses
import re
from collections.abc import Callable

import pytest

from pi_fabric.base.jsonvalue import Json, JsonObject, encode
from pi_fabric.certify import continuation
from pi_fabric.certify.continuation import CHECKS, MARK, TASKS, Task, payload_of
from tests.certify.recorded_pi import (
    CONTINUATION,
    Change,
    Falsify,
    FalsifyMemory,
    by,
    compaction,
    failures,
    play,
    recorded,
    retold,
)
from tools import install_pi

pytestmark = [
    pytest.mark.pi,
    pytest.mark.skipif(not install_pi.is_installed(install_pi.TARGET), reason="it is not installed"),
]
RENAME, NEW_FILE = TASKS
SILENT, SHOWN, RESOLVED, EXACT, UNTOUCHED, PASSES = CHECKS
AFTER_HANDOFF = (SHOWN, RESOLVED, EXACT, UNTOUCHED, PASSES)


def of_task(task: Task, *checks: str) -> set[tuple[str, str]]:
    return {("continuation", check.format(task.name)) for check in checks}


def handed_over(change: Change) -> Falsify:
    """Falsify the compaction of the first task."""
    return compaction(CONTINUATION[0], change)


def expanding(change: Callable[[JsonObject], JsonObject], *, task: Task = RENAME) -> FalsifyMemory:
    """Falsify the expansion of a task's address."""
    number = 1 + TASKS.index(task)

    def falsify(memory: int, action: str, _count: int, answer: JsonObject) -> JsonObject:
        return change(answer) if (memory, action) == (number, "expand") else answer

    return falsify


def entry(**changes: Json) -> Change:
    return lambda answer: answer | {"expanded": [one | changes for one in answer["expanded"]]}


def operations(*given: JsonObject) -> Change:
    payload = base64.b64encode(encode({"operations": list(given)})).decode()
    return entry(text=f"{MARK} {payload}")


def failed(falsify: Falsify) -> set[tuple[str, str]]:
    report = play(install_pi.TARGET, falsify)
    assert not report.holds
    return failures(report)


def failed_with(falsify: FalsifyMemory) -> set[tuple[str, str]]:
    report = play(install_pi.TARGET, falsify_memory=falsify)
    assert not report.holds
    return failures(report)


def write(path: str, content: str) -> JsonObject:
    return {"op": "write", "path": path, "content": content}


def replace(path: str, old: str, new: str) -> JsonObject:
    return {"op": "replace", "path": path, "old": old, "new": new}


def nowhere(facts: JsonObject) -> JsonObject:
    source = {"first": "0123abcd", "last": "0123abcd"}
    return retold(facts, details={"coverage": {"cumulativeSourceRange": source}})


def without_address(facts: JsonObject) -> JsonObject:
    address = facts["details"]["coverage"]["cumulativeSourceRange"]["first"]
    return retold(facts, summary=facts["summary"].replace(address, "…"))


@pytest.mark.requirement("certify:continuation:handoff", "certify:continuation:task-unknown")
def test_what_is_handed_over_is_the_compacted_context_and_the_session_alone() -> None:
    _, tape = recorded(install_pi.TARGET)
    for exchange in [one for one in tape.exchanges if one.method == "compact"][-2:]:
        assert MARK.encode() not in exchange.answer
        assert b".jsonl" not in exchange.answer
        assert not any(payload_of(task).encode() in exchange.answer for task in TASKS)


@pytest.mark.requirement("certify:continuation:task-unknown")
@pytest.mark.parametrize("told", [MARK, payload_of(RENAME)], ids=["mark", "operations"])
@pytest.mark.parametrize("place", ["summary", "details"])
def test_a_handoff_that_tells_the_task_fails(told: str, place: str) -> None:
    def change(facts: JsonObject) -> JsonObject:
        if place == "summary":
            return retold(facts, summary=f"{facts['summary']}\n{told}")
        return retold(facts, details=facts["details"] | {"note": told})

    assert failed(handed_over(change)) == of_task(RENAME, SILENT)


@pytest.mark.requirement("certify:continuation:address")
def test_an_address_that_the_summary_does_not_show_fails() -> None:
    assert failed(handed_over(without_address)) == of_task(RENAME, SHOWN)


@pytest.mark.requirement("certify:continuation:address", "certify:continuation:unavailable")
@pytest.mark.parametrize(
    "change",
    [
        nowhere,
        by(lambda facts: retold(facts, details={"coverage": {}})),
        by(lambda facts: retold(facts, details={"coverage": None})),
        by(lambda facts: retold(facts, details=[])),
    ],
    ids=["unknown", "none", "no-coverage", "no-record"],
)
def test_without_an_address_that_opens_nothing_is_done(change: Change) -> None:
    assert failed(handed_over(change)) == of_task(RENAME, *AFTER_HANDOFF)


def test_without_a_compaction_nothing_is_handed_over_and_the_other_task_goes_on() -> None:
    ended = failed(handed_over(lambda facts: facts | {"kind": "cancel"}))
    assert ended == of_task(RENAME, *CHECKS)


@pytest.mark.requirement("certify:continuation:pointer")
def test_a_session_that_memory_does_not_find_ends_the_task() -> None:
    def falsify(memory: int, action: str, _count: int, answer: JsonObject) -> JsonObject:
        return answer | {"segments": []} if (memory, action) == (1, "recall") else answer

    assert failed_with(falsify) == of_task(RENAME, *AFTER_HANDOFF)


@pytest.mark.requirement("certify:continuation:pointer")
def test_a_pointer_to_other_bytes_opens_nothing() -> None:
    def falsify(memory: int, action: str, _count: int, answer: JsonObject) -> JsonObject:
        if (memory, action) != (1, "recall"):
            return answer
        return answer | {"segments": [one | {"sourceHash": "0" * 64} for one in answer["segments"]]}

    assert failed_with(falsify) == of_task(RENAME, *AFTER_HANDOFF)


@pytest.mark.requirement("certify:continuation:resolved")
@pytest.mark.parametrize(
    "change",
    [entry(entryId="0123abcd"), by(lambda answer: answer | {"sourceHash": "0" * 64})],
    ids=["another-entry", "another-source"],
)
def test_what_is_resolved_comes_from_the_entry_that_came_back(change: Change) -> None:
    assert failed_with(expanding(change)) == of_task(RENAME, RESOLVED)


@pytest.mark.requirement("certify:continuation:unavailable")
@pytest.mark.parametrize(
    "change",
    [
        entry(text="something else"),
        entry(text=MARK),
        entry(text=f"{MARK} no base64"),
        entry(text=f"{MARK} {base64.b64encode(b'[]').decode()}"),
        by(lambda answer: answer | {"expanded": []}),
        by(lambda answer: answer | {"expanded": answer["expanded"] * 2}),
        operations(replace("price.mjs", "not in it", "x")),
        operations(replace("no-such.mjs", "vat", "x")),
        operations({"op": "replace", "path": "price.mjs", "old": "vat"}),
        operations({"op": "write", "path": "price.mjs"}),
        operations({"op": "delete", "path": "price.mjs"}),
        operations(write("no/such/folder.txt", "x")),
        operations(write("../outside.txt", "x")),
    ],
    ids=[
        "no-task", "no-payload", "no-base64", "no-object", "no-entry", "two-entries", "text-not-there",
        "file-not-there", "no-new-text", "no-content", "unknown-operation", "no-folder", "outside",
    ],
)  # fmt: skip
def test_what_cannot_be_done_exactly_fails_and_nothing_is_invented(change: Change) -> None:
    assert failed_with(expanding(change)) == of_task(RENAME, *AFTER_HANDOFF)


@pytest.mark.requirement("certify:continuation:oracle")
@pytest.mark.parametrize(
    ("task", "change", "check"),
    [
        (NEW_FILE, operations(*NEW_FILE.operations, write("extra.txt", "")), EXACT),
        (
            NEW_FILE,
            operations(*NEW_FILE.operations, replace("farewell.mjs", "=> ", "=>  ")),
            EXACT,
        ),
        # What reads as the same text has other bytes.
        (
            NEW_FILE,
            operations(*NEW_FILE.operations, replace("greet.mjs", "\n", "\r\n")),
            EXACT,
        ),
        (RENAME, operations(*RENAME.operations, write("LICENSE", "None.\n")), UNTOUCHED),
        (RENAME, operations(*RENAME.operations, replace("LICENSE", "\n", "\r\n")), UNTOUCHED),
    ],
    ids=["extra-file", "another-text", "other-line-ends", "forbidden", "forbidden-line-ends"],
)  # fmt: skip
def test_files_are_scored_byte_for_byte(task: Task, change: Change, check: str) -> None:
    assert failed_with(expanding(change, task=task)) == of_task(task, check)


@pytest.mark.requirement("certify:continuation:oracle")
@pytest.mark.parametrize(
    "text", ["process.exit(3);", "throw new Error('no');", "setInterval(() => {}, 1000);"]
)
def test_an_oracle_that_says_no_or_never_ends_fails(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(continuation, "_ORACLE_TIMEOUT_S", 0.3 if "Interval" in text else 30.0)
    sabotaged = dataclasses.replace(RENAME, oracle=text)
    monkeypatch.setattr(continuation, "TASKS", (sabotaged, NEW_FILE))
    report = play(install_pi.TARGET)
    # The other one may be slower than the bound of this test.
    assert of_task(RENAME, PASSES) <= failures(report) <= of_task(RENAME, PASSES) | of_task(NEW_FILE, PASSES)
    told = report.versions[0].phases[5].checks[PASSES.format(RENAME.name)].failures[0]
    assert re.fullmatch(r"it ended with (3|1|None)", told)


@pytest.mark.requirement("certify:continuation:oracle")
def test_work_that_is_not_done_fails_files_and_oracle() -> None:
    nothing = failed_with(expanding(operations(write("LICENSE", RENAME.files["LICENSE"]))))
    assert nothing == of_task(RENAME, EXACT, PASSES)
    wrong = replace("price.mjs", "0.19", "0.2")
    assert failed_with(expanding(operations(*RENAME.operations, wrong))) == of_task(RENAME, EXACT, PASSES)
