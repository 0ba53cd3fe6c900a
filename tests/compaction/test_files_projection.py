import pytest
from hypothesis import given
from hypothesis import strategies as st
from told_sessions import calls, edited, operation, path, ran, returns, sections, shown

from pi_fabric.base.jsonvalue import Json
from pi_fabric.compaction.projections.files import common_root
from pi_fabric.compaction.render import render_section


@pytest.mark.requirement("summary:files:kinds")
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("read", "Read"),
        ("grep", "Read"),
        ("find", "Read"),
        ("ls", "Read"),
        ("edit", "Modified"),
        ("write", "Written"),
    ],
)
def test_each_file_tool_has_its_kind(name: str, kind: str):
    lines = shown(path([calls(name, "c1", path="a.ts"), returns(name, "c1")]), "files")
    assert lines == ["Paths below ./", f"{kind}:", "- [e1] a.ts"]


@pytest.mark.requirement("summary:files:kinds")
@pytest.mark.parametrize("name", ["Read", "apply_patch", "quick_edit", "other.read"])
def test_other_tools_tell_of_no_file(name: str):
    assert shown(path([calls(name, "c1", path="a.ts"), returns(name, "c1")]), "files") == []


@pytest.mark.requirement("summary:files:created")
@pytest.mark.parametrize("result", [{"created": True}, {"details": {"created": True}}])
def test_a_write_is_a_creation_when_its_result_says_so(result: Json):
    write = {**operation("pi.write", path="a.ts"), "result": result}
    assert shown(path([ran("c1", [write])]), "files")[1:] == ["Created:", "- [e1/0] a.ts"]


@pytest.mark.requirement("summary:files:created")
@pytest.mark.parametrize("result", [{"created": "yes"}, {"created": False}, [True], "created"])
def test_a_write_is_no_creation_otherwise(result: Json):
    write = {**operation("pi.write", path="a.ts"), "result": result}
    assert shown(path([ran("c1", [write])]), "files")[1] == "Written:"


@pytest.mark.requirement("summary:files:outcome")
def test_what_failed_or_never_returned_touched_no_file():
    entries = [*edited("a.ts", "c1", is_error=True), calls("edit", "c2", path="b.ts")]
    assert shown(path([*entries, ran("c3", [operation("pi.edit", "aborted", path="c.ts")])]), "files") == []


@pytest.mark.requirement("summary:files:hidden")
def test_a_file_that_was_changed_is_not_listed_as_read_and_keeps_its_first_address():
    entries = [calls("read", "c1", path="a"), returns("read", "c1"), *edited("a", "c2"), *edited("a", "c3")]
    assert shown(path(entries), "files") == ["Paths below ./", "Modified:", "- [e3] a"]


@pytest.mark.requirement("summary:files:path")
@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"path": None, "file": "f"}, "f"),
        ({"dir": "d"}, "d"),
        ({"path": " ", "file": "f"}, None),
        ({"path": 5, "file": "f"}, None),
        ({"path": " a b "}, "a b"),
    ],
)
def test_the_first_argument_that_names_a_path_counts(arguments: dict[str, Json], found: str | None):
    lines = shown(path([calls("read", "c1", **arguments), returns("read", "c1")]), "files")
    assert lines[2:] == ([] if found is None else [f"- [e1] {found}"])


@pytest.mark.requirement("summary:files:root")
def test_folders_that_all_paths_share_are_said_once():
    entries = [*edited("/home/me/app/src/a.ts", "c1"), *edited("/home/me/app/b.ts", "c2")]
    lines = shown(path(entries), "files")
    assert lines == ["Paths below /home/me/app/", "Modified:", "- [e1] src/a.ts", "- [e3] b.ts"]


@pytest.mark.requirement("summary:files:root")
def test_a_path_that_is_written_differently_is_shown_whole():
    lines = shown(path([*edited("src/a.ts", "c1"), *edited("src\\b.ts", "c2")]), "files")
    assert lines == ["Paths below ./", "Modified:", "- [e1] src/a.ts", "- [e3] src\\b.ts"]


@given(st.lists(st.text(st.sampled_from("ab./\\"), min_size=1, max_size=8), min_size=1, max_size=4))
def test_root_and_rest_are_the_path(paths: list[str]):
    root = common_root(paths)
    if root not in {"", "./"}:
        assert all(one.startswith(root) and len(one) > len(root) for one in paths)


@pytest.mark.requirement("summary:files:cap")
def test_each_kind_shows_24_files():
    entries = [entry for number in range(30) for entry in edited(f"f{number}", f"c{number}")]
    section = sections(path(entries))["files"]
    assert section.omitted == 6
    assert "… 6 more, e25 to e35" in [line.text for line in section.lines]


@pytest.mark.requirement("summary:pairing:dup-ids")
def test_of_several_calls_with_one_id_the_last_counts():
    entries = [*edited("a", "c1"), *edited("b", "c1")]
    assert shown(path(entries), "files")[1:] == ["Modified:", "- [e3] b"]


@pytest.mark.requirement("summary:files:long")
@pytest.mark.parametrize("folder", ["deep/" * 300, "深い/" * 200])
def test_a_path_that_no_line_holds_keeps_its_end(folder: str):
    entries = path([*edited("/repo/a.ts", "c1"), *edited(f"/repo/{folder}name.ts", "c2")])
    line = render_section(sections(entries)["files"]).split("\n")[-1]
    assert line.startswith("- [e3] …")
    assert line.endswith("/name.ts")
