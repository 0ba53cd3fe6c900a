"""Pass rates as a small SVG: a bar for each arm, and its interval as a line over it."""

from collections.abc import Iterator
from html import escape

from pi_fabric.certify.resume.reports import words
from pi_fabric.certify.resume.results import ArmFigures, Report

_LEFT, _TRACK, _RIGHT = 90, 400, 190
_ROW, _BAR = 36, 18


def pass_rates(report: Report) -> Iterator[str]:
    """The lines of one `svg` element."""
    figures = report.figures()
    width, height = _LEFT + _TRACK + _RIGHT, _ROW * len(figures)
    told = "; ".join(f"{each.arm} {words.percent(each.rate)}" for each in figures)
    yield f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'
    yield f"<title>Pass rates with 95 % intervals: {escape(told)}</title>"
    for number, each in enumerate(figures):
        yield from _row(each, number * _ROW)
    yield "</svg>"


def _row(figures: ArmFigures, top: int) -> Iterator[str]:
    y, middle = top + (_ROW - _BAR) // 2, top + _ROW // 2
    yield f'<text x="{_LEFT - 10}" y="{middle + 5}" text-anchor="end">{escape(figures.arm)}</text>'
    yield f'<rect class="track" x="{_LEFT}" y="{y}" width="{_TRACK}" height="{_BAR}" rx="3"/>'
    if figures.rate is not None and figures.interval is not None:
        low, high = (_LEFT + _TRACK * bound for bound in figures.interval)
        bar = f'width="{_TRACK * figures.rate:.1f}" height="{_BAR}" rx="3"'
        yield f'<rect class="bar" x="{_LEFT}" y="{y}" {bar}/>'
        yield f'<line class="range" x1="{low:.1f}" x2="{high:.1f}" y1="{middle}" y2="{middle}"/>'
    runs = words.count(figures.runs, "run")
    label = f"{words.percent(figures.rate)} ({words.interval(figures.interval)}, {runs})"
    yield f'<text x="{_LEFT + _TRACK + 10}" y="{middle + 5}">{escape(label)}</text>'
