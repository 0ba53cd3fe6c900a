"""How the provider's tokens relate to Pi's estimates, learned from what the provider reported.

Pi's estimates see characters only. They miss the system prompt and the tools, which are the same in each
request, and how the model's tokenizer cuts this text, which grows with it: an overhead and a scale.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pi_fabric.compaction.window import Window
from pi_fabric.history.session import usage_tokens

# A slope between two readings that lie closer says more about rounding than about the tokenizer.
MIN_DISTANCE_TOKENS: Final = 4096
MIN_DISTANCE_SHARE: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Real tokens are `overhead_tokens + scale * raw tokens`; never less than what was reported."""

    raw_tokens: int
    """Pi's estimate of the whole context."""
    scale: float = 1
    """At least 1."""
    overhead_tokens: float = 0
    """At least 0."""


def calibrate(window: Window, *, tokens_before: float) -> Calibration:
    """Fit the estimates of a context to its real size.

    Args:
        window: The context; answers after its marker tell what they cost.
        tokens_before: Size of the whole context as Pi takes it, finite.
    """
    raw = window.raw_tokens
    readings = [reading for reading in _readings(window) if reading[1] <= tokens_before]
    nearest = max(MIN_DISTANCE_TOKENS, MIN_DISTANCE_SHARE * raw)
    slopes = [(tokens_before - used) / (raw - at) for at, used in readings if raw - at >= nearest]
    if not slopes:
        return Calibration(raw_tokens=raw, overhead_tokens=max(0, tokens_before - raw))
    scale = max(1, *slopes)
    overheads = [used - scale * at for at, used in readings]
    overhead = max(0, tokens_before - scale * raw, *overheads)
    return Calibration(raw_tokens=raw, scale=scale, overhead_tokens=overhead)


def _readings(window: Window) -> Iterator[tuple[int, float]]:
    """Raw tokens up to and with an answer, and what the provider counted for it.

    An answer from before the marker was counted in another context, so it tells nothing.
    """
    raw = 0
    for entry in window.context:
        raw += entry.tokens
        if entry.position > window.marker and entry.role == "assistant":
            used = usage_tokens(entry.message)
            if used > 0:
                yield raw, used
