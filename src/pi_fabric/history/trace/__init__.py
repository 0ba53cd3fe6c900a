"""Execution traces V1: record, seal, bound, read."""

from pi_fabric.history.trace.envelope import MAX_ENVELOPE_BYTES, persisted_details
from pi_fabric.history.trace.model import MAX_TRACE_BYTES, Counts, Operation, Trace
from pi_fabric.history.trace.reader import read_trace
from pi_fabric.history.trace.recorder import TraceRecorder

__all__ = [
    "MAX_ENVELOPE_BYTES",
    "MAX_TRACE_BYTES",
    "Counts",
    "Operation",
    "Trace",
    "TraceRecorder",
    "persisted_details",
    "read_trace",
]
