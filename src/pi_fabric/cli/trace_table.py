"""A trace as a small table: what was called, with what, and how it ended."""

from rich.table import Table
from rich.text import Text

from pi_fabric.base.bounds import clip_bytes
from pi_fabric.base.jsonvalue import Json, JsonObject, stringify
from pi_fabric.base.printable import printable

# A long run is read from its ends; the whole trace is in the JSON.
MAX_ROWS = 40
# What fits beside number, reference and outcome in 80 columns.
MAX_ARGUMENT_BYTES = 44
_STYLES = {"succeeded": "green", "failed": "red", "timed_out": "yellow", "aborted": "yellow"}


def trace_table(trace: JsonObject, *, max_rows: int = MAX_ROWS) -> Table:
    """Lay out the first operations of a sealed trace in 80 columns, and count the others."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("#", justify="right", style="dim")
    table.add_column("CALL", no_wrap=True)
    table.add_column("ARGUMENTS", no_wrap=True)
    table.add_column("OUTCOME", no_wrap=True)
    operations: list[JsonObject] = trace["operations"]
    for operation in operations[:max_rows]:
        outcome = str(operation["outcome"])
        stage = f" ({operation['failureStage']})" if "failureStage" in operation else ""
        table.add_row(
            str(operation["sequence"]),
            Text(printable(str(operation["ref"]))),
            Text(_arguments(operation["args"]), style="dim"),
            Text(outcome + stage, style=_STYLES[outcome]),
        )
    left_out = max(0, len(operations) - max_rows) + int(trace["counts"]["droppedOperations"])
    if left_out > 0:
        table.add_row("", f"and {left_out} more", "", "")
    return table


def _arguments(args: Json) -> str:
    shown = " ".join(f"{key}={_value(value)}" for key, value in args.items())
    return clip_bytes(printable(shown), MAX_ARGUMENT_BYTES)


def _value(value: Json) -> str:
    return value if isinstance(value, str) else stringify(value)
