from pi_fabric.base.jsonvalue import UNDEFINED
from pi_fabric.execution.progress import RunProgress
from pi_fabric.protocol.events import CallEnded, CallResolved, CallStarted


def started(sequence: int, ref: str) -> CallStarted:
    return CallStarted(sequence=sequence, call_id=f"fabric_{sequence}", ref=ref, args={})


def test_open_calls_are_counted_by_reference_and_the_librarys_own_are_not_named() -> None:
    progress = RunProgress()
    for sequence, ref in enumerate(["fabric.workflow.parallel", "pi.read", "pi.bash", "pi.read"]):
        progress(started(sequence, ref))
    assert progress.summary() == "0 calls done; running: pi.read (2), pi.bash"
    progress(CallEnded(sequence=2, outcome="failed", stage="invoke", cause=None, error="x", result=UNDEFINED))
    assert progress.summary() == "1 call done, 1 failed; running: pi.read (2)"


def test_an_event_that_changes_nothing_for_a_person_is_not_worth_a_redraw() -> None:
    progress = RunProgress()
    assert progress(started(0, "pi.read"))
    assert not progress(CallResolved(sequence=0, provider="pi", action="read"))
