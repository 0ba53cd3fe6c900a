"""Which call of `fabric_exec` the present task works for.

Pi runs nested tools and asks questions in the context of the tool call that wants them, so every
request to Pi names it. Tasks inherit the name from the task that started them.
"""

from contextvars import ContextVar

from pi_fabric.base.errors import Unavailable

CURRENT: ContextVar[str] = ContextVar("pi_fabric_execution")


def current_execution() -> str:
    """The id that Pi gave to the call of `fabric_exec`.

    Raises:
        Unavailable: If the task does not work for one.
    """
    execution = CURRENT.get(None)
    if execution is None:
        raise Unavailable("Pi's tools are not within reach here", "call them from a running program")
    return execution
