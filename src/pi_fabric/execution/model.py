"""What goes into one execution and what comes out of it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pi_fabric.base.jsonvalue import UNDEFINED, Json, JsonObject
from pi_fabric.config import ResultFormat
from pi_fabric.history.trace import persisted_details
from pi_fabric.protocol.actions import ImageBlock, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecRequest:
    """Arguments of `fabric_exec`, validated and repaired."""

    code: str
    """The program, as submitted: positions in messages count in this text."""
    strings: dict[str, str] = field(default_factory=dict[str, str])
    """Named strings for `π.key`."""
    result_format: ResultFormat | None = None
    """None takes the configured one."""
    token_budget: float | None = None
    """Tokens that agent, council and rlm runs may use; None is unlimited."""
    agent_budget: int | None = None
    """Children this run may start; None takes the configured cap."""
    display_name: str | None = None
    display_description: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeProblem:
    """One diagnostic that kept the program from running."""

    line: int
    """1-based line of the submitted text."""
    column: int
    """1-based, in UTF-16 units."""
    message: str
    is_syntax: bool = False
    """True when the text could not be parsed at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecResult:
    """One finished execution."""

    outcome: Outcome
    text: str
    """Logs, value and error as the model reads them, within `executor.maxOutputChars`."""
    trace: JsonObject
    """Sealed V1 trace."""
    value: Json = UNDEFINED
    """What the program returned; UNDEFINED when nothing."""
    logs: tuple[str, ...] = ()
    phases: tuple[str, ...] = ()
    type_problems: tuple[TypeProblem, ...] = ()
    """Not empty when the program was refused before it ran."""
    error: str | None = None
    """Why it did not succeed."""
    notices: tuple[str, ...] = ()
    """What the reader should know besides: unchecked program, un-awaited calls."""
    images: tuple[ImageBlock, ...] = ()
    """Images that nested tools returned, for the outer result."""
    language: Literal["yaml", "json"] | None = None
    """What to highlight the value as; None is plain text."""
    spill_path: Path | None = None
    """0600 file with the whole text when `text` was cut."""
    terminate: bool = False
    """True when the program asked to end the agent's turn."""

    @property
    def success(self) -> bool:
        """True when the program ran to its end."""
        return self.outcome == "succeeded"

    @property
    def details(self) -> JsonObject:
        """What the host persists: `{success, trace, outputFormat?}` within 512 KiB."""
        return persisted_details(success=self.success, trace=self.trace, output_format=self.language)
