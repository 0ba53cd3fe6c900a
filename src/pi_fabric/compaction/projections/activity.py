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
    calls = [done for done in source.operations if done.is_nested and done.file_tool is None]
    lines, omitted = sampled_lines([*source.phases, *calls], MAX_ACTIVITY, _line)
    return Section(name="activity", lines=tuple(lines), omitted=omitted)


def _line(done: FabricPhase | Performed) -> Line:
    if isinstance(done, FabricPhase):
        return item(done.address, f"phase {truncate(done.phase, NAME_UNITS)}")
    words = [truncate(done.ref, NAME_UNITS)]
    if target := done.target(COMMAND_UNITS):
        words.append(f"`{target}`")
    if not done.succeeded:
        words.append(done.ending)
    return item(done.address, " ".join(words))
