from pathlib import Path

import pytest
from manifest import problems

HERE = Path(__file__).parent
ROW = '["area:feature:variant"]\nsource = "s"\nbehaviour = "b"\n'
TEST = 'import pytest\n@pytest.mark.requirement("area:feature:variant")\ndef test_it(): ...\n'


def found(tmp_path: Path, rows: str, test: str) -> list[str]:
    folder, tests = tmp_path / "requirements", tmp_path / "tests"
    folder.mkdir()
    (tests / "deep").mkdir(parents=True)
    (folder / "area.toml").write_text(rows)
    (tests / "deep" / "test_it.py").write_text(test)
    return problems(folder, tests)


def test_every_row_of_this_project_has_a_test_and_every_worn_id_a_row() -> None:
    assert problems(HERE / "requirements", HERE.parent) == []


def test_a_row_and_its_test_are_well(tmp_path: Path) -> None:
    assert found(tmp_path, ROW + 'divergence = "d"\ndeferred = "e"\n', TEST) == []


@pytest.mark.parametrize(
    "test",
    [
        'import pytest\npytestmark = [pytest.mark.requirement("x:y:z", "area:feature:variant")]\n',
        'import pytest\nX = pytest.param(marks=pytest.mark.requirement("area:feature:variant", "x:y:z"))\n',
    ],
)
def test_ids_count_wherever_a_test_file_puts_the_mark(tmp_path: Path, test: str) -> None:
    rows = ROW + '["x:y:z"]\nsource = "s"\nbehaviour = "b"\n'

    assert found(tmp_path, rows, test) == []


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ('["area:feature:variant"]\nsource = "s"\n', "area.toml: area:feature:variant: has no behaviour"),
        ('["area:feature:variant"]\nbehaviour = "b"\n', "area.toml: area:feature:variant: has no source"),
        (ROW + 'extra = "x"\n', "area.toml: area:feature:variant: has an unknown field extra"),
        (ROW + "deferred = true\n", "area.toml: area:feature:variant: deferred is not a sentence"),
        (ROW + 'divergence = " "\n', "area.toml: area:feature:variant: divergence is not a sentence"),
    ],
)
def test_a_row_that_lacks_something_is_named(tmp_path: Path, rows: str, line: str) -> None:
    assert found(tmp_path, rows, TEST) == [line]


def test_an_id_of_another_form_is_named(tmp_path: Path) -> None:
    rows, test = ROW.replace("area:feature", "Area"), TEST.replace("area:feature", "Area")

    assert found(tmp_path, rows, test) == [
        "area.toml: Area:variant: the id is not area:feature:variant in lower case"
    ]


def test_a_row_without_a_test_is_named(tmp_path: Path) -> None:
    assert found(tmp_path, ROW, "# requirement: area:feature:variant\n") == [
        "area.toml: area:feature:variant: no test wears it"
    ]


def test_a_worn_id_without_a_row_is_named_with_its_place(tmp_path: Path) -> None:
    test = TEST.replace('variant"', 'variant", "area:feature:other"')

    assert found(tmp_path, ROW, test) == ["deep/test_it.py:2: wears area:feature:other, which no row names"]


def test_an_id_that_is_computed_is_named(tmp_path: Path) -> None:
    assert found(tmp_path, ROW, TEST + "pytest.mark.requirement(ID)\n") == [
        "deep/test_it.py:4: the id is not a plain string"
    ]


def test_an_id_in_two_files_is_named(tmp_path: Path) -> None:
    (tmp_path / "requirements").mkdir()
    for name in ("a.toml", "b.toml"):
        (tmp_path / "requirements" / name).write_text(ROW)
    (tmp_path / "test_it.py").write_text(TEST)

    assert problems(tmp_path / "requirements", tmp_path) == [
        "b.toml: area:feature:variant: is also in a.toml"
    ]


@pytest.mark.parametrize("rows", ["[", 'x = 1\n["area:feature:variant"]\n'])
def test_a_file_that_holds_something_else_than_tables_is_an_error_that_names_it(
    tmp_path: Path, rows: str
) -> None:
    with pytest.raises(ValueError, match=r"area\.toml"):
        found(tmp_path, rows, TEST)
