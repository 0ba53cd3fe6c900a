"""The host's two events, as the compilers want them.

Only the fields named here are looked at. The host also sends the text of the last summary: reading it would
make one summary the source of the next, so nothing here does.
"""

from pi_fabric.base.jsonvalue import Json, JsonObject, is_array, is_finite_number, is_object
from pi_fabric.compaction.branch_summary import BranchEvent
from pi_fabric.compaction.compile import CompactionEvent, Reason
from pi_fabric.config.model import CompactionConfig

_REASONS: dict[Json, Reason] = {"manual": "manual", "threshold": "threshold", "overflow": "overflow"}


def read_compaction_event(
    event: JsonObject, *, context_window: Json, settings: CompactionConfig
) -> CompactionEvent:
    """Read `session_before_compact`.

    Args:
        event: As the host sends it: `branchEntries`, `preparation`, and perhaps `customInstructions` and
            `reason`. What is malformed counts as absent, entries that are no objects are left out.
        context_window: Of the active model, in tokens; anything but a number when it is not known.
        settings: What the user configured.
    """
    preparation = _object(event.get("preparation"))
    tokens_before = preparation.get("tokensBefore")
    reason = event.get("reason")
    return CompactionEvent(
        entries=_objects(event.get("branchEntries")),
        tokens_before=tokens_before if is_finite_number(tokens_before) else 0,
        settings=preparation.get("settings"),
        context_window=context_window,
        target_ratio=settings.target_context_ratio,
        fill=settings.fill,
        custom_instructions=_text(event.get("customInstructions")),
        reason=_REASONS.get(reason) if isinstance(reason, str) else None,
    )


def read_branch_event(event: JsonObject) -> BranchEvent:
    """Read `session_before_tree`; malformed fields count as absent."""
    preparation = _object(event.get("preparation"))
    return BranchEvent(
        entries=_objects(preparation.get("entriesToSummarize")),
        old_leaf_id=_text(preparation.get("oldLeafId")),
        custom_instructions=_text(preparation.get("customInstructions")),
        replaces_instructions=preparation.get("replaceInstructions") is True,
        wants_summary=preparation.get("userWantsSummary") is True,
    )


def _object(value: Json) -> JsonObject:
    return value if is_object(value) else {}


def _objects(value: Json) -> list[JsonObject]:
    return [entry for entry in value if is_object(entry)] if is_array(value) else []


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None
