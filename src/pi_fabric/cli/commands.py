"""Every command by name. A new one is a file in this folder and a row here."""

from typing import NamedTuple


class Command(NamedTuple):
    """What the overview says about a command, and where it is."""

    target: str
    """`module:attribute` of a typer app, imported when the command is called."""
    summary: str
    """One line."""
    example: str
    """Arguments of a typical call."""


COMMANDS: dict[str, Command] = {
    "exec": Command(
        "pi_fabric.cli.exec:app", "Run a program in the sandbox.", "exec program.ts --timeout 30"
    ),
    "compact": Command(
        "pi_fabric.cli.compact:app",
        "Show what a compaction of a session would keep.",
        "compact session.jsonl --window 200000 --explain",
    ),
    "recall": Command(
        "pi_fabric.cli.recall:app",
        "Search past sessions, or browse them.",
        "recall flaky timeout --scope global --since 2w",
    ),
    "expand": Command(
        "pi_fabric.cli.expand:app", "Open entries of a session in full.", "expand session.jsonl --index 12"
    ),
    "sessions": Command(
        "pi_fabric.cli.sessions:app", "List past sessions, newest first.", "sessions --scope global"
    ),
    "memory": Command(
        "pi_fabric.cli.memory:app", "Look at the index of sessions, or remove it.", "memory status"
    ),
    "certify": Command(
        "pi_fabric.cli.certify:app", "Prove what holds, against the installed Pi.", "certify context"
    ),
    "benchmark": Command(
        "pi_fabric.cli.benchmark:app",
        "Measure resuming with a real model; needs to be enabled.",
        "benchmark real-resume",
    ),
    "pi": Command("pi_fabric.cli.pi:app", "Add Fabric to Pi, or take it out again.", "pi install"),
    "doctor": Command("pi_fabric.cli.doctor:app", "Find what is wrong and how to mend it.", "doctor"),
    "config": Command("pi_fabric.cli.config:app", "Show every setting and where it was set.", "config show"),
}
