import pytest
from told_sessions import calls, note, path, says, sections, shown, user


@pytest.mark.requirement("summary:turns:lines")
def test_every_turn_but_the_last_is_a_line_with_its_tools():
    entries = [user("first\nmore"), calls("read", "a"), calls("bash", "b"), calls("read", "c"), says("done")]
    lines = shown(path([*entries, note("timer", "tick"), user("last")]), "earlierTurns")
    assert lines == ["- [e1] first (read 2, bash 1)", "- [e6] timer: tick"]


@pytest.mark.requirement("summary:turns:blank")
def test_a_turn_without_text_is_still_a_turn():
    assert shown(path([user(""), user("x")]), "earlierTurns") == ["- [e1] (no text)"]


@pytest.mark.requirement("summary:turns:cap")
def test_32_turns_are_shown():
    section = sections(path([user(f"t{number}") for number in range(40)]))["earlierTurns"]
    assert section.omitted == 7
    assert section.lines[16].text == "… 7 more, e17 to e23"


def test_what_came_before_the_first_message_is_no_turn():
    assert shown(path([says("hello"), calls("read", "a")]), "earlierTurns") == []


def test_a_turn_with_many_tools_names_the_first_eight():
    entries = [user("go"), *(calls(f"tool{number}", f"c{number}") for number in range(10)), user("x")]
    assert shown(path(entries), "earlierTurns")[0].endswith("tool7 1, 2 other tools)")
