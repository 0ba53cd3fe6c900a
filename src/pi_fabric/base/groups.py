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
        error: BaseException = group
        while _is_group(error) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        if error is group:
            raise
        raise error from error.__cause__


def _is_group(error: BaseException) -> TypeGuard[BaseExceptionGroup[BaseException]]:
    return isinstance(error, BaseExceptionGroup)
