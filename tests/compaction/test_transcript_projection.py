import pytest
from told_sessions import calls, note, operation, path, ran, returns, sections, shown, user

from pi_fabric.base.jsonvalue import JsonObject


def thinks(text: str) -> JsonObject:
    content = [{"type": "thinking", "thinking": text}]
    return {"type": "message", "message": {"role": "assistant", "content": content}}


@pytest.mark.requirement("summary:transcript:lines")
def test_every_event_is_a_line_with_its_number_and_address():
    entries = [
        user("go"),
        calls("bash", "c1", command="ls"),
        returns("bash", "c1", "no", is_error=True),
        note("timer", "tick", details={"n": 1}),
        calls("web", "c2", q=1),
        returns("web", "c2", "line one\ntwo"),
        ran("c3", [operation("pi.read", "failed", path="a")], ["look"]),
    ]
    assert shown(path(entries), "transcript") == [
        '#1 [e1] user: "go"',
        "#2 [e2] call bash ls",
        '#3 [e3] failed `ls`: "no"',
        '#4 [e4] timer: "tick" {"n":1}',
        '#5 [e5] call web {"q":1}',
        '#6 [e6] web returned: "line one"',
        '#7 [e7] fabric_exec returned: "ok"',
        "#8 [e7/phase:0] phase look",
        "#9 [e7/0] pi.read a failed",
    ]


@pytest.mark.requirement("summary:transcript:cap")
def test_the_newest_40_are_shown_and_the_rest_is_a_range():
    section = sections(path([user(f"t{number}") for number in range(50)]))["transcript"]
    assert section.omitted == 10
    assert [line.text for line in section.lines[:2]] == ["… 10 more, e1 to e10", '#11 [e11] user: "t10"']


@pytest.mark.requirement("summary:transcript:thinking")
def test_a_thought_is_told_without_its_text_and_an_empty_one_not_at_all():
    assert shown(path([thinks("secret"), thinks(""), user("x")]), "transcript") == [
        "#1 [e1] (thinking)",
        '#3 [e3] user: "x"',
    ]
