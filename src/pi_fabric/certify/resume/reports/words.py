"""Figures and sentences that every report has in common."""

from collections.abc import Iterator

from pi_fabric.certify.resume.arms import ARMS
from pi_fabric.certify.resume.rates import Interval
from pi_fabric.certify.resume.results import Report, Run, Versus

NONE = "-"
# What a bar is drawn with; both are one column wide.
_FULL, _EMPTY = "█", "░"
BAR_COLUMNS = 30


def percent(rate: float | None) -> str:
    """A rate for a person."""
    return NONE if rate is None else f"{rate * 100:.0f} %"


def interval(bounds: Interval | None) -> str:
    """An interval of a rate."""
    return NONE if bounds is None else f"{bounds[0] * 100:.0f}-{bounds[1] * 100:.0f} %"


def whole(value: float | None) -> str:
    """A count, or the median of counts."""
    return NONE if value is None else f"{value:,.1f}".removesuffix(".0")


def usd(value: float | None) -> str:
    """An amount; small ones keep what tells them from nothing."""
    return NONE if value is None else f"{value:,.{2 if value == 0 or value >= 1 else 4}f}"


def seconds(value_ms: float | None) -> str:
    """A duration."""
    return NONE if value_ms is None else f"{value_ms / 1000:,.1f} s"


def bar(rate: float | None) -> str:
    """A rate as a bar of text."""
    full = round((rate or 0) * BAR_COLUMNS)
    return _FULL * full + _EMPTY * (BAR_COLUMNS - full)


def title(report: Report) -> str:
    """What was measured."""
    return f"Real resume: {report.provider}/{report.model}"


def state(report: Report) -> str:
    """How far it came."""
    total = len(report.runs) + len(report.not_run)
    spent = f"${usd(report.spent_usd)} of ${usd(report.max_usd)} spent"
    if report.stopped is None:
        return f"Complete: {total} of {total} runs, {spent}."
    how = {"budget": "stopped: budget", "interrupted": "stopped: interrupted"}[report.stopped]
    return f"{how[0].upper()}{how[1:]}. {len(report.runs)} of {total} runs, {spent}."


def setting(report: Report) -> str:
    """What it was measured with."""
    extension = f", pi-vcc from {report.pi_vcc}" if report.pi_vcc else ""
    size = f"{count(report.repeats, 'repeat')} of {count(len(report.fixtures), 'fixture')}"
    return (
        f"Pi {report.pi_version}, pi-fabric {report.fabric_version}{extension}; key from {report.key_env};"
        f" {size}, seed {report.seed}, at most {report.timeout_s:g} s a run."
    )


def count(number: int, noun: str) -> str:
    """How many there are of something."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def versus(row: Versus) -> str:
    """One comparison in a sentence."""
    pairs = row.paired
    if not pairs.pairs:
        return f"{row.arm} against {row.other}: no pairs"
    return (
        f"{row.arm} against {row.other}: {pairs.wins} won, {pairs.losses} lost, {pairs.ties} tied"
        f" ({percent(pairs.rate(pairs.wins))} won, {percent(pairs.rate(pairs.ties))} tied)"
    )


def remarks(report: Report) -> Iterator[str]:
    """What a reader must know to read the figures rightly."""
    for arm in report.arms:
        yield f"{arm}: {ARMS[arm].meaning}."
    yield (
        "Rates hold for this model, provider, Pi, these extensions and fixtures only; with few repeats the"
        " intervals are wide. Figures of an arm are medians of its runs."
    )
    if not report.is_cost_complete:
        yield "This Pi does not record what its own summaries cost: real cost is higher than shown."
    if not report.spent_usd and any(run.total_tokens for run in report.runs):
        yield "Pi knows no price of this model, so no cost was counted and the budget stopped nothing."
    if report.stopped == "budget":
        yield "What was spent is looked at before each run, so the last one may exceed the budget."
    if report.stopped == "interrupted":
        yield "The run under way was given up; what its last request cost is not known."
    if report.left_behind:
        yield f"Not everything could be removed: {report.left_behind}"


def name_of(run: Run) -> str:
    """Which run it was."""
    return f"{run.slot.fixture} {run.slot.repeat} {run.slot.arm}"


def verdict(run: Run) -> str:
    """How it ended, in a word or two."""
    if run.has_passed:
        return "pass"
    return "fail" if run.ending == "settled" else f"fail ({run.ending})"
