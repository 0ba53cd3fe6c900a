"""Kinds of the summary: `projections`, `compaction`, `branch_summary` and `details_version`.

Where our lines name an entry that the recording's do not (the status, the transcript beside its numbers, the
entry that resolved a failure), that is more and not compared: what is compared is the address that a line
begins with.
"""

import math
import re
from collections.abc import Sequence

from kinds.compare import differences
from pi_fabric.base.bounds import utf8_bytes
from pi_fabric.base.jsonvalue import Json, JsonObject, utf16_length
from pi_fabric.compaction.branch_summary import BranchEvent, BranchSummary, compile_branch_summary
from pi_fabric.compaction.compile import CompactionEvent
from pi_fabric.compaction.details import recorded_version
from pi_fabric.compaction.hook import Decision, decide_compaction
from pi_fabric.compaction.projections import PROJECTIONS, Source
from pi_fabric.compaction.render import (
    HEADERS,
    MAX_BLOCK_BYTES,
    MAX_FOOTER_BYTES,
    MAX_LINE_BYTES,
    MAX_REQUEST_BYTES,
    MAX_SUMMARY_BYTES,
    REQUEST_HEADER,
    RULE,
)
from pi_fabric.history.events.normalize import normalize

ADDRESS = re.compile(r"(#\d+) \[|- \[([^\]]+)\] ")
LIMITS = {HEADERS[name]: limit for name, limit in MAX_BLOCK_BYTES.items()} | {
    REQUEST_HEADER: MAX_REQUEST_BYTES
}
# A summary may be this much longer or shorter than the recorded one, so this close to the target one of
# them may be over it and the other not.
FLIP_UNITS = 1_024
UNITS_PER_TOKEN = 4
PROJECTED = "projectedTokensAfter"


def check_projections(case: JsonObject) -> list[str]:
    """Compare number and order of lines, their addresses, and what the caps left out."""
    source = Source.of(normalize(case["input"]["entries"]))
    sections = [project(source) for project in PROJECTIONS]
    lines = {section.name: [_addresses(line.text) for line in section.lines] for section in sections}
    omitted = {section.name: section.omitted for section in sections}
    return differences(case["output"]["sections"], lines, "sections") + [
        f"{name}: {omitted[name]} left out, expected {count}"
        for name, count in case["output"]["omittedCounts"].items()
        if omitted[name] != count
    ]


def check_details_version(case: JsonObject) -> list[str]:
    """Compare which version of our record the details are."""
    return differences(case["output"]["version"], recorded_version(case["input"]["details"]), "version")


def check_compaction(case: JsonObject) -> list[str]:
    """Compare what the handler does before a compaction, and what it would have stored."""
    given, expected = case["input"], case["output"]
    decision = decide_compaction(
        CompactionEvent(
            entries=given["entries"],
            tokens_before=given["preparation"]["tokensBefore"],
            settings=given["preparation"].get("settings"),
            context_window=given["contextWindow"],
            target_ratio=given["targetContextRatio"],
            custom_instructions=given["customInstructions"],
        ),
        engine=given.get("engine") or "fabric",
        has_pi_vcc_result=given.get("piVccOverriding") is True,
    )
    if decision.kind != expected["kind"]:
        return _flip(decision, expected)
    found: JsonObject = {"kind": decision.kind}
    if decision.kind == "cancel" and decision.declined is not None:
        shows = decision.notice is not None and given.get("hasUI", True)
        found |= {"cause": decision.declined.cause, "notified": int(shows)}
    recorded = {key: value for key, value in expected.items() if key not in {"details", "summary_facts"}}
    compiled = decision.compiled
    if compiled is None:
        return differences(recorded, found)
    found |= {
        "claimed": decision.is_claimed,
        "firstKeptEntryId": compiled.first_kept_entry_id,
        "tokensBefore": compiled.tokens_before,
    }
    return [
        *differences(recorded, found),
        *_differing_details(expected["details"], compiled.details, compiled.summary),
        *_differing_summary(expected["summary_facts"], compiled.summary),
    ]


def check_branch_summary(case: JsonObject) -> list[str]:
    """Compare what the handler does before a branch is left, and the facts it would have stored."""
    given, expected = case["input"], case["output"]
    outcome = compile_branch_summary(
        BranchEvent(
            entries=given["entries"],
            old_leaf_id=given["oldLeafId"],
            custom_instructions=given["customInstructions"],
            replaces_instructions=given["replaceInstructions"] is True,
            wants_summary=given["userWantsSummary"],
        )
    )
    if outcome is None:
        return differences(expected, {"kind": "undefined"})
    if not isinstance(outcome, BranchSummary):
        return differences(expected, {"kind": "cancel", "notified": int(outcome.notice is not None)})
    recorded = {key: value for key, value in expected.items() if key != "summary_facts"}
    found = {"kind": "summary", "details": outcome.details}
    return differences(recorded, found) + _differing_summary(expected["summary_facts"], outcome.summary)


def _addresses(line: str) -> list[str]:
    found = ADDRESS.match(line)
    return [] if found is None else [found[1] or found[2]]


def _differing_details(recorded: JsonObject, own: JsonObject, summary: str) -> list[str]:
    if "budget" not in recorded or "budget" not in own:
        return differences(recorded, own, "details")
    # How long the summary is, is ours; what follows from it must be right.
    budget = {**recorded["budget"], PROJECTED: _projected(recorded["budget"], utf16_length(summary))}
    return differences({**recorded, "budget": budget}, own, "details")


def _projected(budget: JsonObject, units: int) -> int:
    raw = budget["retainedRawTokens"] + math.ceil(units / UNITS_PER_TOKEN)
    return math.ceil(budget["fixedOverheadTokens"] + raw * budget["tokenScale"])


def _flip(decision: Decision, expected: JsonObject) -> list[str]:
    """A summary may be over the target when the recorded one is not, and the other way round."""
    kinds = f"kind: {decision.kind}, expected {expected['kind']}"
    if decision.declined is not None and decision.declined.cause == "over-target":
        budget: Json = expected.get("details", {}).get("budget")
        room = budget and budget["targetContextTokens"] - budget[PROJECTED]
    elif decision.compiled is not None and expected.get("cause") == "over-target":
        budget = decision.compiled.details.get("budget")
        room = budget and budget["targetContextTokens"] - budget[PROJECTED]
    else:
        return [kinds]
    is_close = budget and room <= budget["tokenScale"] * FLIP_UNITS / UNITS_PER_TOKEN
    return [] if is_close else [kinds]


def _differing_summary(facts: JsonObject, summary: str) -> list[str]:
    blocks = [block.split("\n") for block in summary.split("\n\n")]
    recorded: list[Json] = facts["blocks"]
    found = _broken_bounds(blocks, summary)
    headers = [block["header"] for block in recorded]
    if [lines[0] for lines in blocks] != headers:
        return [*found, f"blocks: {[lines[0] for lines in blocks]}, expected {headers}"]
    # The last block is the footer: its words are ours.
    for lines, block in zip(blocks[:-1], recorded[:-1], strict=True):
        if block["bytes"] < LIMITS[block["header"]] / 2:
            found += _differing_block(lines, block)
    return found


def _differing_block(lines: Sequence[str], block: JsonObject) -> list[str]:
    where = block["header"]
    found: list[str] = []
    if len(lines) - 1 != block["lines"]:
        found.append(f"{where}: {len(lines) - 1} lines, expected {block['lines']}")
    refs = [address for line in lines[1:] for address in _addresses(line)]
    return found + differences(block["refs"], refs, f"{where} refs")


def _broken_bounds(blocks: Sequence[Sequence[str]], summary: str) -> list[str]:
    found: list[str] = []
    if utf8_bytes(summary) > MAX_SUMMARY_BYTES:
        found.append(f"the summary has {utf8_bytes(summary)} bytes")
    for position, lines in enumerate(blocks):
        is_footer = position == len(blocks) - 1
        limit = MAX_FOOTER_BYTES if is_footer else LIMITS.get(lines[0], 0)
        size = utf8_bytes("\n".join(lines))
        if size > limit or (is_footer and lines[0] != RULE):
            found.append(f"{lines[0]}: {size} bytes, allowed {limit}")
        found += [
            f"{lines[0]}: a line of {utf8_bytes(line)} bytes"
            for line in lines
            if utf8_bytes(line) > MAX_LINE_BYTES
        ]
    return found
