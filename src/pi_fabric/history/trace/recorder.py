"""Record one run as it happens and seal it into a trace.

The recorder is a subscriber: it never blocks, never raises for what it is told, and keeps of each call
only what may be persisted. The work per call is bounded by what is kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pi_fabric.base.jsonvalue import UNDEFINED, Json, JsonObject
from pi_fabric.history.trace.model import (
    MAX_ERROR_BYTES,
    MAX_IDENTIFIER_BYTES,
    MAX_OPERATIONS,
    MAX_PHASES,
    MAX_TRACE_BYTES,
    Counts,
    Operation,
    Trace,
)
from pi_fabric.history.trace.projection import project_arguments, project_result
from pi_fabric.history.trace.sanitize import Kept, clip_text
from pi_fabric.history.trace.sentences import PREVIEW_ONLY, call_sentence, run_sentence
from pi_fabric.history.trace.shedding import shed
from pi_fabric.protocol.actions import Outcome, Stage
from pi_fabric.protocol.events import CallEnded, CallPrepared, CallResolved, CallStarted, ExecutionEvent


@dataclass(slots=True, kw_only=True)
class _Call:
    sequence: int
    ref: str
    names: tuple[str, str] | None
    """Provider and action; None while the reference names neither."""
    args: Kept
    outcome: Outcome | None = None
    """None while the call is open."""
    stage: Stage | None = None
    error: str | None = None
    result: Kept = field(default_factory=lambda: Kept(value=UNDEFINED))


class TraceRecorder:
    """Collects the calls of one run; `seal` turns them into the trace.

    Feed it either events (the recorder itself is an `EventSink`) or its verbs. What it is told about a
    call that it does not know, or after sealing, is ignored.
    """

    def __init__(self) -> None:
        self._calls: dict[int, _Call] = {}
        self._next_sequence = 0
        self._dropped_operations = 0
        self._sealed: JsonObject | None = None

    def __call__(self, event: ExecutionEvent) -> None:
        """Take one event of the run; those that are not about calls leave no mark."""
        match event:
            case CallStarted():
                self.issue(event.ref, event.args, sequence=event.sequence)
            case CallResolved():
                self.resolved(event.sequence, event.provider, event.action)
            case CallPrepared():
                self.prepared(event.sequence, event.args)
            case CallEnded(outcome="succeeded"):
                self.succeed(event.sequence, event.result, is_preview=event.truncated)
            case CallEnded():
                stage = event.stage or "invoke"
                self.fail(event.sequence, stage, event.outcome, event.result, cause=event.cause)
            case _:
                pass

    def issue(self, ref: str, args: Json, *, sequence: int | None = None) -> int:
        """A call arrived.

        Args:
            ref: As called.
            args: As the program sent them.
            sequence: Its number in the run; None takes the next one.

        Returns:
            The number that names the call from now on. Beyond 2,048 calls only the count is kept.
        """
        number = self._next_sequence if sequence is None else sequence
        self._next_sequence = max(self._next_sequence, number + 1)
        if len(self._calls) >= MAX_OPERATIONS:
            self._dropped_operations += 1
        else:
            provider, dot, action = ref.partition(".")
            names = (_start(provider), _start(action)) if dot else None
            kept = project_arguments(ref, args)
            self._calls[number] = _Call(sequence=number, ref=_start(ref), names=names, args=kept)
        return number

    def resolved(self, sequence: int, provider: str, action: str) -> None:
        """The registry knows whom the call is for."""
        if (call := self._open(sequence)) is not None:
            call.names = (_start(provider), _start(action))

    def prepared(self, sequence: int, args: Json) -> None:
        """The arguments as executed; they replace those that were sent."""
        if (call := self._open(sequence)) is not None:
            call.args = project_arguments(call.ref, args)

    def succeed(self, sequence: int, result: Json = UNDEFINED, *, is_preview: bool = False) -> None:
        """The call succeeded.

        Args:
            sequence: Number of the call.
            result: What the provider returned; UNDEFINED when nothing.
            is_preview: True when the program got only a preview of it.
        """
        if (call := self._open(sequence)) is not None:
            call.outcome = "succeeded"
            call.result = project_result(call.ref, result)
            call.error = PREVIEW_ONLY if is_preview else None

    def fail(
        self,
        sequence: int,
        stage: Stage,
        outcome: Outcome,
        result: Json = UNDEFINED,
        *,
        cause: str | None = None,
    ) -> None:
        """The call did not succeed.

        Args:
            sequence: Number of the call.
            stage: Where it failed.
            outcome: How it ended.
            result: A failed record that the program got all the same; UNDEFINED when there is none.
            cause: Why, in words that carry no payload; None records a fixed sentence.
        """
        if (call := self._open(sequence)) is not None:
            call.outcome, call.stage = outcome, stage
            call.result = project_result(call.ref, result)
            call.error = cause

    def seal(self, outcome: Outcome, phases: Sequence[str] = (), *, cause: str | None = None) -> JsonObject:
        """End the run and build its trace, within 512 KiB of JSON.

        A call that is still open gets the run's outcome. Sealing again returns the same trace.

        Args:
            outcome: How the run ended.
            phases: Names in the order in which the program entered them.
            cause: Why the run did not succeed, without payload; None records a fixed sentence.
        """
        if self._sealed is None:
            self._sealed = shed(self._complete(outcome, phases, cause).to_json(), max_bytes=MAX_TRACE_BYTES)
            self._calls.clear()
        return self._sealed

    def _open(self, sequence: int) -> _Call | None:
        call = self._calls.get(sequence)
        return call if call is not None and call.outcome is None else None

    def _complete(self, outcome: Outcome, phases: Sequence[str], cause: str | None) -> Trace:
        clip = _Clipper()
        operations = tuple(
            _operation(self._calls[sequence], outcome, clip) for sequence in sorted(self._calls)
        )
        names = tuple(clip.identifier(phase) for phase in phases[:MAX_PHASES])
        missing_phases = len(phases) - len(names)
        error = None if outcome == "succeeded" else clip.error(cause or run_sentence(outcome))
        kept = [part for call in self._calls.values() for part in (call.args, call.result)]
        return Trace(
            outcome=outcome,
            phases=names,
            operations=operations,
            counts=Counts(
                dropped_values=sum(part.dropped for part in kept) + missing_phases,
                truncated_values=sum(part.truncated for part in kept) + clip.cuts + (missing_phases > 0),
                redacted_values=sum(part.redacted for part in kept),
                dropped_operations=self._dropped_operations,
            ),
            error=error,
        )


class _Clipper:
    """Cuts names and errors to their bounds and counts the cuts."""

    def __init__(self) -> None:
        self.cuts = 0

    def identifier(self, text: str) -> str:
        return self._clip(text, MAX_IDENTIFIER_BYTES)

    def error(self, text: str) -> str:
        return self._clip(text, MAX_ERROR_BYTES)

    def _clip(self, text: str, max_bytes: int) -> str:
        clipped, is_cut = clip_text(text, max_bytes)
        self.cuts += is_cut
        return clipped


def _operation(call: _Call, run_outcome: Outcome, clip: _Clipper) -> Operation:
    outcome, stage = call.outcome, call.stage
    if outcome is None:
        outcome = run_outcome if run_outcome in {"timed_out", "aborted"} else "failed"
        stage = "invoke"
    if run_outcome == "timed_out" and outcome == "aborted":
        # The deadline is what aborted it.
        outcome = "timed_out"
    error = call.error if stage is None else call.error or call_sentence(stage, outcome)
    provider, action = call.names or (None, None)
    return Operation(
        sequence=call.sequence,
        ref=clip.identifier(call.ref),
        provider=None if provider is None else clip.identifier(provider),
        action=None if action is None else clip.identifier(action),
        args=call.args.value,
        outcome=outcome,
        failure_stage=stage,
        error=None if error is None else clip.error(error),
        result=call.result.value,
    )


def _start(name: str) -> str:
    # Enough to be cut at sealing, so that a huge name is not held for the whole run.
    return name[: MAX_IDENTIFIER_BYTES + 1]
