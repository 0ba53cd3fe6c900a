"""What programs did besides touching files: phases, then calls."""

from pi_fabric.base.jstext import truncate
from pi_fabric.compaction.operations import Performed
from pi_fabric.compaction.projections.source import Source
from pi_fabric.compaction.sampling import sampled_lines
from pi_fabric.compaction.section import Line, Section, item
from pi_fabric.history.events.model import FabricPhase

# The format's number.
MAX_ACTIVITY = 48
# Short enough that all of them fit the block.
NAME_UNITS = 80
COMMAND_UNITS = 40


def activity(source: Source) -> Section:
    """Phases and calls of programs, file tools left out, with how each call ended."""
    phases = [_phase(event) for event in source.phases]
    calls = [_call(done) for done in source.operations if done.is_nested and done.file_tool is None]
    lines, omitted = sampled_lines([*phases, *calls], MAX_ACTIVITY, lambda line: line)
    return Section(name="activity", lines=tuple(lines), omitted=omitted)


def _phase(event: FabricPhase) -> Line:
    return item(event.address, f"phase {truncate(event.phase, NAME_UNITS)}")


def _call(done: Performed) -> Line:
    words = [truncate(done.ref, NAME_UNITS)]
    if target := done.target(COMMAND_UNITS):
        words.append(f"`{target}`")
    if not done.succeeded:
        words.append(done.ending)
    return item(done.address, " ".join(words))
