"""The report as one HTML file that loads nothing from elsewhere."""

from collections.abc import Iterator, Sequence
from html import escape

from pi_fabric.certify.resume.reports import words
from pi_fabric.certify.resume.reports.chart import pass_rates
from pi_fabric.certify.resume.reports.table import ARM_COLUMNS, RUN_COLUMNS, Column, arm_rows, run_rows
from pi_fabric.certify.resume.results import Report

_STYLE = """\
:root { color-scheme: light dark; --ink: #1f2328; --paper: #fff; --line: #d0d7de; --bar: #2f6feb; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --paper: #0d1117; --line: #30363d; --bar: #58a6ff; }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; }
th, td { border-bottom: 1px solid var(--line); padding: 0.3rem 0.7rem;
  text-align: left; vertical-align: top; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
svg { max-width: 100%; height: auto; }
svg text { fill: var(--ink); font: 14px system-ui, sans-serif; }
.track { fill: var(--line); opacity: 0.5; } .bar { fill: var(--bar); }
.range { stroke: var(--ink); stroke-width: 2; }
"""


def as_html(report: Report) -> str:
    """A whole document."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    title = escape(words.title(report))
    yield from ("<!doctype html>", '<html lang="en">', "<head>", '<meta charset="utf-8">')
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield from (f"<title>{title}</title>", f"<style>\n{_STYLE}</style>", "</head>", "<body>")
    yield from (f"<h1>{title}</h1>", f"<p>{escape(words.state(report))}</p>")
    yield from (f"<p>{escape(words.setting(report))}</p>", "<h2>Pass rates</h2>", *pass_rates(report))
    yield from _table(ARM_COLUMNS, arm_rows(report))
    yield from ("<h2>Pairs</h2>", *_list([words.versus(row) for row in report.versus()]))
    yield from ("<h2>Runs</h2>", *_table(RUN_COLUMNS, run_rows(report)))
    if report.not_run:
        missing = [f"{slot.fixture}, repeat {slot.repeat}, {slot.arm}" for slot in report.not_run]
        yield from ("<h2>Not run</h2>", *_list(missing))
    yield from ("<h2>Fixtures</h2>", *_list([f"{name}: {text}" for name, text in report.fixtures.items()]))
    yield from ("<h2>How to read it</h2>", *_list(list(words.remarks(report))), "</body>", "</html>")


def _list(items: Sequence[str]) -> Iterator[str]:
    yield "<ul>"
    yield from (f"<li>{escape(item)}</li>" for item in items)
    yield "</ul>"


def _table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield '<div class="wide"><table>'
    yield f"<tr>{''.join(_cell('th', column, column.head) for column in columns)}</tr>"
    for row in rows:
        cells = (_cell("td", column, cell) for column, cell in zip(columns, row, strict=True))
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</table></div>"


def _cell(tag: str, column: Column, text: str) -> str:
    scope = ' scope="col"' if tag == "th" else ""
    kind = ' class="number"' if column.is_number else ""
    return f"<{tag}{scope}{kind}>{escape(text)}</{tag}>"
