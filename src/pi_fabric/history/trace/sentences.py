"""What a trace says about a failure whose cause may not be kept.

These sentences carry no payload: they name the stage and the way it ended.
"""

from collections.abc import Mapping
from typing import Final

from pi_fabric.protocol.actions import Outcome, Stage

_REFUSED: Final[Mapping[Stage, str]] = {
    "resolve": "no such action",
    "guard": "the run may not call this",
    "prepare": "the arguments could not be made ready",
    "validate": "the arguments do not fit the action's schema",
    "approve": "the call was not approved",
    "invoke": "the action reported an error",
}
_ENDED: Final[Mapping[Outcome, str]] = {
    "aborted": "cancelled",
    "timed_out": "out of time",
}
PREVIEW_ONLY: Final = "result cut: the program got a preview of it"
"""Stands in `error` of a call that succeeded: readers of V1 accept it there, and no key may be added."""
_RUN_ENDED: Final[Mapping[Outcome, str]] = {
    "failed": "the program ended with an error",
    "aborted": "the run was cancelled",
    "timed_out": "the run took longer than allowed",
}


def call_sentence(stage: Stage, outcome: Outcome) -> str:
    """Why a call did not succeed, when no better cause is known."""
    reason = _ENDED.get(outcome, _REFUSED[stage])
    return f"{stage}: {reason}"


def run_sentence(outcome: Outcome) -> str:
    """Why a run did not succeed, when no better cause is known."""
    return _RUN_ENDED[outcome]
