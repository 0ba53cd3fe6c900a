"""Kinds `trace` (what the V1 reader accepts) and `trace_record` (what a recording seals into)."""

import re

from pi_fabric.base.bounds import json_bytes
from pi_fabric.base.jsonvalue import UNDEFINED, Json, JsonObject, is_array, is_object, stringify
from pi_fabric.history.trace import MAX_TRACE_BYTES, TraceRecorder, read_trace
from pi_fabric.history.trace.sanitize import (
    BASE64_MARK,
    CUT_MARK,
    DEEP_MARK,
    FULL_MARK,
    MEDIA_MARK,
    REDACTED_MARK,
)

# How the recording names what stands in place of a value, and where it cut a text.
RECORDED_MARK = re.compile(r"\[[A-Z0-9_]+\]")
RECORDED_CUT = re.compile(r"(?s)(.*)…?\[truncated\]")
OWN_MARKS = frozenset({BASE64_MARK, DEEP_MARK, FULL_MARK, MEDIA_MARK, REDACTED_MARK})
# The longest difference between a sentence of the recording and one of ours, with its key.
SENTENCE_BYTES = 200
# Counts that say how much was shed; they move with the sentences.
SHED_COUNTS = ("droppedValues", "truncatedValues", "droppedOperations")


def check_trace(case: JsonObject) -> list[str]:
    """Compare whether the reader accepts the value."""
    accepted = read_trace(case["input"]["value"]) is not None
    expected = case["output"]["accepted"]
    return [] if accepted is expected else [f"accepted: {accepted}, expected {expected}"]


def check_trace_record(case: JsonObject) -> list[str]:
    """Replay the steps on a recorder and compare the sealed trace."""
    given: JsonObject = case["input"]
    expected: JsonObject = case["output"]["trace"]
    sealed = _replay(given)
    differences = [] if read_trace(sealed) is not None else ["the sealed trace is not a valid V1 trace"]
    size = json_bytes(sealed)
    if size > MAX_TRACE_BYTES:
        differences.append(f"the sealed trace has {size} bytes")
    differences += _leaks(given, sealed)
    if case["output"]["bytes"] + _slack(expected) > MAX_TRACE_BYTES:
        return differences + _compare_shed(sealed, expected)
    return differences + _compare(sealed, expected, "trace")


def _replay(given: JsonObject) -> JsonObject:
    recorder = TraceRecorder()
    numbers: list[int] = []
    for step in given["steps"]:
        if step["do"] == "issue":
            numbers.append(recorder.issue(step["ref"], step.get("args", UNDEFINED)))
            continue
        number = numbers[int(step["call"])]
        if step["do"] == "resolved":
            recorder.resolved(number, step["provider"], step["action"])
        elif step["do"] == "prepared":
            recorder.prepared(number, step["args"])
        elif step["do"] == "succeed":
            recorder.succeed(number, step.get("result", UNDEFINED))
        else:
            recorder.fail(number, step["stage"], step["outcome"], step.get("result", UNDEFINED))
    return recorder.seal(given["outcome"], given["phases"])


def _leaks(given: JsonObject, sealed: JsonObject) -> list[str]:
    texts = [step["error"] for step in given["steps"] if isinstance(step.get("error"), str)]
    if isinstance(given.get("error"), str):
        texts.append(given["error"])
    written = stringify(sealed)
    return [
        f"the text of an error is in the trace: {text[:40]!r}" for text in texts if text and text in written
    ]


def _slack(expected: JsonObject) -> int:
    failed = sum(1 for operation in expected["operations"] if "error" in operation)
    return SENTENCE_BYTES * (failed + 2)


def _compare_shed(sealed: JsonObject, expected: JsonObject) -> list[str]:
    """Compare traces that were cut to size: the first part to be shed may lie a little elsewhere."""
    frame = ("operations", "counts")
    differences = _compare(
        {key: value for key, value in sealed.items() if key not in frame},
        {key: value for key, value in expected.items() if key not in frame},
        "trace",
    )
    ours: list[Json] = sealed["operations"]
    theirs: list[Json] = expected["operations"]
    room_bytes, moved = _slack(expected), 0
    for index in range(max(len(ours), len(theirs))):
        own = ours[index] if index < len(ours) else None
        recorded = theirs[index] if index < len(theirs) else None
        found = _compare(own, recorded, f"operations[{index}]")
        if found and room_bytes > 0:
            room_bytes -= max(json_bytes(own), json_bytes(recorded))
            moved += 1
        else:
            differences += found
    for key, count in expected["counts"].items():
        # What was shed may move by as many parts as the sentences make room for, and nothing else.
        allowed = max(1, moved) if key in SHED_COUNTS else 0
        if abs(sealed["counts"][key] - count) > allowed:
            differences.append(f"counts.{key}: {sealed['counts'][key]}, expected {count}")
    return differences


def _compare(own: Json, recorded: Json, where: str) -> list[str]:
    if where.endswith(".error") and recorded is True:
        return [] if isinstance(own, str) and own else [f"{where}: {own!r}, expected a sentence"]
    if is_object(own) and is_object(recorded):
        missing = [f"{where}.{key}: missing" for key in recorded if key not in own]
        extra = [f"{where}.{key}: not expected" for key in own if key not in recorded]
        inner = [
            line
            for key in own
            if key in recorded
            for line in _compare(own[key], recorded[key], f"{where}.{key}")
        ]
        return missing + extra + inner
    if is_array(own) and is_array(recorded):
        if len(own) != len(recorded):
            return [f"{where}: {len(own)} items, expected {len(recorded)}"]
        return [
            line
            for index, (left, right) in enumerate(zip(own, recorded, strict=True))
            for line in _compare(left, right, f"{where}[{index}]")
        ]
    return [] if _same_scalar(own, recorded) else [f"{where}: {own!r}, expected {recorded!r}"[:300]]


def _same_scalar(own: Json, recorded: Json) -> bool:
    if not isinstance(own, str) or not isinstance(recorded, str):
        return own == recorded and isinstance(own, bool) == isinstance(recorded, bool)
    if own == recorded:
        return True
    if RECORDED_MARK.fullmatch(recorded):
        return own in OWN_MARKS
    cut = RECORDED_CUT.fullmatch(recorded)
    if cut is None or not own.endswith(CUT_MARK):
        return False
    # Both fill the same bound, so the kept texts differ by no more than their marks.
    left, right = own.removesuffix(CUT_MARK), cut[1].removesuffix("…")
    shared = min(len(left), len(right))
    return left[:shared] == right[:shared] and abs(len(own.encode()) - len(recorded.encode())) < len(
        CUT_MARK.encode()
    )
