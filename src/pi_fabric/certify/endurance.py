"""Compaction endurance: many compactions of one session, each from the source and never from a summary.

Pi's own functions decide whether it is time and what it would summarize, the extension's registered
handler answers, Pi's session stores, and Pi builds the context from it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pi_fabric.base.bounds import utf8_bytes
from pi_fabric.base.jsonvalue import JsonObject, stringify
from pi_fabric.certify.checks import Phase, slope
from pi_fabric.certify.closure import KEEPS_NOTHING, context_after, first_kept_is_known, split_pairs
from pi_fabric.certify.messages import Clock, assistant, call, result, user
from pi_fabric.certify.pi_driver import PiDriver

CYCLES: Final = 100
MAX_SUMMARY_BYTES: Final = 32 * 1024
# Of the last twenty summaries: a session that goes on must not make them grow.
TAIL_CYCLES: Final = 20
MAX_TAIL_RANGE_BYTES: Final = 512
MAX_TAIL_SLOPE_BYTES: Final = 16.0

GOAL: Final = "Goal: move the ledger to double entry without stopping the nightly export."
CONSTRAINT: Final = "Constraint: keep every public function name of ledger.py as it is."
RARE_FACT: Final = "Pinned fact: the vault code is zwölf-鯨-Ω7-🜁 and is written nowhere else."
MAIN_FILE: Final = "src/ledger/double_entry.py"
FAILING_COMMAND: Final = "make audit-trail"
POISON: Final = "PRIOR_SUMMARY_POISON_991_"

CHECKS: Final = (
    "Pi finds the context worth compacting",
    "Pi prepares the compaction",
    "the registered handler answers with a compaction",
    "Pi's preparation shows the stored summary before",
    "the handler never reads the summary before",
    "nothing of a summary before comes back",
    "goal, constraint and pinned fact are kept",
    "source, file and error addresses are kept",
    "no call is separated from its result",
    "what is kept begins on the branch",
    "summary and details are stored as given",
    "both of Pi's context builders agree",
    "the context is the summary, then what is kept",
    "a summary is UTF-8 within 32 KiB",
    "some cuts keep entries and some keep nothing",
)
# A few compactions are all of a growing session: of the certification proper alone.
TAIL_CHECK: Final = "the last summaries do not grow"


@dataclass(slots=True)
class Endurance:
    """What the phase leaves for others: where the session is, and what its summaries said."""

    file: Path
    session_id: str
    source_ids: list[str] = field(default_factory=list[str])
    """Of every message, in order."""
    rare_fact_id: str = ""
    summaries: list[str] = field(default_factory=list[str])
    details: list[JsonObject] = field(default_factory=list[JsonObject])
    boundaries: list[str] = field(default_factory=list[str])
    """Where each compaction keeps from."""


@dataclass(slots=True)
class _Addresses:
    """Entries whose addresses every summary must show."""

    source: str
    file: str
    error: str

    def missing(self, summary: str) -> list[str]:
        """What a summary does not show; the file and the failure each in a line of their own."""
        # A summary may say once what all paths have in common.
        name = MAIN_FILE.rpartition("/")[2]
        is_named = any(
            line.startswith(f"- [{self.file}] ") and line.endswith(name) for line in summary.split("\n")
        )
        lines = [f"[{self.error}] bash {FAILING_COMMAND} failed", self.source]
        return [line for line in lines if line not in summary] + ([] if is_named else [self.file])


async def endure(
    driver: PiDriver,
    phase: Phase,
    *,
    cwd: Path,
    session_dir: Path,
    cycles: int = CYCLES,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> Endurance:
    """Compact one session `cycles` times and check each; see `CHECKS`."""
    phase.require(*CHECKS, *([TAIL_CHECK] if cycles >= CYCLES else []))
    opened = await driver.open(cwd, session_dir)
    kept = Endurance(Path(opened["file"]), opened["id"])
    clock = Clock()
    addresses = await _begin(driver, clock, kept)
    last: JsonObject | None = None
    for cycle in range(cycles):
        if last is not None:
            appended = await driver.append(_turn(clock, cycle))
            kept.source_ids += [one["id"] for one in appended]
            _check_contexts(phase, cycle, last, appended)
        facts = await driver.compact(suffix=_poison(cycle))
        _check_eligible(phase, cycle, facts)
        if facts["kind"] != "compaction":
            phase.problem = f"cycle {cycle} ended as {facts['kind']}: {' '.join(facts.get('notices', []))}"
            break
        _check_poison(phase, cycle, facts, last)
        _check_content(phase, cycle, facts, addresses)
        _check_storage(phase, cycle, facts)
        kept.summaries.append(facts["summary"])
        kept.details.append(facts["details"])
        kept.boundaries.append(facts["firstKeptEntryId"])
        last = facts
        progress(cycle + 1, cycles)
    _check_boundaries(phase, kept.boundaries)
    _check_tail(phase, [utf8_bytes(summary) for summary in kept.summaries])
    return kept


async def _begin(driver: PiDriver, clock: Clock, kept: Endurance) -> _Addresses:
    """The first turn, which every later summary must still know."""
    edit = call("begin-edit", "edit", path=MAIN_FILE, edits=[{"oldText": "single", "newText": "double"}])
    audit = call("begin-audit", "bash", command=FAILING_COMMAND)
    appended = await driver.append(
        [
            user(clock, "\n".join((GOAL, CONSTRAINT, RARE_FACT))),
            assistant(clock, "I begin with the ledger.", edit),
            result(clock, "begin-edit", "edit", "replaced 1 block"),
            assistant(clock, "", audit),
            result(
                clock, "begin-audit", "bash", "audit trail: 3 postings without a counterpart", is_error=True
            ),
            assistant(clock, "The audit still fails; I come back to it."),
        ]
    )
    ids = [one["id"] for one in appended]
    kept.source_ids += ids
    kept.rare_fact_id = ids[0]
    return _Addresses(source=ids[0], file=ids[1], error=ids[4])


def _turn(clock: Clock, cycle: int) -> list[JsonObject]:
    """More work: parallel calls, one failure that the next call resolves, and an answer.

    Every other time a short turn follows, so that some cuts keep that one and others keep nothing.
    """
    name = f"src/ledger/part_{cycle % 12}.py"
    read, grep = f"read-{cycle}", f"grep-{cycle}"
    failed, passed = f"fail-{cycle}", f"pass-{cycle}"
    command = f"pytest -q tests/test_part_{cycle % 12}.py"
    return [
        user(clock, f"Next, part {cycle}: post the accruals of month {cycle % 12 + 1} — größe 内存 {cycle}."),
        assistant(
            clock, "", call(read, "read", path=name), call(grep, "grep", pattern="accrual", path="src")
        ),
        # Results in the other order than their calls.
        result(clock, grep, "grep", f"{name}:4: accrual"),
        result(clock, read, "read", "def accrual(month): ..."),
        assistant(clock, "", call(failed, "bash", command=command)),
        result(clock, failed, "bash", "1 failed", is_error=True),
        assistant(clock, "", call(passed, "bash", command=command)),
        result(clock, passed, "bash", "1 passed"),
        assistant(clock, f"Part {cycle} is posted."),
        *([user(clock, f"Is part {cycle} in the log?"), assistant(clock, "It is.")] if cycle % 2 else []),
    ]


def _poison(cycle: int) -> str:
    return f"\n{POISON}{cycle:03}"


def _check_eligible(phase: Phase, cycle: int, facts: JsonObject) -> None:
    phase.see(CHECKS[0], facts["isEligible"], f"cycle {cycle}: {facts['tokens']} tokens are not enough")
    phase.see(CHECKS[1], facts["isPrepared"], f"cycle {cycle}: Pi has nothing to summarize")
    if facts["isEligible"] and facts["isPrepared"]:
        phase.see(CHECKS[2], facts["kind"] == "compaction", f"cycle {cycle}: {facts['kind']}")


def _check_poison(phase: Phase, cycle: int, facts: JsonObject, last: JsonObject | None) -> None:
    if last is not None:
        expected = last["summary"] + _poison(cycle - 1)
        phase.see(CHECKS[3], facts["previousSummary"] == expected, f"cycle {cycle}: Pi shows another one")
    phase.see(CHECKS[4], "previousSummary" not in facts["reads"], f"cycle {cycle}: it was read")
    told = (facts["summary"], stringify(facts["details"]))
    phase.see(
        CHECKS[5],
        not any(POISON in text for text in told),
        f"cycle {cycle}: the poison is in the summary or its details",
    )


def _check_content(phase: Phase, cycle: int, facts: JsonObject, addresses: _Addresses) -> None:
    summary: str = facts["summary"]
    missing = [fact for fact in (GOAL, CONSTRAINT, RARE_FACT) if fact not in summary]
    phase.see(CHECKS[6], not missing, f"cycle {cycle}: without {missing}")
    covered, lost = facts["details"]["coverage"]["cumulativeSourceRange"], addresses.missing(summary)
    is_whole = covered == {"first": addresses.source, "last": _last_source(facts)} and not lost
    phase.see(CHECKS[7], is_whole, f"cycle {cycle}: covers {covered}, without {lost}")
    split = split_pairs(facts["firstKeptEntryId"], facts["branch"])
    phase.see(CHECKS[8], not split, f"cycle {cycle}: {split}")
    is_known = first_kept_is_known(facts["firstKeptEntryId"], facts["branch"])
    phase.see(CHECKS[9], is_known, f"cycle {cycle}: {facts['firstKeptEntryId']}")


def _check_storage(phase: Phase, cycle: int, facts: JsonObject) -> None:
    stored = facts["stored"]
    expected = {
        "summary": facts["summary"] + _poison(cycle),
        "details": facts["details"],
        "firstKeptEntryId": facts["firstKeptEntryId"],
    }
    phase.see(CHECKS[10], stored == expected, f"cycle {cycle}: it comes back otherwise")
    agree = facts["contextIds"] == facts["publicContextIds"]
    phase.see(CHECKS[11], agree, f"cycle {cycle}: {facts['contextIds']} and {facts['publicContextIds']}")
    expected_ids = context_after(facts)
    phase.see(CHECKS[12], facts["contextIds"] == expected_ids, f"cycle {cycle}: {facts['contextIds']}")
    size = utf8_bytes(facts["summary"])
    holds = facts["isText"] and size <= MAX_SUMMARY_BYTES
    phase.see(CHECKS[13], holds, f"cycle {cycle}: {size} bytes, text: {facts['isText']}")


def _last_source(facts: JsonObject) -> str:
    """The entry before the first one that is kept; of all entries the last when nothing is."""
    ids = [entry["id"] for entry in facts["branch"] if entry["type"] != "compaction"]
    kept_id = facts["firstKeptEntryId"]
    return ids[ids.index(kept_id) - 1] if kept_id in ids else ids[-1]


def _check_contexts(phase: Phase, cycle: int, last: JsonObject, appended: Sequence[JsonObject]) -> None:
    """After every append the context is what it was, and the new entries."""
    expected = context_after(last)
    for one in appended:
        expected = [*expected, one["id"]]
        holds = one["contextIds"] == expected
        phase.see(CHECKS[12], holds, f"cycle {cycle}, after {one['id']}: {one['contextIds']}")


def _check_boundaries(phase: Phase, boundaries: Sequence[str]) -> None:
    """Without entries that are kept, the checks of what is kept would look at nothing."""
    empty = boundaries.count(KEEPS_NOTHING)
    phase.see(CHECKS[14], 0 < empty < len(boundaries), f"{empty} of {len(boundaries)} keep nothing")
    phase.figures["cutsThatKeepEntries"] = len(boundaries) - empty


def _check_tail(phase: Phase, sizes: Sequence[int]) -> None:
    tail = sizes[-TAIL_CYCLES:]
    spread = max(tail, default=0) - min(tail, default=0)
    growth = slope(tail)
    if TAIL_CHECK in phase.checks:
        holds = bool(tail) and spread <= MAX_TAIL_RANGE_BYTES and abs(growth) <= MAX_TAIL_SLOPE_BYTES
        phase.see(TAIL_CHECK, holds, f"range {spread} bytes, slope {growth:.2f} bytes a cycle")
    phase.figures |= {
        "compactions": len(sizes),
        "summaryBytesFirst": sizes[0] if sizes else 0,
        "summaryBytesLast": sizes[-1] if sizes else 0,
        "summaryBytesMax": max(sizes, default=0),
        "tailRangeBytes": spread,
        "tailSlopeBytesPerCycle": round(growth, 3),
    }
