"""Fixtures: the two that are built in, one's own, and what is said of broken ones."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pi_fabric.base.errors import ConfigError
from pi_fabric.certify.resume.fixture import BUILT_IN, Fixture, load_fixture, load_fixtures
from pi_fabric.certify.resume.workplace import KEEP_RECENT_TOKENS
from pi_fabric.history.session import estimate_tokens, read_session
from tests.certify.resume.make_fixtures import STORIES, written
from tests.certify.resume.own_fixture import message, session_lines, write_fixture, write_session


def refusal(folder: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        load_fixture(folder)
    return caught.value.message.removeprefix(f"{folder}/")


@pytest.mark.requirement("certify:resume:fixtures")
def test_two_fixtures_are_built_in() -> None:
    assert [fixture.name for fixture in load_fixtures(BUILT_IN)] == ["release-notes", "tenant-limits"]


@pytest.mark.parametrize("tell", STORIES, ids=lambda tell: tell.__name__)
def test_the_built_in_sessions_are_what_their_stories_write(tell: Callable[[], Any]) -> None:
    file = BUILT_IN / tell.__name__.replace("_", "-") / "session.jsonl"
    assert file.read_text(encoding="utf-8") == written(tell())


@pytest.mark.requirement("certify:resume:fixtures")
@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("tenant-limits", ["burst of 37", "900 ms", "x-tenant-code"]),
        ("release-notes", ["4.7.0-rc.2", "Quiet Heron", "Amara Okafor"]),
    ],
)
def test_the_facts_of_a_task_are_told_early_and_never_again(name: str, facts: list[str]) -> None:
    entries = read_session(BUILT_IN / name / "session.jsonl").entries
    texts = [json.dumps(entry["message"]) for entry in entries]
    for fact in facts:
        (place, *_) = [number for number, text in enumerate(texts) if fact in text]
        assert place < 8
        assert not any(fact in text for text in texts[12:])
    assert sum(estimate_tokens(entry["message"]) for entry in entries[12:]) > 4 * KEEP_RECENT_TOKENS


@pytest.mark.requirement("certify:resume:own")
def test_a_fixture_of_ones_own_is_read_whole(tmp_path: Path) -> None:
    write_fixture(tmp_path / "mine", oracleTimeoutS=5)
    (tmp_path / "README.md").write_text("passed over")
    (tmp_path / ".git").mkdir()
    (fixture,) = load_fixtures(tmp_path)
    assert fixture == Fixture(
        name="mine",
        title="A small one",
        folder=tmp_path / "mine",
        expected={"answer.txt": "bytes"},
        forbidden=("fixed.txt", "kept"),
        oracle=("{python}", "-c", fixture.oracle[2]),
        oracle_timeout_s=5,
    )


@pytest.mark.requirement("certify:resume:own")
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"oracle": []}, "fixture.json: $.oracle: Expected `array` of length >= 1"),
        ({"oracle": "node"}, "fixture.json: $.oracle: Expected `array`, got `str`"),
        ({"oracle": ["{home}/x"]}, "fixture.json: $.oracle[0]: {home} is unknown; there are {python}"),
        ({"expect": {}}, "fixture.json: Object contains unknown field `expect`"),
        ({"expected": {"answer.txt": "yaml"}}, "fixture.json: $.expected[...]: Invalid enum value 'yaml'"),
        ({"expected": {"no.txt": "text"}}, 'fixture.json: $.expected["no.txt"]: there is no file expected/'),
        ({"expected": {"../x": "text"}}, 'fixture.json: $.expected["../x"]: is not a path within'),
        ({"expected": {"answer.txt": "json"}}, "expected/answer.txt: is to be compared as JSON"),
        ({"forbidden": ["/etc"]}, "fixture.json: $.forbidden[0]: is not a path within"),
        ({"forbidden": ["gone.txt"]}, "fixture.json: $.forbidden[0]: repo/gone.txt is not there"),
        ({"oracleTimeoutS": 0}, "fixture.json: $.oracleTimeoutS: Expected `float` > 0"),
    ],
)
def test_a_wrong_description_is_refused_with_file_and_field(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    assert refusal(write_fixture(tmp_path / "mine", **changes)).startswith(words)


def test_a_path_cannot_be_expected_and_forbidden(tmp_path: Path) -> None:
    folder = write_fixture(tmp_path / "mine", forbidden=["answer.txt"])
    (folder / "repo" / "answer.txt").write_text("")
    assert "expected to change and forbidden to" in refusal(folder)


@pytest.mark.requirement("certify:resume:own")
@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([], "session.jsonl: has no header"),
        ([session_lines()[0] | {"version": 2}, *session_lines()[1:]], "session.jsonl: is of format 2"),
        (session_lines("relative"), "session.jsonl: the header names no absolute cwd"),
        (session_lines()[:1], "session.jsonl: the branch that Pi resumes has no message of the role user"),
        (
            session_lines()[:2],
            "session.jsonl: the branch that Pi resumes has no message of the role assistant",
        ),
        ([*session_lines(), message("a3", "gone", "user", "x")], "session.jsonl: line 4, byte "),
        (
            [*session_lines(), message("a3", "a2", "assistant", "x", stopReason="toolUse")],
            "session.jsonl: the branch ends between a tool call and its result",
        ),
    ],
)
def test_a_session_that_cannot_be_resumed_is_refused(
    tmp_path: Path, lines: list[dict[str, Any]], words: str
) -> None:
    folder = write_fixture(tmp_path / "mine")
    write_session(folder, lines)
    assert refusal(folder).startswith(words)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    folder = write_fixture(tmp_path / "mine")
    (folder / "session.jsonl").unlink()
    assert refusal(folder) == "session.jsonl: there is no session file"
    (folder / "fixture.json").write_text("{")
    assert refusal(folder).startswith("fixture.json: Input data was truncated")
    (folder / "fixture.json").unlink()
    assert refusal(folder) == "fixture.json: cannot be read: No such file or directory"


def test_a_repository_without_files_or_with_links_is_refused(tmp_path: Path) -> None:
    folder = write_fixture(tmp_path / "mine")
    (folder / "repo" / "link").symlink_to("/etc/passwd")
    assert refusal(folder) == "repo/link: is no regular file; links and devices cannot be compared"
    (tmp_path / "repo").mkdir()
    (folder / "repo").rename(tmp_path / "old")
    assert refusal(folder) == "repo: is no folder; the repository belongs there"
    (folder / "repo").mkdir()
    assert refusal(folder) == "repo: is empty"


def test_a_name_that_a_table_cannot_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not made of a-z"):
        load_fixture(write_fixture(tmp_path / "My Fixture"))


def test_a_folder_without_fixtures_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="holds no fixtures"):
        load_fixtures(tmp_path)
    with pytest.raises(ConfigError, match="cannot be read"):
        load_fixtures(tmp_path / "nowhere")
