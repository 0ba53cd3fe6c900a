import json

import pytest
from session_files import (
    calls,
    carries,
    compaction,
    envelope,
    fact,
    message,
    note,
    operation,
    path,
    ran,
    read_all,
    returns,
    says,
    shell,
    thinks,
    user,
)

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.memory.model import Privacy
from pi_fabric.memory.tokenizer import tokenize


def text_of(entry: JsonObject, privacy: Privacy | None = None) -> str:
    [first, *_] = read_all(entry, privacy=privacy)
    return first.text


@pytest.mark.requirement("memory:text:kinds")
@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (user("fix it"), "fix it"),
        (
            message(
                "user",
                content=[{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}],
            ),
            "a\nb",
        ),
        (says("done"), "done"),
        (calls("read", path="a.py"), 'toolCall read({"path":"a.py"})'),
        (message("assistant", content=[], errorMessage="overloaded"), "errorMessage: overloaded"),
        (returns("read", "body"), "toolResult(read): body"),
        (returns("read", "body", isError=True), "toolResult(read) isError: body"),
        (returns("read", " "), "toolResult(read)"),
        (message("toolResult", content="body"), "toolResult: body"),
        (shell("ls -l", "a\nb"), "bash$ ls -l exitCode 0\na\nb"),
        (shell("ls", "", None), "bash$ ls"),
        (shell("false", "", 1.0), "bash$ false exitCode 1"),
        (note("my-ext", "noted"), "[my-ext] noted"),
        (message("custom", customType="x", content="noted"), "[x] noted"),
        ({"type": "custom_message", "content": "noted"}, "noted"),
        (compaction("what was"), "compactionSummary: what was"),
        (message("compactionSummary", summary="what was"), "compactionSummary: what was"),
    ],
)
def test_the_text_of_an_entry(entry: JsonObject, text: str) -> None:
    assert text_of(entry) == text


@pytest.mark.requirement("memory:text:branch-prose", "memory:text:unknown-role")
@pytest.mark.parametrize("entry", [carries(None, "left the branch"), message("prophet", content="text")])
def test_what_is_nobodys_word_is_no_text(entry: JsonObject) -> None:
    assert [(one.role, one.text) for one in read_all(entry)] in ([("branchSummary", "")], [("prophet", "")])


@pytest.mark.requirement("memory:text:labels")
def test_labels_are_names_of_fields_and_no_words_that_somebody_searches() -> None:
    facts = (fact("phase", "b", "phase:0", phase="one"), fact("user", "b", "user", text="u"))
    failed = message("assistant", content=[], errorMessage="m")
    entries = path(
        failed, calls("edit", a=1), returns("edit", "r", isError=True), shell("c", "o", 1),
        note("n", "t"), compaction("s"), ran(phases=["p"]), carries(envelope(*facts)),
    )  # fmt: skip

    words = {word for entry in read_all(*entries) for word in tokenize(entry.text)}

    assert words == {
        "errormessage", "m", "toolcall", "edit", "a", "1", "toolresult", "iserror", "r", "bash", "c",
        "exitcode", "o", "n", "t", "compactionsummary", "s", "fabric_exec", "ok", "fabricphase", "phase",
        "one", "u",
    }  # fmt: skip


@pytest.mark.requirement("memory:text:arguments")
def test_arguments_are_cut_to_400_code_points() -> None:
    arguments = {"content": "\U0001f600" * 500}
    written = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))

    assert text_of(calls("write", **arguments)) == f"toolCall write({written[:400]}…)"


def test_arguments_of_400_code_points_are_whole() -> None:
    text = text_of(calls("write", a="x" * (400 - len('{"a":""}'))))

    assert text.endswith('xx"})')


@pytest.mark.parametrize(("name", "shown"), [(None, ""), (5, "5"), ({"a": 1}, '{"a":1}')])
def test_a_name_that_is_none_is_written_as_javascript_would(name: Json, shown: str) -> None:
    assert text_of(calls(name)) == f"toolCall {shown}({{}})"


@pytest.mark.requirement("memory:privacy:thinking")
def test_thinking_is_text_only_where_it_may_be() -> None:
    assert text_of(thinks("hmm")) == ""
    assert text_of(thinks("hmm"), Privacy(thinking=True)) == "hmm"


@pytest.mark.requirement("memory:privacy:tool-output")
def test_without_tool_output_names_outcomes_and_codes_stay() -> None:
    off = Privacy(tool_output=False)

    assert text_of(returns("read", "body", isError=True), off) == "toolResult(read) isError"
    assert text_of(shell("make", "built", 2), off) == "bash$ make exitCode 2"
    assert text_of(calls("read", path="a"), off) == 'toolCall read({"path":"a"})'


@pytest.mark.requirement("memory:privacy:tool-output")
def test_without_tool_output_an_operation_keeps_everything_but_its_result() -> None:
    told = operation("pi.read", "failed", error="gone", args={"path": "a.py"}, result="body")
    [_, kept] = read_all(*path(ran(told)), privacy=Privacy(tool_output=False))

    assert "body" not in kept.text
    assert (kept.outcome, kept.ref, kept.files) == ("failed", "pi.read", ["a.py"])
    assert {"gone", "resultomitted", "path"} <= set(tokenize(kept.text))
