"""The host's end of one running program: calls go to the pipeline, one-way messages to their readers."""

from collections.abc import Callable

from pi_fabric.actions.pipeline import Pipeline
from pi_fabric.actions.registry import Catalogue
from pi_fabric.actions.shapes import shape_call
from pi_fabric.base.jsonvalue import UNDEFINED, Json, Undefined, is_array
from pi_fabric.protocol.events import CallEnded, CallStarted, EventSink
from pi_fabric.runtime.engine import COMPUTED_MARK, VALUES_MARK


class GuestBridge:
    """A `GuestHost` over the pipeline of one execution."""

    def __init__(
        self, pipeline: Pipeline, catalogue: Catalogue, sink: EventSink, log: Callable[[str], None]
    ) -> None:
        self._pipeline = pipeline
        self._catalogue = catalogue
        self._sink = sink
        self._log = log
        self._operations: dict[Json, int] = {}

    async def call(self, ref: str, args: Json) -> Json | Undefined:
        """Serve one host call of the guest's library."""
        mark, rest = ref[:1], ref[1:]
        if mark == VALUES_MARK:
            found = self._catalogue.find(rest)
            values = args if is_array(args) else []
            return await self._pipeline.call(rest, shape_call(found and found.action.shape, values))
        if mark == COMPUTED_MARK:
            return await self._pipeline.call(rest, args, is_computed=True)
        return await self._pipeline.call(ref, args)

    def notify(self, kind: str, payload: list[Json]) -> None:
        """Take a log line, or the begin or end of an operation that the library traces."""
        match kind, payload:
            case "log", [str(text)]:
                self._log(text)
            case "operation", ["begin", str(ref), args]:
                sequence = self._pipeline.take_sequence()
                self._operations[args["id"]] = sequence
                self._sink(CallStarted(sequence=sequence, call_id=f"fabric_{sequence}", ref=ref, args=args))
            case "operation", ["end", operation, bool(succeeded)] if operation in self._operations:
                self._end_operation(self._operations.pop(operation), succeeded)
            case _:
                # The library sends nothing else; what a forged frame says is of no interest.
                return

    def _end_operation(self, sequence: int, succeeded: bool) -> None:
        self._sink(
            CallEnded(
                sequence=sequence,
                outcome="succeeded" if succeeded else "failed",
                stage=None if succeeded else "invoke",
                cause=None,
                error=None,
                result=UNDEFINED,
            )
        )
