"""The report for machines."""

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.certify.resume.rates import Interval
from pi_fabric.certify.resume.results import ArmFigures, Report, Run, Versus
from pi_fabric.certify.resume.schedule import Slot

VERSION = 1


def as_json(report: Report) -> JsonObject:
    """One object; amounts in USD, times in ms, sizes in bytes."""
    return {
        "benchmark": "real-resume",
        "version": VERSION,
        "status": "complete" if report.stopped is None else "stopped",
        "stopped": report.stopped,
        "provider": report.provider,
        "model": report.model,
        "keyEnv": report.key_env,
        "piVersion": report.pi_version,
        "fabricVersion": report.fabric_version,
        "piVccExtension": report.pi_vcc or None,
        "seed": report.seed,
        "repeats": report.repeats,
        "timeoutSeconds": report.timeout_s,
        "maxUsd": report.max_usd,
        "spentUsd": _usd(report.spent_usd),
        "isCostComplete": report.is_cost_complete,
        "fixtures": [{"name": name, "title": title} for name, title in report.fixtures.items()],
        "arms": [_arm(figures) for figures in report.figures()],
        "paired": [_versus(row) for row in report.versus()],
        "runs": [_run(run) for run in report.runs],
        "notRun": [_slot(slot) for slot in report.not_run],
        "leftBehind": report.left_behind or None,
    }


def _arm(figures: ArmFigures) -> JsonObject:
    return {
        "arm": figures.arm,
        "runs": figures.runs,
        "passes": figures.passes,
        "passRate": figures.rate,
        "wilson95": _interval(figures.interval),
        "medianTokens": figures.tokens,
        "medianUsd": None if figures.usd is None else _usd(figures.usd),
        "medianToolCalls": figures.tool_calls,
        "medianRecallCalls": figures.recall_calls,
        "medianWallMs": figures.wall_ms,
        "medianSummaryBytes": figures.summary_bytes,
    }


def _versus(row: Versus) -> JsonObject:
    pairs = row.paired
    return {
        "arm": row.arm,
        "other": row.other,
        "pairs": pairs.pairs,
        "wins": pairs.wins,
        "losses": pairs.losses,
        "ties": pairs.ties,
        "winRate": pairs.rate(pairs.wins),
        "tieRate": pairs.rate(pairs.ties),
    }


def _run(run: Run) -> JsonObject:
    return {
        **_slot(run.slot),
        "passed": run.has_passed,
        "ending": run.ending,
        "reasons": list(run.reasons),
        "tokens": {**run.tokens, "total": run.total_tokens},
        "usd": _usd(run.usd),
        "isCostComplete": run.is_cost_complete,
        "toolCalls": run.tool_calls,
        "nestedCalls": run.nested_calls,
        "recallCalls": run.recall_calls,
        "wallMs": run.wall_ms,
        "summaryBytes": run.summary_bytes,
    }


def _slot(slot: Slot) -> JsonObject:
    return {"fixture": slot.fixture, "repeat": slot.repeat, "arm": slot.arm}


def _interval(bounds: Interval | None) -> list[float] | None:
    return None if bounds is None else list(bounds)


def _usd(value: float) -> float:
    # Sums of prices err in the sixteenth digit; a millionth of a dollar is below any price.
    return round(value, 6)
