"""Turn the end of a run into its result: what the model reads, what is persisted, what went wrong."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from pi_fabric.base.errors import SandboxLost
from pi_fabric.base.jsonvalue import UNDEFINED, Json, is_object
from pi_fabric.config import FabricConfig
from pi_fabric.execution.format_value import Formatted, format_value
from pi_fabric.execution.guest_errors import describe_error
from pi_fabric.execution.log_buffer import LogBuffer
from pi_fabric.execution.model import ExecRequest, ExecResult, TypeProblem
from pi_fabric.execution.result_text import join_result
from pi_fabric.execution.spill import spill_text
from pi_fabric.history.trace import TraceRecorder
from pi_fabric.protocol.actions import ImageBlock, Outcome
from pi_fabric.runtime.engine import EngineResult, Termination
from pi_fabric.runtime.typescript import COMPILER_HINT, Prepared, Refused, recovery_hint, render

_UNKNOWN_NAME = re.compile(r"Cannot find name '(\w+)'")
OUTCOMES: dict[Termination, Outcome] = {
    "completed": "succeeded",
    "runtime_error": "failed",
    "timed_out": "timed_out",
    "aborted": "aborted",
}


class Report:
    """Writes the result of one execution from what was recorded of it."""

    def __init__(
        self,
        request: ExecRequest,
        config: FabricConfig,
        *,
        recorder: TraceRecorder,
        logs: LogBuffer,
        images: Sequence[ImageBlock],
        shut: Mapping[str, str],
    ) -> None:
        """Nothing has happened yet.

        Args:
            request: What was asked for.
            config: Settings in force.
            recorder: Has the calls.
            logs: Has the printed lines.
            images: Images that nested tools returned.
            shut: Namespaces that a setting keeps from programs, and why.
        """
        self._request = request
        self._config = config
        self._recorder = recorder
        self._logs = logs
        self._images = images
        self._shut = shut

    def refused(self, refusal: Refused) -> ExecResult:
        """The program did not pass the type check; nothing ran."""
        problems = tuple(
            TypeProblem(
                line=problem.line,
                column=problem.column,
                message=problem.message,
                is_syntax=problem.is_syntax,
            )
            for problem in refusal.problems
        )
        kind = "has syntax errors" if any(problem.is_syntax for problem in problems) else "has type errors"
        lines = [render(problem, self._request.code) for problem in refusal.problems]
        if refusal.omitted:
            lines.append(f"and {refusal.omitted} more")
        lines.extend(self._shut_namespaces(refusal))
        hint = recovery_hint(refusal.problems, self._request.code)
        if hint is not None:
            lines.append(hint)
        error = "\n".join(["The program was not run; it has errors:", *lines])
        return self._result("failed", error=error, problems=problems, cause=f"the program {kind}")

    def _shut_namespaces(self, refusal: Refused) -> list[str]:
        """Why a namespace is unknown that a setting keeps from programs."""
        unknown = {name for problem in refusal.problems for name in _UNKNOWN_NAME.findall(problem.message)}
        return [reason for name, reason in self._shut.items() if name in unknown]

    def aborted(self, *, phases: Sequence[str]) -> ExecResult:
        """The caller ended the run."""
        return self._result(
            "aborted", error="The run was aborted.", phases=phases, cause="the caller aborted it"
        )

    def lost(self, error: SandboxLost, *, phases: Sequence[str]) -> ExecResult:
        """The sandbox broke while the program ran; what it had done stays on record."""
        return self._result("failed", error=error.message, phases=phases, cause=error.message)

    def finished(self, ended: EngineResult, prepared: Prepared, *, phases: Sequence[str]) -> ExecResult:
        """The engine ended the run, in whichever way."""
        error = None
        if ended.error is not None:
            error = describe_error(ended.error, prepared.positions.locate)
            if not prepared.is_checked and ended.error.name == "SyntaxError":
                error = f"{error}\n{COMPILER_HINT}"
        return self._result(
            OUTCOMES[ended.termination],
            value=ended.value,
            error=error,
            phases=phases,
            notices=_notices(ended, prepared),
            cause=_cause(ended),
        )

    def _result(
        self,
        outcome: Outcome,
        *,
        value: Json = UNDEFINED,
        error: str | None = None,
        problems: tuple[TypeProblem, ...] = (),
        phases: Sequence[str] = (),
        notices: tuple[str, ...] = (),
        cause: str | None = None,
    ) -> ExecResult:
        executor = self._config.executor
        formatted: Formatted | None = None
        if value is not UNDEFINED:
            formatted = format_value(value, self._request.result_format or executor.result_format)
        joined = join_result(
            logs=self._logs.everything,
            value=formatted,
            error=error,
            notices=notices,
            max_chars=executor.max_output_chars,
            failed=outcome != "succeeded",
            spill=spill_text,
        )
        return ExecResult(
            outcome=outcome,
            text=joined.text,
            trace=self._recorder.seal(outcome, phases, cause=cause),
            value=value,
            logs=tuple(self._logs.lines),
            phases=tuple(phases),
            type_problems=problems,
            error=error,
            notices=notices,
            images=tuple(self._images),
            language=formatted.language if formatted else None,
            spill_path=joined.spill_path,
            terminate=outcome == "succeeded" and is_object(value) and value.get("terminate") is True,
        )


def _notices(ended: EngineResult, prepared: Prepared) -> tuple[str, ...]:
    notices: list[str] = []
    if prepared.notice:
        notices.append(prepared.notice)
    if ended.unawaited:
        notices.append(f"Not awaited by the program: {_names(ended.unawaited)}.")
    if ended.abandoned:
        notices.append(f"Cancelled at the deadline: {_names(ended.abandoned)}.")
    return tuple(notices)


def _names(refs: Sequence[str]) -> str:
    counted = Counter(refs)
    return ", ".join(ref if count == 1 else f"{ref} ({count} times)" for ref, count in counted.items())


def _cause(ended: EngineResult) -> str | None:
    # The engine's words for a limit carry nothing of the program; its errors do.
    return ended.error.message if ended.error is not None and ended.termination == "timed_out" else None
