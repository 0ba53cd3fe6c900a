"""How much of the raw context may stay, so that the next requests fit the model's window."""

import math
from dataclasses import dataclass
from typing import Final

from pi_fabric.base.jsonvalue import MAX_SAFE_INTEGER, Json, JsonObject, is_finite_number, object_or_empty
from pi_fabric.compaction.calibration import Calibration
from pi_fabric.config.model import CompactionFill
from pi_fabric.history.session import CHARS_PER_TOKEN

# Pi's own settings, for a host that hands over none.
DEFAULT_RESERVE_TOKENS: Final = 16_384
DEFAULT_KEEP_RECENT_TOKENS: Final = 20_000
MIN_RATIO: Final = 0.25
MAX_RATIO: Final = 0.85

# The largest summary has 32 KiB, and four characters count as one token.
SUMMARY_RESERVE_TOKENS: Final = 8192
# Estimates err; this part of the window is never planned for.
_SAFE_WINDOW_SHARE = 0.9
# A compaction must leave less than there was.
_SHRINK_SHARE = 0.95
# A request that was too large says that the window is smaller than advertised.
_FAILED_SHARE = 0.9
# Beyond it the numbers that hosts send are no longer exact; no model has as many tokens.
MAX_TOKENS: Final = MAX_SAFE_INTEGER


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What the host and the user allow; `read_budget` makes one."""

    context_window: int
    """Tokens that the model advertises."""
    target_ratio: float
    """Part of the window that may be in use afterwards, 0.25 to 0.85."""
    reserve_tokens: int = DEFAULT_RESERVE_TOKENS
    """Kept free for the answer."""
    keep_recent_tokens: int = DEFAULT_KEEP_RECENT_TOKENS
    """Recent raw tokens worth keeping even above the ratio."""
    fill: CompactionFill = "ratio"
    """Keep as much as fits the ratio, or no more than the recent tokens."""
    failed_tokens: float | None = None
    """Size of a request that the provider refused as too large; None when none was."""

    @property
    def working_window(self) -> int:
        """Tokens to plan with: the advertised window, or 90 % of what was too large for it."""
        if self.failed_tokens is None:
            return self.context_window
        return min(self.context_window, math.floor(_FAILED_SHARE * self.failed_tokens))


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetFigures:
    """The numbers of one compaction."""

    budget: Budget
    calibration: Calibration
    target_tokens: int
    """Real tokens that may be in use afterwards, at least 1."""
    retained_raw_tokens: int = 0
    """Pi's estimate of what stays."""

    @property
    def suffix_tokens(self) -> int:
        """Raw tokens that may stay beside the largest summary; 0 or more."""
        room = (self.target_tokens - self.calibration.overhead_tokens) / self.calibration.scale
        fitting = max(0, math.floor(room) - SUMMARY_RESERVE_TOKENS)
        return min(fitting, self.budget.keep_recent_tokens) if self.budget.fill == "tail" else fitting

    def projected_tokens(self, summary_units: int) -> int:
        """Real tokens in use afterwards with a summary of that many UTF-16 units."""
        raw = self.retained_raw_tokens + math.ceil(summary_units / CHARS_PER_TOKEN)
        return math.ceil(self.calibration.overhead_tokens + raw * self.calibration.scale)

    def is_over_target(self, summary_units: int) -> bool:
        """True when a summary of that many UTF-16 units would miss the target."""
        return self.projected_tokens(summary_units) > self.target_tokens

    def to_json(self) -> JsonObject:
        """The form that is stored; what was projected for the summary is added where it is known."""
        figures: JsonObject = {
            "strategy": "adaptive",
            "contextWindow": self.budget.context_window,
            "targetContextRatio": self.budget.target_ratio,
            "targetContextTokens": self.target_tokens,
            "reserveTokens": self.budget.reserve_tokens,
            "keepRecentTokens": self.budget.keep_recent_tokens,
            "rawTokensBefore": self.calibration.raw_tokens,
            "tokenScale": _plain(self.calibration.scale),
            "fixedOverheadTokens": _plain(self.calibration.overhead_tokens),
            "retainedRawTokens": self.retained_raw_tokens,
        }
        if self.budget.working_window < self.budget.context_window:
            figures["workingWindow"] = self.budget.working_window
        return figures if self.budget.fill == "ratio" else {**figures, "fill": self.budget.fill}


def read_budget(
    *,
    context_window: Json,
    target_ratio: Json,
    settings: Json,
    fill: CompactionFill = "ratio",
    failed_tokens: Json = None,
) -> Budget | None:
    """Make a budget of what the host sends.

    Args:
        context_window: The model's window in tokens.
        target_ratio: Brought into 0.25 to 0.85.
        settings: Pi's settings with `reserveTokens` and `keepRecentTokens`; a missing one has Pi's default.
        fill: What to keep below the ratio.
        failed_tokens: Size of the request that overflowed, for a compaction after an overflow only.

    Returns:
        None when window or ratio are not finite numbers or the window is not positive: nothing is known of
        the model then.
    """
    if not is_finite_number(context_window) or not is_finite_number(target_ratio) or context_window <= 0:
        return None
    given = object_or_empty(settings)
    has_failed = is_finite_number(failed_tokens) and failed_tokens > 0
    return Budget(
        context_window=_floored(context_window),
        target_ratio=min(MAX_RATIO, max(MIN_RATIO, target_ratio)),
        reserve_tokens=_tokens(given.get("reserveTokens"), DEFAULT_RESERVE_TOKENS),
        keep_recent_tokens=_tokens(given.get("keepRecentTokens"), DEFAULT_KEEP_RECENT_TOKENS),
        fill=fill,
        failed_tokens=failed_tokens if has_failed else None,
    )


def plan_budget(budget: Budget, calibration: Calibration, *, tokens_before: float) -> BudgetFigures:
    """Set the target: below the safe window and the size before, at the ratio or the recent tokens.

    Args:
        budget: What is allowed.
        calibration: How estimates relate to real tokens.
        tokens_before: Real size of the context; at most `MAX_TOKENS`.
    """
    window = budget.working_window
    safe = math.floor(_SAFE_WINDOW_SHARE * (window - budget.reserve_tokens))
    smaller = math.floor(_SHRINK_SHARE * tokens_before)
    recent = (budget.keep_recent_tokens + SUMMARY_RESERVE_TOKENS) * calibration.scale
    wanted = max(math.floor(window * budget.target_ratio), math.ceil(calibration.overhead_tokens + recent))
    target = max(1, min(safe, smaller, wanted))
    return BudgetFigures(budget=budget, calibration=calibration, target_tokens=target)


def _tokens(value: Json, default: int) -> int:
    return _floored(value) if is_finite_number(value) else default


def _floored(value: float) -> int:
    return math.floor(max(-MAX_TOKENS, min(MAX_TOKENS, value)))


def _plain(number: float) -> float:
    """`number` as JavaScript writes it: without a fraction when it has none."""
    return int(number) if isinstance(number, float) and number.is_integer() else number
