"""The certification's report for people: a table of phases, and every check that failed."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pi_fabric.certify.checks import Phase
from pi_fabric.certify.context import Report, VersionReport


def summarize(report: Report) -> Iterator[RenderableType]:
    """The parts of the summary, in order."""
    for version in report.versions:
        yield _table(version)
        yield from _failures(version)
    yield Text(verdict(report), style="bold green" if report.holds else "bold red")


def verdict(report: Report) -> str:
    """One sentence about the whole."""
    versions = " and ".join(version.pi.version for version in report.versions)
    if not report.holds:
        phases = [phase for one in report.versions for phase in one.phases]
        failed = sum(not check.holds for phase in phases for check in phase.checks.values())
        stopped = sum(bool(phase.problem) for phase in phases)
        reasons = (_counted(failed, "check") + " failed", _counted(stopped, "phase") + " could not be ended")
        told = " and ".join(text for text, count in zip(reasons, (failed, stopped), strict=True) if count)
        return f"NOT CERTIFIED against Pi {versions}: {told}."
    if not report.size.is_whole:
        return f"Everything holds in the short form against Pi {versions}; this certifies nothing."
    return f"CERTIFIED against Pi {versions}."


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _table(version: VersionReport) -> Table:
    table = Table(title=f"Pi {version.pi.version}", title_justify="left", box=None, pad_edge=False)
    for name in ("phase", "", "checks", "seconds", "figures"):
        table.add_column(name, justify="right" if name in ("checks", "seconds") else "left")
    for phase in version.phases:
        held = sum(check.holds for check in phase.checks.values())
        mark = Text("holds", style="green") if phase.holds else Text("FAILS", style="red")
        checks = f"{held}/{len(phase.checks)}"
        table.add_row(phase.name, mark, checks, f"{phase.seconds:.1f}", _figures(phase))
    return table


def _figures(phase: Phase) -> str:
    """The two or three figures that a person asks for first."""
    figures = phase.figures
    match phase.name:
        case "driver" if figures:
            return f"{figures['functions']} of Pi's functions"
        case "endurance" if "compactions" in figures:
            return f"{figures['compactions']} compactions, last {figures['summaryBytesLast']:,} bytes"
        case "closures" if figures:
            return f"{figures['fixtures']} fixtures"
        case "saturation" if "summaryBytes" in figures:
            return f"{figures['sourceBytes']:,} bytes to {figures['summaryBytes']:,}"
        case "memory" if "expandedAddresses" in figures:
            eligible = figures["coverage"]["eligibleSessions"]
            return f"{eligible:,} sessions, {figures['expandedAddresses']:,} addresses"
        case "continuation" if figures:
            return f"{figures['tasks']} tasks"
        case _:
            return ""


def _failures(version: VersionReport) -> Iterator[RenderableType]:
    for phase in version.phases:
        lines: list[RenderableType] = []
        if phase.problem:
            lines.append(Text(f"{phase.name}: {phase.problem}", style="red"))
        for check in phase.checks.values():
            # What a phase no longer came to says nothing beside the reason why it ended.
            if check.failed or not (check.passed or phase.problem):
                tally = (
                    f"{check.failed} of {check.failed + check.passed} times" if check.failed else "never seen"
                )
                lines.append(Text(f"{phase.name}: {check.name}: {tally}", style="red"))
                lines += [Text(f"  {failure[:200]}") for failure in check.failures]
        if lines:
            yield Group(*lines)
