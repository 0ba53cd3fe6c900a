import json
import sys
from pathlib import Path

import anyio
import pytest
from kinds.compare import differences

import pi_fabric
from pi_fabric.base.jsonvalue import Json
from pi_fabric.base.process import child_process, inherited_environment
from run import KINDS, kind_of, run, run_file

HERE = Path(__file__).parent
GOLDEN = HERE / "data" / "config.jsonl"
SHARED = HERE.parents[2] / "shared" / "goldens" / "config.jsonl"


def golden_with(tmp_path: Path, name: str, *lines: str) -> Path:
    path = tmp_path / name
    path.write_text("\n".join(lines))
    return path


def a_wrong_case() -> str:
    case = json.loads(GOLDEN.read_text().splitlines()[0])
    case["output"]["config"]["ui"]["maxRows"] = 7
    return json.dumps(case)


@pytest.mark.requirement("config:golden:whole")
@pytest.mark.anyio
async def test_the_recorded_configurations_are_met() -> None:
    result = await run_file(GOLDEN)

    assert (result.passed, result.failures, result.problem) == (2, [], "")


@pytest.mark.anyio
async def test_every_recorded_configuration_is_met() -> None:
    if not SHARED.exists():
        pytest.skip("the shared goldens are not beside this project")
    result = await run_file(SHARED)

    assert result.passed
    assert result.failures == []


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["tokenizer", "normalize", "digest", "recall", "expand", "sessions"])
async def test_every_recorded_answer_of_memory_is_met(kind: str) -> None:
    golden = SHARED.with_name(f"{kind}.jsonl")
    if not golden.exists():
        pytest.skip("the shared goldens are not beside this project")
    result = await run_file(golden)

    assert result.passed
    assert result.failures == []


@pytest.mark.anyio
async def test_a_file_that_was_never_seen_is_taken_by_the_beginning_of_its_name(tmp_path: Path) -> None:
    path = golden_with(tmp_path, "config-held-out.2.jsonl", GOLDEN.read_text(), "", "")

    assert (await run_file(path)).passed == 2


@pytest.mark.parametrize(
    ("name", "kind"),
    [("trace_record.jsonl", "trace_record"), ("config-a.b.jsonl", "config"), ("clip.more-x", "clip")],
)
def test_a_kind_is_a_name_up_to_the_first_dash_or_dot(name: str, kind: str) -> None:
    assert kind_of(Path(name)) == kind


@pytest.mark.anyio
async def test_a_failing_case_is_named_with_its_differences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = golden_with(tmp_path, "config.jsonl", a_wrong_case(), GOLDEN.read_text().splitlines()[1])

    assert await run([path, GOLDEN]) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{path}: 1 passed, 1 failed",
        "  empty",
        "    ui.maxRows: expected 7, found 6",
        f"{GOLDEN}: 2 passed, 0 failed",
        "3 passed, 1 failed",
    ]


@pytest.mark.anyio
async def test_a_check_that_raises_fails_its_case_alone(tmp_path: Path) -> None:
    path = golden_with(tmp_path, "config.jsonl", "{}", "[]", "{", *GOLDEN.read_text().splitlines())
    result = await run_file(path)

    assert result.passed == 2
    assert [name for name, _ in result.failures] == ["line 1", "line 2", "line 3"]


@pytest.mark.anyio
async def test_a_flood_of_failures_is_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = golden_with(tmp_path, "config.jsonl", *["{}"] * 1_000)

    assert await run([path]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == ["  and 990 more cases", "0 passed, 1000 failed"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("config.jsonl", "\n \n", "holds no cases"),
        ("config.jsonl", None, "cannot be read: No such file or directory"),
        ("strange.jsonl", "{}", "unknown kind 'strange'"),
    ],
)
async def test_a_file_that_cannot_be_used_is_a_failure(
    tmp_path: Path, name: str, text: str | None, problem: str
) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_text(text)

    assert (await run_file(path)).problem.startswith(problem)
    assert await run([path, GOLDEN]) == 1


@pytest.mark.anyio
async def test_running_no_file_is_a_failure() -> None:
    assert await run([]) == 1


@pytest.mark.anyio
@pytest.mark.parametrize(("file", "code"), [(GOLDEN, 0), (HERE / "config.none", 1)])
async def test_the_script_ends_with_the_sum_and_an_exit_code(file: Path, code: int) -> None:
    argv = [sys.executable, str(HERE / "run.py"), str(file)]
    env = inherited_environment({"PYTHONPATH": str(Path(pi_fabric.__file__).parents[1])})
    with anyio.fail_after(30):
        async with child_process(argv, env=env) as process:
            assert process.stdout is not None
            text = b"".join([chunk async for chunk in process.stdout]).decode()
            assert await process.wait() == code

    assert text.splitlines()[-1] == ("2 passed, 0 failed" if code == 0 else "0 passed, 1 failed")


def test_kinds_are_listed_in_order() -> None:
    assert list(KINDS) == sorted(KINDS)


@pytest.mark.parametrize(
    ("expected", "actual", "lines"),
    [
        ({"a": [1, {"b": 2.0}]}, {"a": [1.0, {"b": 2 + 1e-12}]}, []),
        ({"a": 1}, {"a": True}, ["a: expected 1, found true"]),
        ({"a": 1, "b": 2}, {"a": 1, "c": 3}, ["b: missing", "c: not expected"]),
        ([1, 2], [1], ["value: 2 items expected, 1 found"]),
        ({"a": [{"b": "x"}]}, {"a": [{"b": "y"}]}, ['a[0].b: expected "x", found "y"']),
        (None, {}, ["value: expected null, found {}"]),
    ],
)
def test_differences_name_the_place(expected: Json, actual: Json, lines: list[str]) -> None:
    assert differences(expected, actual) == lines
