import pytest
from told_sessions import calls, operation, path, ran, returns, sections, shown


@pytest.mark.requirement("summary:activity:lines")
def test_phases_come_first_then_calls_that_touch_no_file():
    operations = [
        operation("pi.read", path="a"),
        operation("pi.bash", command="git  status\n"),
        operation("mesh.publish", "failed", "no"),
        operation("other.read", path="b"),
    ]
    entries = [calls("fabric_exec", "c1", code="x"), ran("c1", operations, ["look around", "change"])]
    assert shown(path(entries), "activity") == [
        "- [e2/phase:0] phase look around",
        "- [e2/phase:1] phase change",
        "- [e2/1] pi.bash `git status`",
        "- [e2/2] mesh.publish failed",
        "- [e2/3] other.read",
    ]


@pytest.mark.requirement("summary:activity:nested-only")
def test_calls_of_the_model_are_no_activity_of_programs():
    entries = [calls("bash", "c1", command="ls"), returns("bash", "c1"), returns("web", "c2")]
    assert shown(path(entries), "activity") == []


@pytest.mark.requirement("summary:activity:cap")
def test_48_are_shown():
    section = sections(path([ran("c1", [operation("a.b")] * 60)]))["activity"]
    assert section.omitted == 12
    assert section.lines[24].text == "… 12 more, e1/24 to e1/35"
