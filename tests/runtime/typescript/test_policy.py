import pytest

from pi_fabric.runtime.typescript.policy import IGNORED_CODES, early_close, judge
from pi_fabric.runtime.typescript.reported import Reported
from pi_fabric.runtime.typescript.wrapper import CHARS_BEFORE, HEADER, closing_offset, wrap, wrap_for_check


def report(offset: int, code: int, message: str = "m") -> Reported:
    return Reported(offset=CHARS_BEFORE + offset, code=code, message=message)


def test_both_wrappers_have_the_same_length_and_the_same_brace() -> None:
    code = "return 1;"

    assert len(wrap(code)) == len(wrap_for_check(code))
    assert wrap(code).startswith(HEADER)
    assert wrap(code)[closing_offset(code)] == wrap_for_check(code)[closing_offset(code)] == "}"


@pytest.mark.parametrize("number", sorted(IGNORED_CODES))
@pytest.mark.requirement("typescript:policy:ignored")
def test_a_type_that_merely_disagrees_does_not_refuse(number: int) -> None:
    assert judge([report(0, number)], "f(x)") == []


@pytest.mark.parametrize("number", [2304, 2554, 2365, 2588])
@pytest.mark.requirement("typescript:policy:refused")
def test_other_semantic_errors_refuse(number: int) -> None:
    assert [problem.code for problem in judge([report(2, number)], "f(x)")] == [number]


@pytest.mark.parametrize("number", [2739, 2740, 2741])
@pytest.mark.requirement("typescript:policy:missing-properties")
def test_missing_properties_refuse_except_in_an_argument(number: int) -> None:
    code = "f({}); const q: Q = {};"

    problems = judge([report(2, number), report(13, number)], code)

    assert [problem.column for problem in problems] == [14]


@pytest.mark.requirement("typescript:pi:second-argument")
def test_a_second_value_that_is_no_options_object_refuses() -> None:
    message = "Argument of type 'string' is not assignable to parameter of type 'CallOptions'."

    (problem,) = judge([report(13, 2345, message)], "pi.read('a', 'b')")

    assert problem.column == 14
    assert "one value and an object of options" in problem.message


def test_positions_count_utf16_units_in_the_submitted_text() -> None:
    code = "'😀';\r\n '😀', x"

    (problem,) = judge([report(code.index("x"), 2304)], code)

    assert (problem.line, problem.column) == (2, 8)


def test_what_is_reported_behind_the_program_belongs_to_its_end() -> None:
    code = "if (true) {\n  f();"

    (problem,) = judge([report(len(code) + 3, 1005)], code)

    assert (problem.line, problem.column) == (2, 7)


def test_syntax_is_told_from_meaning() -> None:
    problems = judge([report(0, 1109), report(0, 2304), report(0, 18026)], "x")

    assert [problem.is_syntax for problem in problems] == [True, False, True]


def test_advice_that_cannot_be_followed_is_left_out() -> None:
    message = "Cannot find name 'process'. Do you need to install type definitions for node? Try `npm i`."

    (problem,) = judge([report(0, 2591, message)], "process")

    assert "npm" not in problem.message
    assert problem.message.startswith("Cannot find name 'process'.")


@pytest.mark.parametrize(
    ("code", "number"),
    [("import x from 'fs'", 1232), ("export const a = 1", 1184), ("export default 5", 1258)],
)
def test_imports_and_exports_are_explained(code: str, number: int) -> None:
    (problem,) = judge([report(0, number)], code)

    assert "cannot import or export" in problem.message


def test_a_misplaced_modifier_that_is_no_export_keeps_its_message() -> None:
    (problem,) = judge([report(0, 1184, "Modifiers cannot appear here.")], "public x = 1")

    assert problem.message == "Modifiers cannot appear here."


@pytest.mark.parametrize(
    ("code", "offset", "number"),
    [("import('fs')", 7, 2307), ("require('fs')", 0, 2580), ("import('fs')", 7, 2591)],
)
def test_loading_modules_is_explained(code: str, offset: int, number: int) -> None:
    (problem,) = judge([report(offset, number)], code)

    assert "cannot load modules" in problem.message


def test_a_message_is_one_bounded_line() -> None:
    (problem,) = judge([report(0, 2304, "first\n  second" + "x" * 5000)], "x")

    assert "\n" not in problem.message
    assert problem.message.startswith("first second")
    assert len(problem.message.encode()) <= 500


def test_the_brace_that_ends_the_program_early_is_pointed_at() -> None:
    problem = early_close(CHARS_BEFORE + 5, "f();\n} {")

    assert (problem.line, problem.column, problem.is_syntax) == (2, 1, True)
