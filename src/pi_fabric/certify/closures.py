"""Six shapes of sessions in which a careless cut would separate a call from its result."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.certify.checks import Phase
from pi_fabric.certify.closure import KEEPS_NOTHING, context_after, first_kept_is_known, split_pairs
from pi_fabric.certify.messages import Clock, assistant, call, result, user
from pi_fabric.certify.pi_driver import PiDriver

_CLOSED: Final = "{}: no call is separated from its result"
_KNOWN: Final = "{}: what is kept begins on the branch"
_CONTEXT: Final = "{}: the context is the summary, then what is kept"
_SHAPED: Final = "{}: the case is what its name says"
_ELIGIBLE: Final = "{}: Pi prepares it and the handler compacts"


@dataclass(frozen=True, slots=True)
class Fixture:
    """One shape: how its session comes about, and what shows that it is the one it is named for."""

    name: str
    build: Callable[[PiDriver, Clock], Awaitable[None]]
    is_shaped: Callable[[JsonObject], bool]


async def _normal(driver: PiDriver, clock: Clock) -> None:
    await driver.append([*_turn(clock, "one"), *_turn(clock, "two"), *_turn(clock, "three")])


async def _compact_all(driver: PiDriver, clock: Clock) -> None:
    # One turn only: there is nothing before it, so that all of it is summarized.
    await driver.append(_turn(clock, "only"))


async def _split_turn(driver: PiDriver, clock: Clock) -> None:
    calls = [(f"split-{number}", f"step {number}") for number in range(6)]
    steps = [
        message
        for call_id, text in calls
        for message in (
            assistant(clock, text, call(call_id, "read", path=f"src/{call_id}.py")),
            result(clock, call_id, "read", f"content of {call_id} " * 20),
        )
    ]
    await driver.append([*_turn(clock, "before"), user(clock, "Look at all six."), *steps])
    await driver.append([assistant(clock, "All six are read.")])


async def _parallel(driver: PiDriver, clock: Clock) -> None:
    names = ("fast", "slow", "slower")
    await driver.append(_turn(clock, "before"))
    await driver.append(
        [
            user(clock, "Run all three at once."),
            assistant(clock, "", *(call(f"par-{name}", "bash", command=f"make {name}") for name in names)),
            result(clock, "par-fast", "bash", "fast is done"),
            user(clock, "While they run: keep the log."),
            result(clock, "par-slow", "bash", "slow is done"),
            result(clock, "par-slower", "bash", "slower is done"),
            assistant(clock, "All three are done."),
        ]
    )


async def _reverse(driver: PiDriver, clock: Clock) -> None:
    await driver.append(_turn(clock, "before"))
    await driver.append(
        [
            user(clock, "Read the result before its call."),
            result(clock, "late", "read", "a result that was written first"),
            assistant(clock, "", call("late", "read", path="src/late.py")),
            assistant(clock, "Both are there now."),
        ]
    )


async def _malformed_boundary(driver: PiDriver, clock: Clock) -> None:
    await driver.append(_turn(clock, "before"))
    await driver.store_compaction("a summary of somebody else", "no-such-entry")
    await driver.append([*_turn(clock, "after"), *_turn(clock, "later")])


def _keeps_nothing(facts: JsonObject) -> bool:
    return facts["firstKeptEntryId"] == KEEPS_NOTHING


def _has_delayed_results(branch: Sequence[JsonObject]) -> bool:
    """True when several calls were made at once, and something else was said before the last result."""
    for at, entry in enumerate(branch):
        places = [
            at + 1 + n for n, later in enumerate(branch[at + 1 :]) if later["answers"] in entry["calls"]
        ]
        if len(entry["calls"]) > 1 and len(places) == len(entry["calls"]) < places[-1] - at:
            return True
    return False


def _has_reversed_pair(branch: Sequence[JsonObject]) -> bool:
    answered: set[str] = set()
    for entry in branch:
        if answered.intersection(entry["calls"]):
            return True
        if entry["answers"]:
            answered.add(entry["answers"])
    return False


def _has_malformed_boundary(branch: Sequence[JsonObject]) -> bool:
    boundaries = [entry["keepsFrom"] for entry in branch if entry["type"] == "compaction"]
    return any(not first_kept_is_known(kept_id, branch) for kept_id in boundaries)


FIXTURES: Final = (
    Fixture("normal", _normal, lambda facts: not _keeps_nothing(facts)),
    Fixture("compact-all", _compact_all, _keeps_nothing),
    Fixture("split turn", _split_turn, lambda facts: facts["isSplitTurn"] is True),
    Fixture("parallel and delayed results", _parallel, lambda facts: _has_delayed_results(facts["branch"])),
    Fixture("result before its call", _reverse, lambda facts: _has_reversed_pair(facts["branch"])),
    Fixture(
        "malformed boundary before",
        _malformed_boundary,
        lambda facts: _has_malformed_boundary(facts["branch"]),
    ),
)


async def close_pairs(driver: PiDriver, phase: Phase, *, cwd: Path, session_dir: Path) -> None:
    """Compact each fixture once and check the cut."""
    for fixture in FIXTURES:
        names = [text.format(fixture.name) for text in (_ELIGIBLE, _SHAPED, _CLOSED, _KNOWN, _CONTEXT)]
        phase.require(*names)
        eligible, shaped, closed, known, context = names
        await driver.open(cwd, session_dir)
        await fixture.build(driver, Clock())
        facts = await driver.compact()
        is_compacted = facts["isEligible"] and facts["isPrepared"] and facts["kind"] == "compaction"
        if not phase.see(eligible, is_compacted, f"it ended as {facts['kind']}"):
            continue
        phase.see(shaped, fixture.is_shaped(facts))
        split = split_pairs(facts["firstKeptEntryId"], facts["branch"])
        phase.see(closed, not split, f"separated: {', '.join(split)}")
        is_known = first_kept_is_known(facts["firstKeptEntryId"], facts["branch"])
        phase.see(known, is_known, facts["firstKeptEntryId"])
        built = (facts["contextIds"], facts["publicContextIds"])
        phase.see(context, built == (context_after(facts),) * 2, f"it is {facts['contextIds']}")
    phase.figures["fixtures"] = len(FIXTURES)


def _turn(clock: Clock, name: str) -> list[JsonObject]:
    return [
        user(clock, f"Please do part {name}, and say when it is done."),
        assistant(clock, "", call(f"turn-{name}", "bash", command=f"make {name}")),
        result(clock, f"turn-{name}", "bash", f"{name} is made"),
        assistant(clock, f"Part {name} is done."),
    ]
