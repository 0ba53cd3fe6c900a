"""One compaction of a session file, made to be looked at: nothing is stored."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from pi_fabric.base.errors import RequestError
from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.cli.quoted import one_line
from pi_fabric.compaction.compile import CompactionEvent, compile_summary
from pi_fabric.compaction.encode import encode_request
from pi_fabric.compaction.outcome import Compiled, Declined
from pi_fabric.compaction.request import CompactRequest
from pi_fabric.config.model import CompactionFill
from pi_fabric.history.session import Session, context_size, read_session

# A UUID; Pi's own are shorter.
ID_BYTES: Final = 36

SizeOrigin = Literal["option", "usage", "estimate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line says about the compaction; None is what Pi and the configuration say."""

    window: int | None = None
    """Tokens of the model's window; None is a model that nothing is known of."""
    reserve: int | None = None
    keep: int | None = None
    ratio: float
    fill: CompactionFill
    tokens_before: int | None = None
    """None takes the size from the session."""
    instructions: str | None = None
    preserve: tuple[str, ...] | None = None

    def custom_instructions(self) -> str | None:
        """What Pi would hand over.

        Raises:
            RequestRefused: If what is to be preserved is out of bounds.
        """
        if self.preserve is None:
            return self.instructions
        return encode_request(CompactRequest(instructions=self.instructions, preserve=self.preserve))


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A branch and its compaction."""

    session: Session
    leaf_id: str
    size_origin: SizeOrigin
    event: CompactionEvent
    outcome: Compiled | Declined

    @property
    def name(self) -> str:
        """The session's file and the leaf, short enough for one line."""
        return one_line(f"{self.session.path.stem[-32:]}:{self.leaf_id}")

    @property
    def source(self) -> Sequence[JsonObject]:
        """The entries that the summary stands for."""
        kept_id = self.outcome.first_kept_entry_id if isinstance(self.outcome, Compiled) else ""
        ids = [entry.get("id") for entry in self.event.entries]
        return self.event.entries[: ids.index(kept_id)] if kept_id else self.event.entries


def load(path: Path) -> Session:
    """Read a session that has a branch. Blocking.

    Raises:
        StoreError: If the file cannot be read.
        LimitReached: If it is too large.
        RequestError: If it is no session of Pi's.
    """
    session = read_session(path)
    # A lost header is forgiven; a file of another program has neither header nor messages.
    is_pi = session.header is not None or any(entry.get("type") == "message" for entry in session.entries)
    if session.tree.leaf_id is None or not is_pi:
        raise RequestError("SESSION", f"{path} is no session file of Pi, or has no entries")
    return session


def compact(
    session: Session, options: Options, *, leaf_id: str | None = None, named_by: str = "--branch"
) -> Run:
    """Compact one branch as Pi would if it asked now.

    Args:
        session: As read; not changed.
        options: What the command line says.
        leaf_id: Where the branch ends; None is where Pi resumes.
        named_by: The option that names the leaf.

    Raises:
        RequestError: If there is no such entry, or what is asked for is out of bounds.
    """
    leaf = session.tree.leaf_id if leaf_id is None else leaf_id
    if leaf not in session.tree.by_id:
        reason = f"no entry has the id {one_line(str(leaf), ID_BYTES)!r}"
        raise RequestError(named_by, f"{reason}\n  --json without it names the one where Pi resumes")
    branch = session.tree.path_to(leaf)
    tokens, origin = _size(branch, options)
    event = CompactionEvent(
        entries=branch,
        tokens_before=tokens,
        settings=_settings(options),
        context_window=options.window,
        target_ratio=options.ratio,
        fill=options.fill,
        custom_instructions=options.custom_instructions(),
        reason="manual",
    )
    outcome = compile_summary(event)
    return Run(session=session, leaf_id=leaf, size_origin=origin, event=event, outcome=outcome)


def _size(branch: Sequence[JsonObject], options: Options) -> tuple[float, SizeOrigin]:
    if options.tokens_before is not None:
        return options.tokens_before, "option"
    size = context_size(branch)
    return size.tokens, "usage" if size.is_reported else "estimate"


def _settings(options: Options) -> JsonObject:
    given = {"reserveTokens": options.reserve, "keepRecentTokens": options.keep}
    return {name: tokens for name, tokens in given.items() if tokens is not None}
