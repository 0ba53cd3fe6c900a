import pytest

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.history.events.file_tools import file_tool_of, path_argument


@pytest.mark.parametrize(
    ("ref", "tool"),
    [("read", "read"), ("pi.ls", "ls"), ("Read", None), ("other.read", None), ("bash", None), ("", None)],
)
def test_a_file_tool_is_called_bare_or_through_pi(ref: str, tool: str | None) -> None:
    assert file_tool_of(ref) == tool


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ({"dir": "d", "file": "f", "path": " p "}, ("path", " p ")),
        ({"path": None, "file": "f"}, ("file", "f")),
        ({"path": 5, "file": "f"}, None),
        ({"path": " \t", "file": "f"}, None),
        ({}, None),
    ],
)
def test_the_first_argument_that_is_there_names_the_path(
    args: JsonObject, named: tuple[str, str] | None
) -> None:
    assert path_argument(args) == named
