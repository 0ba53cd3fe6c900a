from pathlib import Path

import pytest

from pi_fabric.base.paths import agent_dir, expand_home, home_dir, shorten_home

HOME = {"HOME": "/home/u"}


@pytest.mark.requirement("config:agent-dir:default")
def test_the_agent_folder_is_in_the_home_folder() -> None:
    assert agent_dir(HOME) == Path("/home/u/.pi/agent")


@pytest.mark.requirement("config:agent-dir:variable")
@pytest.mark.parametrize(
    ("value", "folder"),
    [
        ("/x/agent", "/x/agent"),
        ("~/agent", "/home/u/agent"),
        ("~", "/home/u"),
        ("~u/agent", "~u/agent"),
        ("relative", "relative"),
        ("", "/home/u/.pi/agent"),
    ],
)
def test_the_variable_moves_the_agent_folder(value: str, folder: str) -> None:
    assert agent_dir(HOME | {"PI_CODING_AGENT_DIR": value}) == Path(folder)


def test_a_path_after_the_tilde_never_leaves_the_home_folder_by_a_second_slash() -> None:
    assert expand_home("~//etc", HOME) == Path("/home/u/etc")


def test_without_a_home_variable_the_accounts_home_counts() -> None:
    assert home_dir({"HOME": ""}) == Path.home()


def test_paths_in_the_home_folder_are_shown_short() -> None:
    assert shorten_home(Path("/home/u/a/b"), HOME) == "~/a/b"
    assert shorten_home(Path("/home/user/a"), HOME) == "/home/user/a"
