import pytest
from told_sessions import note, path, sections, shown, user

from pi_fabric.base.bounds import utf8_bytes
from pi_fabric.compaction.render import render_section


@pytest.mark.requirement("summary:goal:first-lines")
def test_the_first_message_gives_three_lines_and_a_count_of_the_rest():
    lines = shown(path([user("fix the parser\n\n  keep   the order \nno new files\nthanks\nbye")]), "goal")
    assert lines == ["> fix the parser", "> keep the order", "> no new files", "… 2 more lines, in e1"]


@pytest.mark.requirement("summary:goal:later")
def test_later_messages_follow_with_their_addresses_and_blank_ones_do_not():
    lines = shown(path([user("goal"), user(" \n"), user("and tests"), note("t", "not the user")]), "goal")
    assert lines == ["> goal", "- [e3] and tests"]


@pytest.mark.requirement("summary:goal:later")
def test_a_long_list_is_one_line_with_the_number_of_its_lines():
    bullets = "\n".join(f"- finding number {number}" for number in range(163))
    [_, line] = shown(path([user("goal"), user(bullets)]), "goal")
    assert line.startswith("- [e2] - finding number 0 - finding number 1")
    assert line.endswith("… (163 lines)")


@pytest.mark.requirement("summary:goal:cap")
def test_of_many_later_messages_twelve_are_shown_from_each_end():
    section = sections(path([user(f"wish {number}") for number in range(31)]))["goal"]
    assert section.omitted == 6
    assert [line.text for line in section.lines[12:15]] == [
        "- [e13] wish 12",
        "… 6 more, e14 to e19",
        "- [e20] wish 19",
    ]


def test_nothing_said_is_no_section():
    assert shown(path([note("t", "text")]), "goal") == []


@pytest.mark.requirement("summary:goal:blank-first")
def test_an_empty_first_message_keeps_its_place_without_words():
    assert shown(path([user(""), user("go")]), "goal") == ["", "- [e2] go"]


@pytest.mark.requirement("summary:goal:pinned")
def test_the_first_three_lines_and_the_newest_wish_stay_however_long_everything_is():
    first = "\n".join(f"{number}{'目' * 2_000}" for number in range(5))
    wishes = [user(f"{number} {'設' * 500}") for number in range(40)]
    block = render_section(sections(path([user(first), *wishes]))["goal"]).split("\n")
    assert [line[:3] for line in block[1:4]] == ["> 0", "> 1", "> 2"]
    assert block[-1].startswith("- [e41] 39 設")
    assert utf8_bytes("\n".join(block)) <= 4_096
