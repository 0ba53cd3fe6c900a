import pytest
from told_sessions import edited, note, path, says, shown, user


@pytest.mark.requirement("summary:status:lines")
def test_the_newest_request_change_and_answer_are_told():
    entries = [user("old"), says("older"), *edited("src/a.ts", "c1"), user("do X,\nthen Y"), says("working")]
    assert shown(path(entries), "status") == [
        "Latest request (e5): do X, then Y",
        "Latest change (e3): edit src/a.ts",
        "Latest answer (e6): working",
    ]


@pytest.mark.requirement("summary:status:request")
def test_the_newest_request_is_whole_up_to_a_line():
    parts = "; then ".join(f"step {number}" for number in range(60))
    assert shown(path([user("goal"), user(parts)]), "status") == [f"Latest request (e2): {parts}"]


@pytest.mark.requirement("summary:status:request")
def test_a_blank_message_is_no_request_and_an_extension_may_have_spoken_last():
    assert shown(path([user("goal"), user(" ")]), "status") == ["Latest request (e1): goal"]
    assert shown(path([user("goal"), note("timer", "tick")]), "status") == ["Latest from timer (e2): tick"]


@pytest.mark.requirement("summary:status:change")
def test_a_change_that_failed_says_so():
    assert shown(path(edited("a", "c1", is_error=True)), "status") == ["Latest change (e1): edit a (failed)"]


@pytest.mark.requirement("summary:status:answer")
def test_an_answer_without_text_hides_older_ones():
    assert shown(path([says("old"), says("")]), "status") == []


@pytest.mark.requirement("summary:status:lines")
def test_of_a_long_path_the_end_is_told():
    [line] = shown(path(edited(f"{'folder/' * 40}main.ts", "c1")), "status")
    assert line.startswith("Latest change (e1): edit …")
    assert line.endswith("folder/main.ts")
