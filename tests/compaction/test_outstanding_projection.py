import pytest
from told_sessions import calls, edited, operation, path, ran, returns, sections, shown


@pytest.mark.requirement("summary:outstanding:open")
def test_a_failure_shows_what_failed_and_its_first_line():
    entries = edited("src/a.ts", "c1", is_error=True, text="oldText not found\nmore")
    assert shown(path(entries), "outstanding") == ['- [e1] edit src/a.ts failed: "oldText not found"']


@pytest.mark.requirement("summary:outstanding:file")
def test_a_file_failure_is_over_when_the_same_tool_succeeds_on_the_same_path():
    entries = [*edited("a", "c1", is_error=True), *edited("a", "c2")]
    assert shown(path(entries), "outstanding") == ["- [e1] edit a: resolved in e3"]


@pytest.mark.requirement("summary:outstanding:file")
def test_another_tool_or_another_path_resolves_nothing():
    write = [calls("write", "c3", path="a"), returns("write", "c3")]
    entries = [*edited("a", "c1", is_error=True), *edited("b", "c2"), *write]
    assert shown(path(entries), "outstanding") == ['- [e1] edit a failed: "ok"']


@pytest.mark.requirement("summary:outstanding:order")
def test_a_success_before_the_failure_resolves_nothing():
    entries = [*edited("a", "c1"), *edited("a", "c2", is_error=True)]
    assert shown(path(entries), "outstanding") == ['- [e3] edit a failed: "ok"']


@pytest.mark.requirement("summary:outstanding:bash")
def test_a_command_is_resolved_by_exactly_that_command_wherever_it_ran():
    failed = [calls("bash", "c1", command="npm test"), returns("bash", "c1", "1 failed", is_error=True)]
    other = [calls("bash", "c2", command="npm test "), returns("bash", "c2")]
    assert shown(path([*failed, *other]), "outstanding") == ['- [e2] bash npm test failed: "1 failed"']
    nested = ran("c3", [operation("pi.bash", command="npm test")])
    assert shown(path([*failed, nested]), "outstanding") == ["- [e2] bash npm test: resolved in e3/0"]


@pytest.mark.requirement("summary:outstanding:generic")
def test_other_calls_are_the_same_when_their_arguments_are_in_the_same_order():
    failed = [calls("web", "c1", b=1, a=2), returns("web", "c1", "timeout", is_error=True)]
    swapped = [calls("web", "c2", a=2, b=1), returns("web", "c2")]
    assert shown(path([*failed, *swapped]), "outstanding") == ['- [e1] web failed: "timeout"']
    again = [calls("web", "c3", b=1, a=2), returns("web", "c3")]
    assert shown(path([*failed, *again]), "outstanding") == ["- [e1] web: resolved in e3"]


@pytest.mark.requirement("summary:outstanding:outcomes")
def test_a_nested_call_tells_its_outcome_and_its_error():
    calls_ = [operation("agents.run", "timed_out", "The call took too long."), operation("a.b", "aborted")]
    assert shown(path([ran("c1", calls_)]), "outstanding") == [
        '- [e1/0] agents.run timed out: "The call took too long."',
        "- [e1/1] a.b aborted",
    ]


@pytest.mark.requirement("summary:outstanding:orphans")
def test_a_result_without_its_call_is_addressed_by_itself():
    entries = [returns("read", "none", "gone", is_error=True), returns("ls", "", "no", is_error=True)]
    assert shown(path(entries), "outstanding") == ['- [e1] read failed: "gone"', '- [e2] ls failed: "no"']


@pytest.mark.requirement("summary:outstanding:cap")
def test_24_open_and_8_resolved_failures_are_shown():
    open_ = [entry for n in range(30) for entry in edited(f"o{n}", f"o{n}", is_error=True)]
    bad = [entry for n in range(10) for entry in edited(f"r{n}", f"b{n}", is_error=True)]
    good = [entry for n in range(10) for entry in edited(f"r{n}", f"g{n}")]
    section = sections(path([*open_, *bad, *good]))["outstanding"]
    assert section.omitted == 6 + 2
    assert len(section.lines) == 24 + 1 + 8 + 1
