import pytest

from pi_fabric.runtime.typescript.callsites import argument_starts


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("f({})", [2]),
        ("f(1, {})", [2, 5]),
        ("a.b(x => x, { c: [1, 2] })", [4, 12]),
        ("new K({})", [6]),
        ("f<T>({})", [5]),
        ("f?.({})", [4]),
        ("f(/\\(/, `x${g(1)}`, '(', {})", [2, 8, 14, 20, 25]),
        ("const o = {}, p = [{}, {}];", []),
        ("return ({});", []),
        ("const f = () => ({});", []),
        ("if (a) b;", []),
        ("f /* why */ ( // here\n {})", [23]),
        ("f(", []),
        (")]}", []),
    ],
)
def test_only_arguments_of_calls_are_found(code: str, expected: list[int]) -> None:
    assert sorted(argument_starts(code)) == expected
