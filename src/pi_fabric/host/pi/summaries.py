"""Pi's questions for a summary, answered from the session file. Heavy to import; knows no line.

Answers are `{kind: "compaction" | "summary" | "cancel" | "none"}` with what belongs to each, or
`{kind: "wanted", ids}` when entries are needed that the file does not have: Pi asks once more and sends them
along.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from pi_fabric.base.collector import collection_paused
from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.compaction.branch_summary import BranchEvent, BranchSummary, compile_branch_summary
from pi_fabric.compaction.compile import CompactionEvent, EventsBefore
from pi_fabric.compaction.hook import decide_compaction
from pi_fabric.compaction.outcome import Declined
from pi_fabric.config.model import CompactionConfig
from pi_fabric.host.pi.followed_session import FollowedSession, join_branch
from pi_fabric.host.pi.wire import convert


class Branch(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which entries are meant."""

    file: str | None = None
    """The session's file; None for a session that Pi keeps in memory."""
    ids: list[str]
    """Root first."""
    sent: list[JsonObject] = []
    """Entries that were wanted."""


class Compact(Branch, frozen=True, kw_only=True, rename="camel"):
    """Parameters of `compact`: what Pi tells before a compaction."""

    tokens_before: int | float
    settings: Json = None
    context_window: Json = None
    custom_instructions: str | None = None
    reason: Literal["manual", "threshold", "overflow"] | None = None
    has_pi_vcc_result: bool = False


class SummarizeBranch(Branch, frozen=True, kw_only=True, rename="camel"):
    """Parameters of `summarizeBranch`: what Pi tells before a branch is left."""

    old_leaf_id: str | None = None
    custom_instructions: str | None = None


class Place(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Parameters of `session`: where Pi is. A notification, after each turn."""

    file: str
    leaf_id: str | None = None


class Summaries:
    """Follows the session file of one Pi and summarizes from it. Blocking, and for one caller at a time."""

    def __init__(self, config: CompactionConfig) -> None:
        self._config = config
        self._followed: FollowedSession | None = None

    @property
    def followed_entries(self) -> int:
        """How many entries of the session's file are known; may be read while another call runs."""
        return 0 if self._followed is None else self._followed.entry_count

    def follow(self, params: JsonObject) -> None:
        """Take in what Pi has appended since.

        Raises:
            FabricError: If the parameters do not fit, or the file cannot be read.
        """
        place = convert("session", params, Place)
        with collection_paused():
            self._of(place.file).catch_up(place.leaf_id)

    def compact(self, params: JsonObject) -> JsonObject:
        """Answer `session_before_compact`.

        Raises:
            InvalidArguments: If the parameters do not fit.
        """
        request = convert("compact", params, Compact)
        if self._config.engine != "fabric":
            return {"kind": "none"}
        with collection_paused():
            branch, wanted = self._branch(request)
            return {"kind": "wanted", "ids": wanted} if wanted else self._decide(request, branch)

    def summarize_branch(self, params: JsonObject) -> JsonObject:
        """Answer `session_before_tree`.

        Raises:
            InvalidArguments: If the parameters do not fit.
        """
        request = convert("summarizeBranch", params, SummarizeBranch)
        if self._config.engine != "fabric":
            return {"kind": "none"}
        branch, wanted = self._branch(request)
        if wanted:
            return {"kind": "wanted", "ids": wanted}
        outcome = compile_branch_summary(
            BranchEvent(
                entries=branch,
                old_leaf_id=request.old_leaf_id,
                custom_instructions=request.custom_instructions,
            )
        )
        if isinstance(outcome, BranchSummary):
            return {"kind": "summary", "summary": outcome.summary, "details": outcome.details}
        return {"kind": "none"} if outcome is None else _cancel(outcome)

    def _decide(self, request: Compact, branch: Sequence[JsonObject]) -> JsonObject:
        decision = decide_compaction(
            CompactionEvent(
                entries=branch,
                tokens_before=request.tokens_before,
                settings=request.settings,
                context_window=request.context_window,
                target_ratio=self._config.target_context_ratio,
                fill=self._config.fill,
                custom_instructions=request.custom_instructions,
                reason=request.reason,
            ),
            has_pi_vcc_result=request.has_pi_vcc_result,
            events_before=self._events_before(request, branch),
        )
        if decision.compiled is not None:
            return {
                "kind": "compaction",
                "summary": decision.compiled.summary,
                "firstKeptEntryId": decision.compiled.first_kept_entry_id,
                "details": decision.compiled.details,
            }
        if decision.kind == "cancel" and decision.declined is not None:
            return _cancel(decision.declined)
        return {"kind": "none"}

    def _branch(self, request: Branch) -> tuple[list[JsonObject], list[str]]:
        on_disk: Mapping[str, JsonObject] = {}
        if request.file is not None:
            followed = self._of(request.file)
            if not request.sent and (branch := followed.stretch(request.ids)) is not None:
                return branch, []
            on_disk = followed.find(request.ids)
        sent = {entry["id"]: entry for entry in request.sent if isinstance(entry.get("id"), str)}
        return join_branch(request.ids, on_disk, sent)

    def _events_before(self, request: Branch, branch: Sequence[JsonObject]) -> EventsBefore | None:
        # What Pi had to send is another object each time, so nothing could be kept of it.
        if self._followed is None or request.sent:
            return None
        self._followed.events.follow(branch)
        return self._followed.events.before

    def _of(self, file: str) -> FollowedSession:
        path = Path(file)
        if self._followed is None or self._followed.path != path:
            self._followed = FollowedSession(path)
        return self._followed


def _cancel(declined: Declined) -> JsonObject:
    return {"kind": "cancel", "cause": declined.cause, "notice": declined.notice}
