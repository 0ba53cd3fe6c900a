"""The tables of a report, as rows of text."""

from collections.abc import Sequence
from typing import NamedTuple

from pi_fabric.certify.resume.reports import words
from pi_fabric.certify.resume.results import ArmFigures, Report, Run


class Column(NamedTuple):
    """One column of a table."""

    head: str
    is_number: bool = True


ARM_COLUMNS = (
    Column("arm", is_number=False),
    Column("passed"),
    Column("95 %"),
    Column("tokens"),
    Column("USD"),
    Column("tools"),
    Column("recall"),
    Column("time"),
    Column("summary"),
)
RUN_COLUMNS = (
    Column("fixture", is_number=False),
    Column("repeat"),
    Column("arm", is_number=False),
    Column("verdict", is_number=False),
    Column("tokens"),
    Column("USD"),
    Column("tools"),
    Column("recall"),
    Column("time"),
    Column("summary"),
    Column("reasons", is_number=False),
)


def arm_rows(report: Report) -> list[list[str]]:
    """One row for each arm."""
    return [_arm(figures) for figures in report.figures()]


def run_rows(report: Report) -> list[list[str]]:
    """One row for each run, in order."""
    return [_run(run) for run in report.runs]


def aligned(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines in which columns stand below each other, the head first."""
    table = [[column.head for column in columns], *rows]
    widths = [max(len(row[number]) for row in table) for number in range(len(columns))]
    return [
        "  ".join(
            cell.rjust(width) if column.is_number else cell.ljust(width)
            for cell, width, column in zip(row, widths, columns, strict=True)
        ).rstrip()
        for row in table
    ]


def _arm(figures: ArmFigures) -> list[str]:
    return [
        figures.arm,
        f"{figures.passes}/{figures.runs}",
        words.interval(figures.interval),
        words.whole(figures.tokens),
        words.usd(figures.usd),
        words.whole(figures.tool_calls),
        words.whole(figures.recall_calls),
        words.seconds(figures.wall_ms),
        words.whole(figures.summary_bytes),
    ]


def _run(run: Run) -> list[str]:
    return [
        run.slot.fixture,
        str(run.slot.repeat),
        run.slot.arm,
        words.verdict(run),
        words.whole(run.total_tokens),
        words.usd(run.usd),
        words.whole(run.tool_calls),
        words.whole(run.recall_calls),
        words.seconds(run.wall_ms),
        words.whole(run.summary_bytes),
        "; ".join(run.reasons),
    ]
