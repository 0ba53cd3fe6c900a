"""Exceptions out of task groups."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TypeGuard


@contextmanager
def sole_exception() -> Generator[None]:
    """Let a lone exception out of a task group as itself, so that callers can catch it by its class.

    Several at once stay a group: none of them may get lost.
    """
    try:
        yield
    except BaseExceptionGroup as group:
        error = lone(group)
        if error is group:
            raise
        raise error from error.__cause__


def lone(error: BaseException) -> BaseException:
    """The one exception that task groups have wrapped; a group of several stays a group."""
    while _is_group(error) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _is_group(error: BaseException) -> TypeGuard[BaseExceptionGroup[BaseException]]:
    return isinstance(error, BaseExceptionGroup)
