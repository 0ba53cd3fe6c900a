"""Floor 11: the command line. One file per command; `commands.COMMANDS` names them all."""

from pi_fabric.cli.entry import main

__all__ = ["main"]
