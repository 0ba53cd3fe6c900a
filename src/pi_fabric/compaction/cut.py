"""Where a branch is cut: what Pi keeps as it is, and what the summary takes the place of."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from pi_fabric.base.jsonvalue import JsonObject, is_finite_number
from pi_fabric.compaction.budget import MAX_TOKENS, Budget, BudgetFigures, plan_budget
from pi_fabric.compaction.calibration import calibrate
from pi_fabric.compaction.spans import split_calls
from pi_fabric.compaction.window import ContextEntry, Window, read_window

Block: TypeAlias = Literal[
    "nothing-before", "over-budget", "before-marker", "splits-call", "inside-turn", "no-unique-id"
]
"""Why there can be no cut before an entry: nothing live would be summarized; what follows exceeds the
budget; the last summary would be replayed beside the new one; a call would lose its result; without a
budget only turns are kept whole; Pi could not find the entry by its id."""

# A turn begins with one of these: someone or something other than the model speaks.
TURN_ROLES: Final = frozenset({"user", "custom", "bashExecution", "branchSummary"})
# Never a tool result: without its call a provider refuses it.
BOUNDARY_ROLES: Final = TURN_ROLES | {"assistant"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Empty:
    """Nothing is live, so there is nothing to compact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveCut:
    """Where to cut."""

    first_kept_entry_id: str
    """Pi keeps from this entry on; empty keeps nothing."""
    summarized: tuple[JsonObject, ...]
    """The live entries that go, in branch order; at least one."""
    source_end: int
    """The summary tells of `branch[:source_end]`."""
    figures: BudgetFigures | None
    """None without a budget."""

    @property
    def summarized_ids(self) -> tuple[str, ...]:
        """Ids of the entries that go; those without an id are left out."""
        return tuple(entry["id"] for entry in self.summarized if isinstance(entry.get("id"), str))

    @property
    def timestamp(self) -> str | None:
        """Time of the last entry that goes, as it is written there."""
        timestamp = self.summarized[-1].get("timestamp")
        return timestamp if isinstance(timestamp, str) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundaryCandidate:
    """A place where a cut was thinkable."""

    entry_id: str
    role: str
    position: int
    """Index on the branch of the entry that would be kept first."""
    kept_tokens: int
    """Pi's estimate of what would stay."""
    blocks: tuple[Block, ...]
    """What speaks against it; empty when nothing does."""
    split_call_id: str | None
    """A call that the cut would part from its result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CutExplanation:
    """Why the cut fell where it did."""

    cut: LiveCut | Empty
    candidates: tuple[BoundaryCandidate, ...]
    """In branch order."""


def find_live_cut(
    entries: Sequence[JsonObject], *, tokens_before: float, budget: Budget | None
) -> LiveCut | Empty:
    """Choose what of the live window stays.

    With a budget, the most that fits it; without one, the last turn. Neither parts a call from its result
    nor keeps anything from before the last compaction. When no place will do, all is summarized.

    Args:
        entries: The active path, root first; any JSON objects.
        tokens_before: Real size of the context. Not finite counts as unknown: then there is no budget.
        budget: None when nothing is known of the model.
    """
    window = read_window(entries)
    figures = _figures(window, tokens_before, budget)
    chosen = _chosen(_candidates(entries, window, figures, is_all=False), figures)
    return _cut(len(entries), window, chosen, figures)


def explain_cut(
    entries: Sequence[JsonObject], *, tokens_before: float, budget: Budget | None
) -> CutExplanation:
    """Choose as `find_live_cut` does, and say what spoke against each other place; arguments likewise."""
    window = read_window(entries)
    figures = _figures(window, tokens_before, budget)
    candidates = tuple(_candidates(entries, window, figures, is_all=True))
    chosen = _chosen(candidates, figures)
    return CutExplanation(cut=_cut(len(entries), window, chosen, figures), candidates=candidates)


def _figures(window: Window, tokens_before: float, budget: Budget | None) -> BudgetFigures | None:
    if budget is None or not is_finite_number(tokens_before):
        return None
    size = min(tokens_before, MAX_TOKENS)
    return plan_budget(budget, calibrate(window, tokens_before=size), tokens_before=size)


def _chosen(
    candidates: Iterable[BoundaryCandidate], figures: BudgetFigures | None
) -> BoundaryCandidate | None:
    free = (candidate for candidate in candidates if not candidate.blocks)
    if figures is not None:
        return next(free, None)
    return max(free, key=lambda candidate: candidate.position, default=None)


def _candidates(
    entries: Sequence[JsonObject], window: Window, figures: BudgetFigures | None, *, is_all: bool
) -> Iterator[BoundaryCandidate]:
    """Boundaries of the live window in branch order; unless all are wanted, only those that fit."""
    survey = _Survey(
        marker=window.marker,
        suffix_tokens=None if figures is None else figures.suffix_tokens,
        split=split_calls(entries),
        first_positions=_first_positions(entries, window.live),
    )
    kept_tokens = sum(entry.tokens for entry in window.live)
    for index, entry in enumerate(window.live):
        if entry.role in BOUNDARY_ROLES and (is_all or survey.fits(kept_tokens)):
            yield survey.candidate(entry, kept_tokens=kept_tokens, is_first=index == 0)
        kept_tokens -= entry.tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class _Survey:
    """What is known of the branch when one of its places is judged."""

    marker: int
    suffix_tokens: int | None
    """None without a budget."""
    split: Sequence[str | None]
    first_positions: Mapping[str, int]

    def fits(self, kept_tokens: int) -> bool:
        return self.suffix_tokens is None or kept_tokens <= self.suffix_tokens

    def candidate(self, entry: ContextEntry, *, kept_tokens: int, is_first: bool) -> BoundaryCandidate:
        position = entry.position
        entry_id = entry.entry.get("id")
        name = entry_id if isinstance(entry_id, str) else ""
        checks: tuple[tuple[Block, bool], ...] = (
            ("nothing-before", is_first),
            ("over-budget", not self.fits(kept_tokens)),
            ("before-marker", position <= self.marker),
            ("splits-call", self.split[position] is not None),
            ("inside-turn", self.suffix_tokens is None and entry.role not in TURN_ROLES),
            ("no-unique-id", self.first_positions.get(name) != position),
        )
        return BoundaryCandidate(
            entry_id=name,
            role=entry.role,
            position=position,
            kept_tokens=kept_tokens,
            blocks=tuple(block for block, applies in checks if applies),
            split_call_id=self.split[position],
        )


def _first_positions(entries: Sequence[JsonObject], live: Sequence[ContextEntry]) -> dict[str, int]:
    """Where Pi finds the id of each live entry."""
    ids = (entry.entry.get("id") for entry in live)
    wanted = {entry_id for entry_id in ids if isinstance(entry_id, str) and entry_id}
    first: dict[str, int] = {}
    for position, entry in enumerate(entries):
        entry_id = entry.get("id")
        if isinstance(entry_id, str) and entry_id in wanted:
            first.setdefault(entry_id, position)
    return first


def _cut(
    end: int, window: Window, chosen: BoundaryCandidate | None, figures: BudgetFigures | None
) -> LiveCut | Empty:
    if not window.live:
        return Empty()
    source_end = end if chosen is None else chosen.position
    kept_tokens = 0 if chosen is None else chosen.kept_tokens
    return LiveCut(
        first_kept_entry_id="" if chosen is None else chosen.entry_id,
        summarized=tuple(entry.entry for entry in window.live if entry.position < source_end),
        source_end=source_end,
        figures=None if figures is None else replace(figures, retained_raw_tokens=kept_tokens),
    )
