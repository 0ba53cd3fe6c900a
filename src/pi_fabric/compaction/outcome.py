"""What can come of a summary that was asked for."""

from dataclasses import dataclass

from pi_fabric.base.jsonvalue import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A compaction that the host may store."""

    summary: str
    """At most 32 KiB of UTF-8."""
    first_kept_entry_id: str
    """On the branch; empty when nothing is kept raw."""
    tokens_before: int | float
    """As the host gave it."""
    details: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Declined:
    """No summary, on purpose; the host must not make one either."""

    cause: str
    """`over-target`, `empty-live-window`, `no-source-events`, or `instruction:` and a code."""
    notice: str | None = None
    """One sentence that the user should see; None when there is nothing to mend."""
