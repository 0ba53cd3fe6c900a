"""Which sessions a command is about, as somebody types it."""

from typing import Annotated, TypeAlias

import typer

from pi_fabric.base.errors import RequestError
from pi_fabric.cli.quoted import MAX_MISTYPED_BYTES, one_line
from pi_fabric.memory.discovery import SCOPES, SESSION_PREFIX

ScopeOption: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="SCOPE", help="session (the project's newest), project, global, or session:ID-OR-PATH."
    ),
]


def check_scope(scope: str) -> None:
    """Refuse a scope that is none: a program gets the current session for it, a person has mistyped.

    Raises:
        RequestError: If it is none.
    """
    if scope not in SCOPES and not scope.startswith(SESSION_PREFIX):
        shown = one_line(scope, MAX_MISTYPED_BYTES)
        raise RequestError("--scope", f"{shown!r} is none of\n  {', '.join(SCOPES)} or session:ID-OR-PATH")
