"""The score: files and a program decide, outside the model."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from pi_fabric.base.process import inherited_environment
from pi_fabric.certify.resume.fixture import Fixture, load_fixture
from pi_fabric.certify.resume.oracle import score
from pi_fabric.certify.resume.workplace import copy_repo
from tests.certify.resume.own_fixture import write_fixture
from tools import install_pi


class Task:
    """A fixture and a repository in which its task is done."""

    def __init__(self, folder: Path, **changes: Any) -> None:
        self.fixture = load_fixture(write_fixture(folder / "mine", **changes))
        self.repo = folder / "repo"
        copy_repo(self.fixture, self.repo)
        self.write("answer.txt", "forty-two\n")

    def write(self, path: str, text: str) -> None:
        (self.repo / path).write_text(text, encoding="utf-8")

    def reasons(self) -> list[str]:
        return scored(self.fixture, self.repo)


def scored(fixture: Fixture, repo: Path) -> list[str]:
    async def run() -> tuple[str, ...]:
        return await score(fixture, repo, node=install_pi.node(), environment=inherited_environment())

    return list(anyio.run(run))


def oracle(code: str) -> list[str]:
    return ["{python}", "-c", code]


@pytest.mark.requirement("certify:resume:oracle")
def test_a_task_that_is_done_has_no_reasons(tmp_path: Path) -> None:
    assert Task(tmp_path).reasons() == []


@pytest.mark.requirement("certify:resume:oracle")
def test_a_file_that_differs_is_told_with_its_line_and_so_is_the_oracle(tmp_path: Path) -> None:
    task = Task(tmp_path)
    task.write("answer.txt", "forty-three\n")
    assert task.reasons() == [
        "answer.txt: line 1: expected “forty-two”, found “forty-three”",
        "the oracle failed (exit code 1)",
    ]


@pytest.mark.requirement("certify:resume:oracle")
@pytest.mark.parametrize(
    ("comparison", "content", "reasons"),
    [
        ("bytes", "forty-two", ["line 2: expected “”, found the end"]),
        ("bytes", "forty-two\r\n", ["line 1: expected “forty-two”, found “forty-two”"]),
        ("text", "forty-two  \r\n\r\n", []),
        ("text", "forty-two\nx", ["line 2: expected the end, found “x”"]),
    ],
)
def test_bytes_and_text_are_compared_as_the_fixture_says(
    tmp_path: Path, comparison: str, content: str, reasons: list[str]
) -> None:
    task = Task(tmp_path, expected={"answer.txt": comparison}, oracle=oracle(""))
    (task.repo / "answer.txt").write_bytes(content.encode())
    assert task.reasons() == [f"answer.txt: {reason}" for reason in reasons]


@pytest.mark.parametrize(
    ("content", "reasons"),
    [
        ('{"b": 2, "a": [1]}', []),
        ('{"a": [1], "b": 3}', ['expected “"b": 2”, found “"b": 3”']),
        ('{"a": [true], "b": 2}', ["expected “1”, found “true”"]),
        ("{", ["is not JSON"]),
        ("[" * 100_000, ["is not JSON"]),
    ],
    ids=["equal", "other", "boolean", "broken", "deep"],
)
def test_json_is_compared_by_value(tmp_path: Path, content: str, reasons: list[str]) -> None:
    folder = write_fixture(tmp_path / "mine", expected={"answer.txt": "json"}, oracle=oracle(""))
    (folder / "expected" / "answer.txt").write_text('{"a": [1], "b": 2}')
    fixture = load_fixture(folder)
    copy_repo(fixture, tmp_path / "repo")
    (tmp_path / "repo" / "answer.txt").write_text(content)
    assert scored(fixture, tmp_path / "repo") == [f"answer.txt: {reason}" for reason in reasons]


@pytest.mark.requirement("certify:resume:forbidden")
@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("open('fixed.txt', 'a').write(' ')", "fixed.txt: must not change, but did"),
        ("os.remove('fixed.txt')", "fixed.txt: must not change, but is not there"),
        ("os.remove('fixed.txt'); os.mkdir('fixed.txt')", "fixed.txt: must not change, but is not a file"),
        (
            "os.rename('fixed.txt', 'x'); os.symlink('x', 'fixed.txt')",
            "fixed.txt: must not change, but is reached through a link",
        ),
        ("open('kept/one.txt', 'w')", "kept/one.txt: must not change, but did"),
        ("open('kept/two.txt', 'w')", "kept/two.txt: was added where nothing may change"),
        (
            "os.rename('kept', 'x'); os.symlink('x', 'kept')",
            "kept/one.txt: must not change, but is reached through a link",
        ),
    ],
)
def test_a_forbidden_change_fails_a_task_that_is_done(tmp_path: Path, script: str, reason: str) -> None:
    task = Task(tmp_path, oracle=oracle(f"import os; {script}"))
    # The first score runs the script, as a model would have.
    task.reasons()
    assert reason in task.reasons()


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import sys; sys.exit('not yet')", "the oracle failed (exit code 1): not yet"),
        ("raise ValueError('no')", "the oracle failed (exit code 1): ValueError: no"),
        ("import os; os.kill(os.getpid(), 9)", "the oracle failed (signal 9)"),
        ("import sys; sys.stdin.read(); sys.exit(len(sys.argv))", "the oracle failed (exit code 1)"),
        ("print('x' * 10**6); raise SystemExit(2)", "the oracle failed (exit code 2)"),
    ],
    ids=["says", "raises", "killed", "no-input", "long"],
)
def test_how_an_oracle_failed_is_told_with_its_last_words(tmp_path: Path, code: str, reason: str) -> None:
    assert Task(tmp_path, oracle=oracle(code)).reasons() == [reason]


def test_an_oracle_of_nodes_is_told_by_its_message(tmp_path: Path) -> None:
    code = "import assert from 'node:assert'; assert.equal(1, 2, 'one is not two')"
    (reason,) = Task(tmp_path, oracle=["{node}", "--input-type=module", "-e", code]).reasons()
    assert reason == "the oracle failed (exit code 1): AssertionError [ERR_ASSERTION]: one is not two"


def test_an_oracle_that_never_ends_is_ended(tmp_path: Path) -> None:
    task = Task(tmp_path, oracle=oracle("import sys, signal; signal.pause()"), oracleTimeoutS=0.2)
    assert task.reasons() == ["the oracle took longer than 0.2 s"]


def test_an_oracle_that_is_not_there_is_named(tmp_path: Path) -> None:
    (reason,) = Task(tmp_path, oracle=["{fixture}/no-such-program"]).reasons()
    assert reason == "the oracle cannot be started: No such file or directory"


def test_the_fixtures_own_folder_is_where_an_oracle_may_lie(tmp_path: Path) -> None:
    task = Task(tmp_path, oracle=["{python}", "{fixture}/check.py"])
    (task.fixture.folder / "check.py").write_text(
        "import json, os, sys\njson.dump([os.getcwd(), sys.executable], open('../told.json', 'w'))\n"
    )
    assert task.reasons() == []
    told = json.loads((tmp_path / "told.json").read_text())
    assert told == [os.path.realpath(task.repo), sys.executable]


def test_of_a_thousand_reasons_ten_are_told(tmp_path: Path) -> None:
    task = Task(tmp_path)
    for number in range(1000):
        task.write(f"kept/extra-{number}.txt", "")
    reasons = task.reasons()
    assert len(reasons) == 11
    assert reasons[-1] == "and 990 more"
