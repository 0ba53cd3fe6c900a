"""The report for a terminal, in 80 columns."""

import textwrap
from collections.abc import Iterator

from pi_fabric.certify.resume.reports import words
from pi_fabric.certify.resume.reports.table import ARM_COLUMNS, aligned, arm_rows
from pi_fabric.certify.resume.results import Report

COLUMNS = 80
# What follows is in the file reports and in the JSON.
MAX_LISTED = 10


def as_text(report: Report) -> str:
    """Lines for a person."""
    return "\n".join(_lines(report))


def _lines(report: Report) -> Iterator[str]:
    yield from _wrapped(words.title(report))
    yield from _wrapped(words.state(report))
    yield from _wrapped(words.setting(report))
    yield ""
    for figures in report.figures():
        yield f"{figures.arm:<8}  {words.bar(figures.rate)}  {words.percent(figures.rate)}"
    yield ""
    yield from aligned(ARM_COLUMNS, arm_rows(report))
    yield ""
    yield from (line for row in report.versus() for line in _wrapped(words.versus(row)))
    failed = [run for run in report.runs if not run.has_passed]
    if failed:
        yield from ("", "Not passed:")
    for run in failed[:MAX_LISTED]:
        yield from _wrapped(f"  {words.name_of(run)}: {'; '.join(run.reasons)}")
    if len(failed) > MAX_LISTED:
        yield f"  and {len(failed) - MAX_LISTED} more; --json and --report have all"
    if report.not_run:
        arms = [f"{arm} {sum(slot.arm == arm for slot in report.not_run)}" for arm in report.arms]
        yield ""
        yield from _wrapped(f"Not run: {', '.join(arms)}.")
    yield ""
    yield from (line for remark in words.remarks(report) for line in _wrapped(remark))


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, COLUMNS, subsequent_indent="    ", break_on_hyphens=False)
