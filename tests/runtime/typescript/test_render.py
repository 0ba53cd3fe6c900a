import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.runtime.typescript import Diagnostic, recovery_hint, render
from pi_fabric.runtime.typescript.render import MAX_COLUMNS, NAMED_STRINGS_HINT


def syntax(line: int, column: int, code: int = 1109) -> Diagnostic:
    return Diagnostic(line=line, column=column, code=code, message="Expression expected.", is_syntax=True)


@pytest.mark.requirement("typescript:errors:type")
def test_a_type_error_is_one_line() -> None:
    problem = Diagnostic(line=2, column=5, code=2304, message="Cannot find name 'x'.", is_syntax=False)

    assert render(problem, "a\n    x") == "2:5 Cannot find name 'x'."


@pytest.mark.requirement("typescript:errors:syntax")
def test_a_syntax_error_shows_its_line_and_a_caret() -> None:
    assert (
        render(syntax(2, 11), "let a;\nconst x = ;\n")
        == "2:11 Expression expected.\nconst x = ;\n          ^"
    )


def test_a_caret_may_stand_behind_the_last_character() -> None:
    assert render(syntax(1, 4), "f({").splitlines()[1:] == ["f({", "   ^"]


def test_a_tab_does_not_move_the_caret() -> None:
    assert render(syntax(1, 3), "\t\t;").splitlines()[1:] == ["  ;", "  ^"]


def test_a_wide_character_moves_the_caret_by_two() -> None:
    assert render(syntax(1, 4), "'漢';").splitlines()[2] == "    ^"


def test_an_astral_character_counts_two_units_and_takes_two_columns() -> None:
    assert render(syntax(1, 5), "'😀';").splitlines()[2] == "    ^"


def test_control_characters_never_reach_the_terminal() -> None:
    assert "\x1b" not in render(syntax(1, 1), "\x1b[31m;")


def test_a_long_line_is_cut_around_the_caret() -> None:
    code = "x" * 300 + ";" + "y" * 300

    _, shown, caret = render(syntax(1, 301), code).splitlines()

    assert len(shown) <= MAX_COLUMNS
    assert (shown[0], shown[-1]) == ("…", "…")
    assert shown[len(caret) - 1] == ";"


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=200), st.integers(1, 400))
def test_a_caret_line_always_fits(code: str, column: int) -> None:
    lines = render(syntax(1, column), code).split("\n")

    assert len(lines) == 3
    assert len(lines[2]) <= MAX_COLUMNS + 1


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("const s = 'a\nb';", syntax(1, 13, 1002)),
        ("const s = `abc", syntax(1, 15, 1160)),
        ("const s = `a `code` b`", syntax(1, 15, 1005)),
        ("const s = 'don't'", syntax(1, 16, 1005)),
    ],
)
@pytest.mark.requirement("typescript:errors:named-strings")
def test_broken_text_leads_to_named_strings(code: str, problem: Diagnostic) -> None:
    assert recovery_hint([problem], code) == NAMED_STRINGS_HINT


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("const x = ;", syntax(1, 11)),
        ("f(1 2)", syntax(1, 5, 1005)),
        ("'a' + b", Diagnostic(line=1, column=4, code=1005, message="m", is_syntax=False)),
    ],
)
@pytest.mark.requirement("typescript:errors:named-strings")
def test_other_errors_lead_nowhere(code: str, problem: Diagnostic) -> None:
    assert recovery_hint([problem], code) is None
