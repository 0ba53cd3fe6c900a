"""A compaction as text, as JSON and as an exit code."""

import difflib
from collections.abc import Iterator
from typing import Final

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.base.printable import printable
from pi_fabric.cli.compaction_run import Run
from pi_fabric.cli.output import TABLE_COLUMNS, ExitCode
from pi_fabric.cli.quoted import one_line
from pi_fabric.compaction.explain import Explanation
from pi_fabric.compaction.outcome import Compiled, Declined
from pi_fabric.compaction.qa import Report

# A screenful; what is more is in the JSON.
MAX_LOSSES: Final = 20
_DECLINED: Final = {
    "over-target": "more than the target would stay in use; see --explain",
    "empty-live-window": "nothing has been said since the last compaction",
    "no-source-events": "the entries before the cut tell nothing",
}


def as_object(run: Run, explanation: Explanation | None = None, report: Report | None = None) -> JsonObject:
    """One compaction for machines; keys that were not asked for are absent."""
    header, outcome = run.session.header, run.outcome
    shown: JsonObject = {
        "session": str(run.session.path),
        "sessionId": header.id if header else None,
        "format": header.version if header else None,
        "leaf": run.leaf_id,
        "faults": dict(run.session.faults.counts),
        "tokensBefore": run.event.tokens_before,
        "tokensBeforeFrom": run.size_origin,
    }
    if isinstance(outcome, Compiled):
        shown |= {
            "summary": outcome.summary,
            "firstKeptEntryId": outcome.first_kept_entry_id,
            "details": outcome.details,
        }
    else:
        shown["declined"] = {"cause": outcome.cause, "message": reason_of(outcome)}
    if explanation is not None:
        shown["explain"] = _explanation_object(explanation)
    if report is not None:
        losses = [
            {"section": loss.section, "address": loss.address, "what": loss.what} for loss in report.losses
        ]
        shown["qa"] = {"checked": report.checked, "losses": losses}
    return shown


def _explanation_object(explanation: Explanation) -> JsonObject:
    return {
        "candidates": [
            {
                "entryId": one.entry_id,
                "role": one.role,
                "position": one.position,
                "keptTokens": one.kept_tokens,
                "blocks": list(one.blocks),
                "splitCallId": one.split_call_id,
            }
            for one in explanation.cut.candidates
        ],
        "blocks": {
            block.name: {
                "bytes": block.size_bytes,
                "limitBytes": block.limit_bytes,
                "told": block.told,
                "overCap": block.capped,
                "cutToSize": block.cut,
            }
            for block in explanation.blocks
        },
    }


def remarks(run: Run) -> Iterator[str]:
    """What was assumed because the command line does not say it."""
    origins = {"usage": "the last usage that the provider reported", "estimate": "an estimate"}
    if run.size_origin in origins:
        yield f"{run.event.tokens_before:,.0f} tokens before, from {origins[run.size_origin]}"
    if run.event.context_window is None:
        yield "no --window, so only the last turn is kept"


def as_text(summary: str, *, is_terminal: bool) -> str:
    """The summary: to the byte for a pipe, and for a terminal without anything that steers it."""
    return "\n".join(map(printable, summary.split("\n"))) if is_terminal else summary


def reason_of(declined: Declined) -> str:
    """Why there is no compaction."""
    return f"no compaction: {declined.notice or _DECLINED[declined.cause]}"


def report_lines(report: Report) -> Iterator[str]:
    """What `--qa` shows, within 80 columns."""
    if report.is_complete:
        yield f"{report.checked} checked, nothing is lost"
        return
    yield f"{report.checked} checked, {len(report.losses)} lost:"
    for loss in report.losses[:MAX_LOSSES]:
        place = f" [{one_line(loss.address, 30)}]" if loss.address else ""
        yield one_line(f"  {loss.section}{place}: {loss.what}", TABLE_COLUMNS)
    if len(report.losses) > MAX_LOSSES:
        yield f"  and {len(report.losses) - MAX_LOSSES} more; --json lists them all"


def exit_code(run: Run, report: Report | None = None) -> ExitCode:
    """How the command ends."""
    if isinstance(run.outcome, Declined):
        return ExitCode.USAGE if run.outcome.cause.startswith("instruction:") else ExitCode.FAILED
    return ExitCode.FAILED if report is not None and not report.is_complete else ExitCode.OK


def difference(first: Run, second: Run) -> list[str]:
    """From one summary to the other, as a unified diff; empty when they are the same.

    A branch without a compaction counts as an empty summary.
    """
    texts = [one.outcome.summary if isinstance(one.outcome, Compiled) else "" for one in (first, second)]
    before, after = (text.split("\n") for text in texts)
    return list(difflib.unified_diff(before, after, first.name, second.name, lineterm=""))
