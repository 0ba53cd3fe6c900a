import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pi_fabric.config.jsonfile import MAX_FILE_BYTES, JsonFile, read_json_object


def read(tmp_path: Path, data: bytes) -> JsonFile:
    path = tmp_path / "fabric.json"
    path.write_bytes(data)
    return read_json_object(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary() | st.text('{}[]",:\\ue0123456789.+-NaInfity \n').map(lambda text: text.encode()))
def test_any_bytes_are_read_or_refused_with_a_reason(tmp_path: Path, data: bytes) -> None:
    file = read(tmp_path, data)

    assert (file.state == "read") == (file.problem == "")
    assert file.state != "absent"


def test_a_file_that_is_not_there_is_no_problem(tmp_path: Path) -> None:
    assert read_json_object(tmp_path / "no" / "fabric.json").state == "absent"


@pytest.mark.requirement("config:file:not-json")
@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "is not JSON: line 1, column 1: the file is empty"),
        (b" \n", "is not JSON: line 2, column 1: the file is empty"),
        (b'{"a": 1,\n "b": }', "is not JSON: line 2, column 7: a value is expected here"),
        (b'{"a": 1,\r\n "b": }', "is not JSON: line 2, column 7: a value is expected here"),
        (b'{"a": [1, 2', "is not JSON: line 1, column 12: the text ends too early"),
        (b'// note\n{"a": 1}', "is not JSON: line 1, column 1: a value is expected here"),
        (b'{"NaN": 1,\n  "a": NaN}', "is not JSON: line 2, column 8: NaN is no number"),
        (b'{"a": -Infinity}', "is not JSON: line 1, column 7: -Infinity is no number"),
        (b'{"a": "b\nc"}', "is not JSON: line 1, column 9: a string holds a line break or control character"),
        (b'{"a": 1,\n}', "is not JSON: line 2, column 1: a key in double quotes is expected here"),
        (b'{"a" 1}', "is not JSON: line 1, column 6: a colon is expected here"),
        (
            b'{"a": 1 "b": 2}',
            "is not JSON: line 1, column 9: a comma or the closing bracket is expected here",
        ),
        (b'{"a": "b}', "is not JSON: line 1, column 7: the string that begins here has no end"),
        (b'{"a": "\\x"}', "is not JSON: line 1, column 8: the backslash begins no known escape"),
        (b'{"a": 1}}', "is not JSON: line 1, column 9: something follows after the closing bracket"),
        (b"[1]", "holds JSON that is not an object"),
        (b"null", "holds JSON that is not an object"),
        ('{"a": 1}'.encode("utf-16"), "is not UTF-8 but UTF-16; save it as UTF-8"),
        (b"[" * 100_000, "is nested deeper than 64 levels"),
        (b'{"a":' * 65 + b"1" + b"}" * 65, "is nested deeper than 64 levels"),
    ],
)
def test_what_is_no_json_object_is_refused_with_its_place(tmp_path: Path, data: bytes, problem: str) -> None:
    file = read(tmp_path, data)

    assert (file.state, file.value, file.problem) == ("unusable", {}, problem)


@pytest.mark.requirement("config:file:repaired")
@pytest.mark.parametrize(
    ("data", "value", "repair", "is_exact"),
    [
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}, "begins with a byte order mark, which was skipped", True),
        (b'{"a": 1, "a": 2}', {"a": 2}, 'names "a" more than once; the last one counts', True),
        (b'{"a": "\xff"}', {"a": "\ufffd"}, "holds bytes that are not UTF-8; each was read as U+FFFD", False),
        (
            b'{"\\ud800": 1}',
            {"\ufffd": 1},
            "holds half of a surrogate pair, which was read as U+FFFD",
            False,
        ),
        (
            b'{"a": -1e999}',
            {"a": float("-inf")},
            "holds a number too large for JavaScript, which counts as infinite",
            False,
        ),
    ],
)
def test_what_is_nearly_right_is_read_and_reported(
    tmp_path: Path, data: bytes, value: object, repair: str, is_exact: bool
) -> None:
    file = read(tmp_path, data)

    assert (file.state, file.value, file.repairs, file.is_exact) == ("read", value, (repair,), is_exact)


def test_a_number_of_many_digits_counts_as_javascript_counts_it(tmp_path: Path) -> None:
    assert read(tmp_path, b'{"a": ' + b"9" * 5_000 + b"}").value == {"a": float("inf")}


def test_windows_line_ends_are_nothing_special(tmp_path: Path) -> None:
    file = read(tmp_path, b'{\r\n  "a": 1\r\n}\r\n')

    assert (file.value, file.repairs) == ({"a": 1}, ())


def test_many_repeated_names_are_listed_in_part(tmp_path: Path) -> None:
    pairs = ",".join(f'"k{number % 7}": 0' for number in range(14))

    assert read(tmp_path, f"{{{pairs}}}".encode()).repairs == (
        'names "k0", "k1", "k2", "k3", "k4" and 2 more more than once; the last one counts',
    )


@pytest.mark.requirement("config:file:unreadable")
def test_a_file_beyond_the_bound_is_refused(tmp_path: Path) -> None:
    file = read(tmp_path, b'{"a": "' + b"x" * (10 * MAX_FILE_BYTES) + b'"}')

    assert file.problem == "is larger than 1,024 KiB"


@pytest.mark.requirement("config:file:unreadable")
def test_a_folder_in_the_files_place_is_refused(tmp_path: Path) -> None:
    assert read_json_object(tmp_path).problem == "is a folder, not a file"


@pytest.mark.requirement("config:file:unreadable")
def test_a_pipe_in_the_files_place_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "fabric.json"
    os.mkfifo(path)

    assert read_json_object(path).problem == "is not an ordinary file"


@pytest.mark.requirement("config:file:unreadable")
def test_a_file_without_read_permission_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "fabric.json"
    path.write_text("{}")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")

    assert read_json_object(path).problem == "cannot be read: Permission denied"


@pytest.mark.requirement("config:file:unreadable")
def test_a_link_that_leads_round_in_circles_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "fabric.json"
    path.symlink_to(path)

    assert read_json_object(path).problem.startswith("cannot be read: ")
