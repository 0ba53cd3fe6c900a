"""The one way from a program to a provider.

Stages: resolve, guard, prepare, validate, approve, invoke, then the bound on the result. The stage that
failed is what the trace records. Everything that happens is told to one sink and to nobody else.
"""

import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import anyio
import anyio.to_thread

from pi_fabric.actions.approvals import Approvals
from pi_fabric.actions.arguments import fits, repair, validate
from pi_fabric.actions.outcomes import cause_of, outcome_of_record
from pi_fabric.actions.registry import Catalogue, Resolved
from pi_fabric.base.clock import Deadline
from pi_fabric.base.errors import FabricError, InvalidArguments, UnknownAction
from pi_fabric.base.jsonvalue import UNDEFINED, Json, JsonObject, Undefined, object_or_empty
from pi_fabric.protocol.actions import CallContext, ImageBlock, Outcome, Stage
from pi_fabric.protocol.events import (
    CallEnded,
    CallPrepared,
    CallResolved,
    CallStarted,
    CallUpdated,
    EntityUpdated,
    EventSink,
)

Guard: TypeAlias = Callable[[str, JsonObject], None]
"""Refuses a call by raising a FabricError before anything is prepared."""
Internal: TypeAlias = Callable[[JsonObject], Awaitable[Json]]
"""Answers a reference that is Fabric's own: no policy applies and its result is not traced."""
Bound: TypeAlias = Callable[[Json], tuple[Json, bool]]
"""Cuts a result to what a program may get; the flag says whether it did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineContext:
    """What all calls of one execution share."""

    catalogue: Catalogue
    approvals: Approvals
    deadline: Deadline
    cwd: Path
    sink: EventSink
    guards: Sequence[Guard]
    internal: Mapping[str, Internal]
    bound: Bound
    attach: Callable[[ImageBlock], None]
    interruption: Callable[[], Literal["aborted", "timed_out"]]
    """Why calls are being cancelled, when they are."""


class Pipeline:
    """Carries the calls of one execution; they may overlap."""

    def __init__(self, context: PipelineContext) -> None:
        self._context = context
        self._next_sequence = 0

    async def call(self, ref: str, args: Json, *, is_computed: bool = False) -> Json | Undefined:
        """Serve one call and return what the program gets.

        Args:
            ref: `provider.action`, or an internal reference.
            args: As the program sent them; anything but an object counts as no arguments.
            is_computed: True when the program made up the reference; an internal one is then unknown.

        Raises:
            FabricError: If the call failed; the message is meant for the program.
        """
        sequence = self.take_sequence()
        call_id = f"fabric_{uuid.uuid4()}"
        self._context.sink(CallStarted(sequence=sequence, call_id=call_id, ref=ref, args=args))
        internal = None if is_computed else self._context.internal.get(ref)
        call = _Call(self._context, sequence=sequence, call_id=call_id, ref=ref)
        return await call.run(args, internal)

    def take_sequence(self) -> int:
        """Number the next operation of this execution."""
        sequence = self._next_sequence
        self._next_sequence += 1
        return sequence


class _Call:
    """One call on its way through the stages."""

    def __init__(self, context: PipelineContext, *, sequence: int, call_id: str, ref: str) -> None:
        self._context = context
        self._sequence = sequence
        self._call_id = call_id
        self._ref = ref
        self._stage: Stage = "resolve"

    async def run(self, args: Json, internal: Internal | None) -> Json | Undefined:
        try:
            if internal is not None:
                return await self._answer_internally(internal, args)
            return await self._through_stages(args)
        except anyio.get_cancelled_exc_class():
            self._end(self._context.interruption(), error=None)
            raise
        except FabricError as error:
            self._end("failed", error=error)
            raise
        except Exception as error:
            # The one boundary of the pipeline: a provider's bug is a failed call, not a failed run.
            wrapped = FabricError(f"{self._ref}: {type(error).__name__}: {error}")
            self._end("failed", error=wrapped)
            raise wrapped from error

    async def _through_stages(self, args: Json) -> Json | Undefined:
        resolved = await self._context.catalogue.resolve(self._ref)
        self._context.sink(
            CallResolved(
                sequence=self._sequence, provider=resolved.provider.name, action=resolved.action.name
            )
        )
        prepared = await self._prepare(resolved, args)
        self._stage = "invoke"
        returned = await resolved.provider.invoke(resolved.action.name, prepared, self._call_context())
        return self._finish(returned)

    async def _prepare(self, resolved: Resolved, args: Json) -> JsonObject:
        self._stage = "guard"
        for guard in self._context.guards:
            guard(self._ref, object_or_empty(args))
        self._stage = "prepare"
        prepared = repair(resolved.action, args)
        if prepared is not args:
            self._tell_executed(prepared)
        self._stage = "validate"
        if not fits(resolved.action, prepared):
            await anyio.to_thread.run_sync(validate, resolved.action, self._ref, prepared)
        self._stage = "approve"
        await self._context.approvals.require(resolved.action, self._ref, prepared)
        return prepared

    async def _answer_internally(self, internal: Internal, args: Json) -> Json:
        self._stage = "invoke"
        try:
            answer = await internal(object_or_empty(args))
        except UnknownAction:
            self._stage = "resolve"
            raise
        except InvalidArguments:
            self._stage = "validate"
            raise
        self._end("succeeded", error=None)
        return answer

    def _finish(self, returned: Json) -> Json:
        kept, truncated = self._context.bound(returned)
        outcome = outcome_of_record(returned)
        self._context.sink(
            CallEnded(
                sequence=self._sequence,
                outcome=outcome,
                stage=None if outcome == "succeeded" else "invoke",
                cause=None if outcome == "succeeded" else "the action returned a record of failure",
                error=None,
                result=returned,
                truncated=truncated,
            )
        )
        return kept

    def _end(self, outcome: Outcome, *, error: FabricError | None) -> None:
        self._context.sink(
            CallEnded(
                sequence=self._sequence,
                outcome=outcome,
                stage=None if outcome == "succeeded" else self._stage,
                cause=None if error is None else cause_of(error),
                error=None if error is None else error.message,
                result=UNDEFINED,
            )
        )

    def _call_context(self) -> CallContext:
        return CallContext(
            call_id=self._call_id,
            ref=self._ref,
            cwd=self._context.cwd,
            deadline=self._context.deadline,
            update=self._tell_partial,
            attach=self._context.attach,
            executed=self._tell_executed,
            activity=self._tell_activity,
        )

    def _tell_partial(self, partial: Json) -> None:
        self._context.sink(CallUpdated(sequence=self._sequence, partial=partial))

    def _tell_activity(self, entity: JsonObject) -> None:
        self._context.sink(EntityUpdated(sequence=self._sequence, entity=entity))

    def _tell_executed(self, args: JsonObject) -> None:
        self._context.sink(CallPrepared(sequence=self._sequence, args=args))
