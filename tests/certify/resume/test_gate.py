"""Nothing runs, and nothing is spent, unless every switch says so."""

from pathlib import Path

import pytest

from pi_fabric.certify.resume.gate import VARIABLES, Gate, Refused, Skipped, read_gate

KEY = "sk-secret-123456"
OPEN = {
    "PI_FABRIC_REAL_RESUME": "1",
    "PI_FABRIC_BENCH_PROVIDER": "anthropic",
    "PI_FABRIC_BENCH_MODEL": "claude-sonnet-4-5",
    "PI_FABRIC_BENCH_KEY_ENV": "SOME_KEY",
    "PI_FABRIC_BENCH_MAX_USD": "5",
    "SOME_KEY": KEY,
}
HERE = Path(__file__).parent


def problems(**changes: str) -> tuple[str, ...]:
    gate = read_gate(OPEN | changes, HERE)
    assert isinstance(gate, Refused)
    return gate.problems


@pytest.mark.requirement("certify:resume:skip")
@pytest.mark.parametrize(
    ("environ", "reason"),
    [
        ({}, "PI_FABRIC_REAL_RESUME is not set"),
        (OPEN | {"PI_FABRIC_REAL_RESUME": ""}, "PI_FABRIC_REAL_RESUME is not set"),
        (OPEN | {"PI_FABRIC_REAL_RESUME": "true"}, "PI_FABRIC_REAL_RESUME is not 1"),
        (OPEN | {"PI_FABRIC_REAL_RESUME": "0"}, "PI_FABRIC_REAL_RESUME is not 1"),
    ],
)
def test_only_a_one_enables_it(environ: dict[str, str], reason: str) -> None:
    assert read_gate(environ, HERE) == Skipped(reason=reason)


@pytest.mark.requirement("certify:resume:gate")
def test_all_switches_together_open_the_gate_and_repeats_are_three() -> None:
    assert read_gate(OPEN, HERE) == Gate(
        provider="anthropic",
        model="claude-sonnet-4-5",
        key_env="SOME_KEY",
        key=KEY,
        max_usd=5.0,
        repeats=3,
    )


@pytest.mark.requirement("certify:resume:gate")
@pytest.mark.parametrize("name", [each.name for each in VARIABLES if each.is_required][1:])
def test_a_missing_switch_is_named(name: str) -> None:
    assert problems(**{name: ""}) == (f"{name} is not set",)


@pytest.mark.requirement("certify:resume:gate")
def test_several_problems_are_all_told_at_once() -> None:
    found = read_gate({"PI_FABRIC_REAL_RESUME": "1", "PI_FABRIC_BENCH_REPEATS": "many"}, HERE)
    assert isinstance(found, Refused)
    assert [problem.split()[0].removeprefix("PI_FABRIC_BENCH_") for problem in found.problems] == [
        "PROVIDER",
        "MODEL",
        "KEY_ENV",
        "MAX_USD",
        "REPEATS",
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PROVIDER", "--help"),
        ("MODEL", "a b"),
        ("MODEL", "m" * 201),
        ("MAX_USD", "five"),
        ("MAX_USD", "0"),
        ("MAX_USD", "-1"),
        ("MAX_USD", "nan"),
        ("MAX_USD", "inf"),
        ("REPEATS", "0"),
        ("REPEATS", "101"),
        ("REPEATS", "1.5"),
        ("REPEATS", "9" * 5000),
    ],
)
def test_a_malformed_switch_is_named(name: str, value: str) -> None:
    (problem,) = problems(**{f"PI_FABRIC_BENCH_{name}": value})
    assert problem.startswith(f"PI_FABRIC_BENCH_{name} is no")


@pytest.mark.requirement("certify:resume:key")
@pytest.mark.parametrize("key", ["sk-ant-api03-abc", "AIzaSyLooksLikeAName", "MISSING_KEY"])
def test_a_key_in_the_place_of_its_variables_name_is_not_shown(key: str) -> None:
    assert key not in " ".join(problems(PI_FABRIC_BENCH_KEY_ENV=key))


@pytest.mark.requirement("certify:resume:key")
def test_a_key_too_short_to_be_kept_out_of_reports_is_refused_and_not_shown() -> None:
    (problem,) = problems(SOME_KEY="q7z")
    assert "too short" in problem
    assert "q7z" not in problem


def test_a_gate_does_not_show_the_key() -> None:
    assert KEY not in repr(read_gate(OPEN, HERE))


@pytest.mark.parametrize("name", ["PI_VCC_EXTENSION", "PI_FABRIC_BENCH_MODELS"])
def test_files_are_looked_up_before_anything_is_spent(name: str) -> None:
    assert problems(**{name: "nowhere.js"}) == (f"{name} names no file",)
    gate = read_gate(OPEN | {name: "test_gate.py"}, HERE)
    assert isinstance(gate, Gate)
    assert Path(__file__) in (gate.pi_vcc, gate.models)
