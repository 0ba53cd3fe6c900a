import pytest
from hypothesis import given
from session_files import JSON_VALUES

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.memory.files_touched import named_paths, traced_paths


@pytest.mark.requirement("memory:files:keys")
@pytest.mark.parametrize(
    ("arguments", "paths"),
    [
        ({"path": "a", "filePath": "b", "FILES": ["c", "d"], "paths": "e"}, ["a", "b", "c", "d", "e"]),
        ({"filename": "a", "pathological": "b", "note": "c"}, []),
        ({"edits": [{"file": "a"}, {"deep": {"file_path": "b"}}]}, ["a", "b"]),
        ({"path": "  a  ", "file": "a", "other_file": " "}, ["a"]),
        ({"path": {"inner": "a", "file": "b"}, "files": [["c"], 5, None]}, ["b", "c"]),
        ({"path": 5}, []),
        ({"10_file": "b", "9": {"path": "c"}, "1": {"path": "a"}}, ["a", "c", "b"]),
        ("path", []),
        ([{"path": "a"}], ["a"]),
    ],
)
def test_paths_are_texts_under_the_names_of_arguments(arguments: Json, paths: list[str]) -> None:
    assert named_paths(arguments) == paths


@pytest.mark.requirement("memory:files:trace")
@pytest.mark.parametrize(
    ("ref", "arguments", "paths"),
    [
        ("pi.read", {"path": " a ", "file": "b"}, ["a"]),
        ("pi.edit", {"path": None, "file": "b", "dir": "c"}, ["b"]),
        ("pi.ls", {"dir": "c"}, ["c"]),
        ("pi.grep", {"paths": ["a"]}, []),
        ("pi.bash", {"path": "a"}, []),
        ("read", {"path": "a"}, []),
        ("mcp.fs.read", {"path": "a"}, []),
        ("pi.write", {"path": 5}, []),
    ],
)
def test_of_an_operation_only_the_core_file_tools_have_a_path(
    ref: str, arguments: JsonObject, paths: list[str]
) -> None:
    assert traced_paths(ref, arguments) == paths


def test_arguments_nest_as_deep_as_they_like() -> None:
    value: Json = {"path": "a"}
    for _ in range(5_000):
        value = [value]

    assert named_paths(value) == ["a"]


@given(JSON_VALUES)
def test_no_arguments_are_too_strange(arguments: Json) -> None:
    assert all(path.strip() == path and path for path in named_paths(arguments))
