"""What failed, and whether the same thing succeeded later.

Nothing is read out of an error's words. A failure is over when a later operation with exactly the same
identity succeeded: tool and path, or command, or ref and arguments.
"""

from bisect import bisect_right
from collections.abc import Sequence

from pi_fabric.base.jsonvalue import stringify
from pi_fabric.base.jstext import collapse, first_line, truncate
from pi_fabric.compaction.operations import Performed
from pi_fabric.compaction.projections.source import Source
from pi_fabric.compaction.sampling import sampled_lines
from pi_fabric.compaction.section import Line, Section, item

# The format's numbers.
MAX_OPEN = 24
MAX_RESOLVED = 8
TARGET_UNITS = 80
ERROR_UNITS = 120

Resolved = tuple[Performed, Performed]
"""A failure and the first later success of the same thing."""


def outstanding(source: Source) -> Section:
    """Failures that stand, then failures that a later success resolved."""
    standing, resolved = _sorted(source.operations)
    lines, omitted = sampled_lines(standing, MAX_OPEN, _standing_line)
    settled, missing = sampled_lines(resolved, MAX_RESOLVED, _resolved_line)
    return Section(name="outstanding", lines=(*lines, *settled), omitted=omitted + missing)


def identity(done: Performed) -> tuple[str, ...]:
    """What must be equal for one operation to be another try of the other."""
    if done.path is not None:
        return "file", done.tool or done.ref, done.path
    if done.command is not None:
        return "bash", done.command
    # Arguments in the order in which they were given: another order is another call.
    return "call", done.ref, stringify(done.args)


def _sorted(operations: Sequence[Performed]) -> tuple[list[Performed], list[Resolved]]:
    failures = [done for done in operations if not done.succeeded]
    # Written arguments can be long, so a success is only identified where its like ever failed.
    failed_names = {done.tool or done.ref for done in failures}
    identities = [identity(failure) for failure in failures]
    successes = {one: list[Performed]() for one in identities}
    for done in operations:
        if (done.tool or done.ref) in failed_names and done.succeeded:
            same = successes.get(identity(done))
            if same is not None:
                same.append(done)
    standing: list[Performed] = []
    resolved: list[Resolved] = []
    for failure, one in zip(failures, identities, strict=True):
        same = successes[one]
        later = bisect_right(same, failure.index, key=lambda done: done.index)
        if later < len(same):
            resolved.append((failure, same[later]))
        else:
            standing.append(failure)
    return standing, resolved


def _standing_line(failure: Performed) -> Line:
    return item(failure.address, f"{_what(failure)} {_how(failure)}")


def _resolved_line(pair: Resolved) -> Line:
    failure, success = pair
    return item(failure.address, f"{_what(failure)}: resolved in {collapse(success.address)}")


def _what(done: Performed) -> str:
    ref, target = truncate(done.ref, TARGET_UNITS), done.target(TARGET_UNITS)
    return f"{ref} {target}" if target else ref


def _how(failure: Performed) -> str:
    ending = failure.ending
    words = truncate(first_line(failure.error or ""), ERROR_UNITS)
    return f'{ending}: "{words}"' if words else ending
