"""A compaction explained in 80 columns: where it could be cut, what it costs, what its blocks left out."""

from collections.abc import Iterator
from typing import Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from pi_fabric.base.bounds import utf8_bytes
from pi_fabric.base.jsonvalue import utf16_length
from pi_fabric.cli.compaction_run import Run, SizeOrigin
from pi_fabric.cli.quoted import one_line
from pi_fabric.compaction.budget import BudgetFigures
from pi_fabric.compaction.cut import Block, BoundaryCandidate, LiveCut
from pi_fabric.compaction.explain import BlockAccount, Explanation
from pi_fabric.compaction.outcome import Compiled
from pi_fabric.compaction.render import MAX_SUMMARY_BYTES
from pi_fabric.history.session import CHARS_PER_TOKEN

# Places on either side of the cut; more are counted. The JSON has them all.
SHOWN_BESIDE: Final = 8
# Ids of Pi's have 8 characters; others are cut to what the table has room for.
ID_BYTES: Final = 14
ROLE_BYTES: Final = 13
CALL_BYTES: Final = 20
# 9,999,999: in a narrow terminal the words are folded, and no figure is cut.
MIN_TOKENS_COLUMNS: Final = 9
SIZE_ORIGINS: Final[dict[SizeOrigin, str]] = {
    "option": "as given",
    "usage": "from the newest usage that the provider reported",
    "estimate": "estimated; no provider reported a usage for this context",
}
_REASONS: Final[dict[Block, str]] = {
    "nothing-before": "nothing would go",
    "over-budget": "too much to keep",
    "before-marker": "before the last compaction",
    "splits-call": "parts a call from its result",
    "inside-turn": "inside a turn",
    "no-unique-id": "its id is missing or not unique",
}


def explained(run: Run, explanation: Explanation) -> Iterator[RenderableType]:
    """Everything that `--explain` shows, in order."""
    yield from ("Where it could be cut:", _candidates(explanation), "")
    yield from ("Tokens:", _tokens(run, explanation))
    if explanation.blocks:
        yield from ("", "What the blocks left out:", _blocks(run, explanation.blocks))


def _candidates(explanation: Explanation) -> RenderableType:
    candidates = explanation.cut.candidates
    kept_id = _kept_id(explanation)
    if not candidates:
        return "  nowhere: no entry of the live window can be the first that is kept"
    at = next((n for n, one in enumerate(candidates) if one.entry_id == kept_id), len(candidates))
    first, end = max(0, at - SHOWN_BESIDE), at + SHOWN_BESIDE + 1
    table = _table("KEPT FROM", "ROLE")
    table.add_column("TOKENS KEPT", justify="right", min_width=MIN_TOKENS_COLUMNS)
    table.add_column("WHY", overflow="fold")
    if first:
        table.add_row("…", "", "", f"{first} before")
    for number, candidate in enumerate(candidates[first:end], first):
        style = "bold" if number == at else ""
        table.add_row(*_row(candidate, is_cut=number == at, is_before=number < at), style=style)
    if len(candidates) > end:
        table.add_row("…", "", "", f"{len(candidates) - end} after")
    if at == len(candidates):
        table.add_row("(nothing)", "", "0", "the cut: no place will do, so all is summarized", style="bold")
    return table


def _row(candidate: BoundaryCandidate, *, is_cut: bool, is_before: bool) -> tuple[str | Text, ...]:
    reasons = [_REASONS[block] for block in candidate.blocks]
    if candidate.split_call_id is not None:
        reasons.append(one_line(candidate.split_call_id, CALL_BYTES))
    if not reasons:
        reasons = ["the cut" if is_cut else f"would do, but keeps {'more' if is_before else 'less'}"]
    return (
        Text(one_line(candidate.entry_id, ID_BYTES) or "(no id)"),
        Text(one_line(candidate.role, ROLE_BYTES)),
        f"{candidate.kept_tokens:,}",
        Text(", ".join(reasons)),
    )


def _tokens(run: Run, explanation: Explanation) -> Table:
    table = _table(header=False)
    table.add_column(justify="right")
    table.add_column(overflow="fold")
    table.columns[0].no_wrap = True
    table.add_row("before", f"{run.event.tokens_before:,.0f}", SIZE_ORIGINS[run.size_origin])
    cut = explanation.cut.cut
    figures = cut.figures if isinstance(cut, LiveCut) else None
    rows = _without_budget(explanation) if figures is None else _with_budget(figures, explanation)
    for name, tokens, meaning in rows:
        table.add_row(name, f"{tokens:,.0f}", meaning)
    return table


def _with_budget(figures: BudgetFigures, explanation: Explanation) -> Iterator[tuple[str, float, str]]:
    budget, calibration = figures.budget, figures.calibration
    yield "estimate", calibration.raw_tokens, f"Pi's, of the messages; times {calibration.scale:.2f} is real"
    yield "overhead", calibration.overhead_tokens, "prompt and tools, real, in every request"
    yield "window", budget.working_window, "of the model"
    yield "reserve", budget.reserve_tokens, "kept free for the answer"
    yield "target", figures.target_tokens, f"at most in use afterwards, at a ratio of {budget.target_ratio:g}"
    yield "room", figures.suffix_tokens, "for entries that are kept as they are"
    yield "kept", figures.retained_raw_tokens, "estimate of what is kept"
    if isinstance(explanation.outcome, Compiled):
        units = utf16_length(explanation.outcome.summary)
        yield "summary", units / CHARS_PER_TOKEN, "estimate of the summary"
        yield "after", figures.projected_tokens(units), "kept and summary, real, with the overhead"


def _without_budget(explanation: Explanation) -> Iterator[tuple[str, float, str]]:
    kept_id = _kept_id(explanation)
    kept = next((one.kept_tokens for one in explanation.cut.candidates if one.entry_id == kept_id), 0)
    yield "kept", kept, "estimate of the last turn; --window plans with a model's window"
    if isinstance(explanation.outcome, Compiled):
        yield "summary", utf16_length(explanation.outcome.summary) / CHARS_PER_TOKEN, "estimate"


def _blocks(run: Run, blocks: tuple[BlockAccount, ...]) -> Table:
    table = _table("BLOCK")
    for column in ("BYTES", "LIMIT", "THINGS", "OVER CAP", "CUT TO SIZE"):
        table.add_column(column, justify="right", no_wrap=True)
    for block in blocks:
        numbers = (block.size_bytes, block.limit_bytes, block.told, block.capped, block.cut)
        table.add_row(block.name, *(f"{number:,}" for number in numbers))
    if isinstance(run.outcome, Compiled):
        size = f"{utf8_bytes(run.outcome.summary):,}"
        table.add_row("the whole", size, f"{MAX_SUMMARY_BYTES:,}", "", "", "", style="bold")
    return table


def _kept_id(explanation: Explanation) -> str:
    cut = explanation.cut.cut
    return cut.first_kept_entry_id if isinstance(cut, LiveCut) else ""


def _table(*columns: str, header: bool = True) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=header)
    for column in columns or ("",):
        table.add_column(column, no_wrap=True)
    return table
