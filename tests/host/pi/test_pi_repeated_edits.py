from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.host.pi.repeated_edits import has_repeated_edits, spanning
from pi_fabric.host.standalone.replacing import Edit, apply_spans, find_spans


def file_with(folder: Path, text: str) -> Path:
    path = folder / "a.txt"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.requirement("pi:edit:all")
def test_every_occurrence_becomes_one_edit_that_pi_finds_once(tmp_path: Path) -> None:
    text = "one two one\nthree one!\n"
    file_with(tmp_path, text)
    args = {"path": "a.txt", "edits": [{"oldText": "one", "newText": "1", "all": True}]}
    assert has_repeated_edits("edit", args)
    (edit,) = spanning(args, tmp_path)["edits"]
    assert edit == {"oldText": "one two one\nthree one", "newText": "1 two 1\nthree 1"}
    assert text.count(edit["oldText"]) == 1


@pytest.mark.requirement("pi:edit:all")
@pytest.mark.parametrize(
    "edits",
    [
        [{"oldText": "two", "newText": "2", "all": True}],
        [{"oldText": "none", "newText": "", "all": True}],
        [{"oldText": "one", "newText": "1", "all": False}],
    ],
)
def test_the_flag_is_only_dropped_where_it_changes_nothing(
    tmp_path: Path, edits: list[dict[str, object]]
) -> None:
    file_with(tmp_path, "one two one")
    plain = [{key: value for key, value in edit.items() if key != "all"} for edit in edits]
    assert spanning({"path": "a.txt", "edits": edits}, tmp_path)["edits"] == plain


def test_a_missing_file_is_left_to_pi(tmp_path: Path) -> None:
    args = {"path": "none", "edits": [{"oldText": "a", "newText": "b", "all": True}]}
    assert spanning(args, tmp_path)["edits"] == [{"oldText": "a", "newText": "b"}]


def test_calls_without_the_flag_are_left_alone() -> None:
    assert not has_repeated_edits("edit", {"path": "a", "edits": [{"oldText": "a", "newText": "b"}]})
    assert not has_repeated_edits("write", {"edits": [{"all": True}]})


@given(st.text("ab \n", max_size=40), st.text("ab", min_size=1, max_size=3), st.text("abc", max_size=3))
def test_the_spanning_edit_gives_the_same_text(
    tmp_path_factory: pytest.TempPathFactory, text: str, old: str, new: str
) -> None:
    folder = tmp_path_factory.mktemp("edits")
    file_with(folder, text)
    args = {"path": "a.txt", "edits": [{"oldText": old, "newText": new, "all": True}]}
    (edit,) = spanning(args, folder)["edits"]
    if old in text:
        expected = apply_spans(text, find_spans(text, [Edit(old_text=old, new_text=new, all=True)]))
        assert text.count(edit["oldText"]) == 1
        assert text.replace(edit["oldText"], edit["newText"], 1) == expected
