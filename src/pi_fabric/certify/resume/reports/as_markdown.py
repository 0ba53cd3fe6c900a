"""The report as Markdown, its chart drawn in text."""

from collections.abc import Iterator, Sequence

from pi_fabric.certify.resume.reports import words
from pi_fabric.certify.resume.reports.table import ARM_COLUMNS, RUN_COLUMNS, Column, arm_rows, run_rows
from pi_fabric.certify.resume.results import Report

# What Markdown and the HTML within it would take for more than text.
_SPECIAL = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_{}[]<>#|~"})


def as_markdown(report: Report) -> str:
    """A whole document."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield from (f"# {_text(words.title(report))}", "", _text(words.state(report)), "")
    yield from (_text(words.setting(report)), "", "## Pass rates", "", "```text")
    for figures in report.figures():
        bounds = words.interval(figures.interval)
        yield f"{figures.arm:<8}  {words.bar(figures.rate)}  {words.percent(figures.rate)} ({bounds})"
    yield from ("```", "", *_table(ARM_COLUMNS, arm_rows(report)), "", "## Pairs", "")
    yield from (f"- {_text(words.versus(row))}" for row in report.versus())
    yield from ("", "## Runs", "", *_table(RUN_COLUMNS, run_rows(report)))
    if report.not_run:
        yield from ("", "## Not run", "")
        yield from (f"- {slot.fixture}, repeat {slot.repeat}, {slot.arm}" for slot in report.not_run)
    yield from ("", "## Fixtures", "")
    yield from (f"- {name}: {_text(title)}" for name, title in report.fixtures.items())
    yield from ("", "## How to read it", "")
    yield from (f"- {_text(remark)}" for remark in words.remarks(report))


def _table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(column.head for column in columns) + " |"
    yield "| " + " | ".join("---:" if column.is_number else "---" for column in columns) + " |"
    for row in rows:
        yield "| " + " | ".join(map(_text, row)) + " |"


def _text(text: str) -> str:
    return text.translate(_SPECIAL)
