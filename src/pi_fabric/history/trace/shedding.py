"""Make a trace fit its bound by leaving out what matters least, and count what went.

Sizes are those of `JSON.stringify` in UTF-8. Each part is measured once, so that shedding is linear in
the trace however much must go.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from pi_fabric.base.bounds import json_bytes
from pi_fabric.base.jsonvalue import Json, JsonObject

_RESULT_KEY_BYTES = len(',"result":')
_EMPTY_BYTES = len("{}")


class Draft:
    """A trace that is being made smaller; the input is left as it was."""

    def __init__(self, trace: JsonObject, max_bytes: int) -> None:
        self._trace = dict(trace)
        self._operations: list[JsonObject] = list(trace["operations"])
        self._phases: list[str] = list(trace["phases"])
        self._counts: dict[str, int] = dict(trace["counts"])
        self._max_bytes = max_bytes
        self._operation_bytes = [json_bytes(operation) for operation in self._operations]
        self._bytes = self._frame_bytes() + sum(self._operation_bytes) + max(0, len(self._operations) - 1)

    @property
    def is_over(self) -> bool:
        """True while something must still go."""
        # The counts grow while parts go, so they are measured anew; they are a few digits.
        return self._bytes + json_bytes(self._counts) > self._max_bytes

    def drop_results(self) -> None:
        """Leave out results, from the last operation on."""
        for index in reversed(range(len(self._operations))):
            if not self.is_over:
                return
            operation = self._operations[index]
            if "result" in operation:
                kept = {key: value for key, value in operation.items() if key != "result"}
                self._shrink(index, kept, _RESULT_KEY_BYTES + json_bytes(operation["result"]))

    def drop_arguments(self) -> None:
        """Leave out arguments, from the last operation on."""
        for index in reversed(range(len(self._operations))):
            if not self.is_over:
                return
            operation = self._operations[index]
            if operation["args"]:
                freed = json_bytes(operation["args"]) - _EMPTY_BYTES
                self._shrink(index, operation | {"args": {}}, freed)

    def drop_operations(self) -> None:
        """Leave out whole operations, from the last on."""
        while self._operations and self.is_over:
            self._operations.pop()
            comma = 1 if self._operations else 0
            self._bytes -= self._operation_bytes.pop() + comma
            self._counts["droppedOperations"] += 1

    def drop_phases(self) -> None:
        """Leave out phases, from the last on."""
        while self._phases and self.is_over:
            phase = self._phases.pop()
            self._bytes -= json_bytes(phase) + (1 if self._phases else 0)
            self._counts["droppedValues"] += 1

    def drop_error(self) -> None:
        """Leave out why the run did not succeed."""
        if self.is_over and "error" in self._trace:
            self._bytes -= json_bytes(self._trace.pop("error")) + len(',"error":')
            self._counts["droppedValues"] += 1

    def finish(self) -> JsonObject:
        """The trace as it is now."""
        parts: dict[str, Json] = {
            "phases": self._phases,
            "operations": self._operations,
            "counts": self._counts,
        }
        return self._trace | parts

    def _frame_bytes(self) -> int:
        frame: JsonObject = {**self._trace, "operations": [], "phases": self._phases, "counts": {}}
        return json_bytes(frame) - _EMPTY_BYTES

    def _shrink(self, index: int, operation: JsonObject, freed_bytes: int) -> None:
        self._operations[index] = operation
        self._operation_bytes[index] -= freed_bytes
        self._bytes -= freed_bytes
        self._counts["droppedValues"] += 1
        self._counts["truncatedValues"] += 1


Step: TypeAlias = Callable[[Draft], None]

SEALING: Final[tuple[Step, ...]] = (
    Draft.drop_results,
    Draft.drop_arguments,
    Draft.drop_operations,
    Draft.drop_phases,
)
"""What a trace sheds when it is sealed, in order."""
PERSISTING: Final[tuple[Step, ...]] = (Draft.drop_operations, Draft.drop_phases, Draft.drop_error)
"""What it sheds when the record around it needs room, in order."""


def shed(trace: JsonObject, *, max_bytes: int, steps: tuple[Step, ...] = SEALING) -> JsonObject:
    """Make `trace` at most `max_bytes` of JSON.

    Args:
        trace: A valid V1 trace of any size.
        max_bytes: Bound in UTF-8 bytes of `JSON.stringify`.
        steps: What may go, in order; each goes only as far as needed.

    Returns:
        `trace` itself when it fits.
    """
    draft = Draft(trace, max_bytes)
    if not draft.is_over:
        return trace
    for step in steps:
        step(draft)
    return draft.finish()
