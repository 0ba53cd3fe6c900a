import pytest

from pi_fabric.execution.guest_errors import MAX_FRAMES, describe_error
from pi_fabric.runtime.engine import GuestError


def shift_up(line: int, column: int) -> tuple[int, int] | None:
    return (line - 1, column) if line > 1 else None


@pytest.mark.requirement("exec:errors:positions")
def test_frames_are_in_positions_of_the_submitted_text() -> None:
    error = GuestError(
        name="TypeError",
        message="no",
        stack="    at inner (program.js:3:7)\n    at program (program.js:9:1)\n    at k (kernel.js:1:1)\n",
    )
    assert describe_error(error, shift_up) == (
        "TypeError: no\n    at inner (guest code:2:7)\n    at guest code:8:1"
    )


def test_a_frame_of_the_wrapper_has_no_position() -> None:
    error = GuestError(name="E", message="m", stack="    at x (program.js:1:1)")
    assert describe_error(error, shift_up) == "E: m\n    at x (guest code)"


def test_a_frame_of_a_syntax_error_found_at_run_time_has_no_name() -> None:
    error = GuestError(name="SyntaxError", message="m", stack="    at program.js:3:15\n")
    assert describe_error(error, shift_up) == "SyntaxError: m\n    at guest code:2:15"


def test_a_thrown_value_without_name_or_stack_is_still_told() -> None:
    assert describe_error(GuestError(name="", message="5", stack=""), shift_up) == "5"


def test_the_frames_of_endless_recursion_are_bounded() -> None:
    error = GuestError(name="E", message="m", stack="    at f (program.js:2:2)\n" * 5000)
    assert describe_error(error, shift_up).count("guest code") == MAX_FRAMES
