"""Who answers when the host is about to compact: we, another extension, or the host itself."""

from dataclasses import dataclass
from typing import Literal

from pi_fabric.compaction.compile import CompactionEvent, EventsBefore, compile_summary
from pi_fabric.compaction.outcome import Compiled, Declined
from pi_fabric.compaction.request import PI_VCC_SENTINEL
from pi_fabric.config.model import CompactionEngine


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What the handler does."""

    kind: Literal["compaction", "cancel", "undefined"]
    """Return a compaction, cancel it, or return nothing and leave it to others."""
    compiled: Compiled | None = None
    declined: Declined | None = None
    """Why not; also kept when an earlier handler's result stands instead of a cancel."""

    @property
    def is_claimed(self) -> bool:
        """True when the event must be marked as ours, so that pi-vcc leaves it alone."""
        return self.kind == "compaction"

    @property
    def notice(self) -> str | None:
        """What the user should see."""
        return self.declined.notice if self.declined else None


def decide_compaction(
    event: CompactionEvent,
    *,
    engine: CompactionEngine = "fabric",
    has_pi_vcc_result: bool = False,
    events_before: EventsBefore | None = None,
) -> Decision:
    """Decide what the handler does before a compaction.

    Args:
        event: What the host tells.
        engine: Who compacts, as configured.
        has_pi_vcc_result: True when an earlier handler of pi-vcc marked the event; a cancel would erase its
            result, so there is none but for a request that breaks the protocol.
        events_before: As `compile_summary` takes it.
    """
    if event.custom_instructions == PI_VCC_SENTINEL or engine != "fabric":
        return Decision(kind="undefined")
    outcome = compile_summary(event, events_before=events_before)
    if isinstance(outcome, Compiled):
        return Decision(kind="compaction", compiled=outcome)
    leaves = has_pi_vcc_result and not outcome.cause.startswith("instruction:")
    return Decision(kind="undefined" if leaves else "cancel", declined=outcome)
