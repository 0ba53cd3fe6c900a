import json
from collections.abc import Sequence

import pytest

from pi_fabric.base.jsonvalue import JsonObject
from tests.cli.memory_shell import COLUMNS, Shell, entry, in_terminal
from tests.memory.session_files import operation, path, ran


def indices(answer: JsonObject) -> list[int]:
    return [one["index"] for one in answer["expanded"]]


@pytest.mark.requirement("memory:shell:expand-addresses")
def test_addresses_of_every_kind_open_entries_in_their_order_and_once(shell: Shell) -> None:
    file = shell.session("s1", *(f"text {number}" for number in range(10)))
    several = ("--entry", "s1-7", "--index", "1", "--range", "0:2", "--index", "5", "--entry", "s1-1")
    assert indices(shell.json("expand", "s1", *several)) == [0, 1, 2, 5, 7]
    assert indices(shell.json("expand", file.stem, "--range", "0:1", "--range", "8:9")) == [0, 1, 8, 9]
    assert shell("expand", str(file), "--index", "3", "--entry", "s1-0") == "text 0\ntext 3\n"
    assert (shell.code, shell.err) == (0, "")


@pytest.mark.requirement("memory:shell:expand-addresses")
def test_an_operation_is_opened_by_its_address(shell: Shell) -> None:
    (result,) = path(ran(operation("pi.read", args={"path": "notes.md"}, result="kept")))
    shell.session("s1", lines=[result])
    shown = shell.json("expand", "s1", "--op", "e1/0")
    assert [one["operationAddress"] for one in shown["expanded"]] == ["e1/0"]
    assert '"result":"kept"' in shell("expand", "s1", "--op", "e1/0")


@pytest.mark.requirement("memory:shell:expand-whole")
def test_a_pipe_gets_the_whole_text_to_the_byte(shell: Shell) -> None:
    text = "x" * 5_000 + "\n\x1b[31m\u202e end"
    shell.session("s1", text)
    assert shell("expand", "s1", "--index", "0") == text + "\n"


@pytest.mark.anyio
@pytest.mark.requirement("memory:shell:expand-terminal")
@pytest.mark.requirement("memory:shell:safe")
async def test_a_terminal_gets_a_line_about_each_entry_and_nothing_that_steers_it(shell: Shell) -> None:
    shell.session("s1", "[bold]one[/bold]\n\x1b[31mred", "two")
    shown = await in_terminal(shell, "expand", "s1", "--range", "0:1", stream="out", TERM="dumb")
    assert shown.out == "#0 s1-0\n[bold]one[/bold]\n\\x1b[31mred\n#1 s1-1\ntwo\n"
    assert (
        "\x1b[1;36m#1 s1-1\x1b[0m\n"
        in (await in_terminal(shell, "expand", "s1", "--index", "1", stream="out")).out
    )


@pytest.mark.requirement("memory:shell:expand-errors")
def test_what_cannot_be_opened_is_said_and_nothing_is_printed(shell: Shell) -> None:
    shell.session("s1", "one", "two")
    for arguments, words in (
        (("s1", "--index", "2"), "the session has 2 entries; the last is 1"),
        (("s1", "--entry", "none"), "no entry of these branches has the address none"),
        (("s1", "--entry", "\x1b[31m"), "address \\x1b[31m"),
        (("none", "--index", "0"), "no session has this path, id or file name"),
        (("s1", "--index", "0", "--hash", "abc"), "the session has changed since the pointer was made"),
        (("s1", "--index", "0", "--lineage", "abc"), "the session has changed since the pointer was made"),
    ):
        assert shell("expand", *arguments) == ""
        assert shell.code == 1
        assert shell.err.startswith("pi-fabric: ")
        assert words in " ".join(shell.err.split())
        assert all(len(line) <= COLUMNS for line in shell.err.splitlines())
        assert "error" in shell.json("expand", *arguments)
        assert (shell.code, shell.err) == (1, "")


@pytest.mark.requirement("memory:shell:expand-pointers")
def test_a_pointer_opens_what_it_was_made_of(shell: Shell) -> None:
    abandoned = entry("left", "s1-0", "assistant", "gone", minute=1)
    shell.session("s1", "word", lines=[abandoned, entry("kept", "s1-0", "assistant", "there")])
    segment = shell.json("recall", "word")["segments"][0]
    pointer = ("--hash", segment["sourceHash"], "--lineage", segment["lineageFingerprint"])
    assert shell("expand", segment["sessionFile"], *pointer, "--entry", "kept") == "there\n"
    assert shell("expand", "s1", "--entry", "left") == ""
    assert shell("expand", "s1", "--entry", "left", "--branches", "all") == "gone\n"
    assert json.loads(shell("expand", "s1", "--index", "1", "--json"))["sourceHash"] == segment["sourceHash"]


@pytest.mark.requirement("memory:shell:expand-usage")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("s1",), "say what to open"),
        (("s1", "--range", "3"), "'3' is not A:B"),
        (("s1", "--range", "3:1"), "'3:1' is not A:B"),
        (("s1", "--range", "-1:1"), "'-1:1' is not A:B"),
        (("s1", "--range", "0:1", "--range", "0:99999"), "several of them may name 10,000 entries"),
        (("s1", "--index", "-1"), "--index"),
        (("s1", "--index", "x"), "--index"),
        ((), "SESSION"),
    ],
)
def test_wrong_usage_is_one_clear_message(shell: Shell, arguments: Sequence[str], words: str) -> None:
    shell.session("s1", "one")
    assert shell("expand", *arguments) == ""
    assert shell.code == 2
    assert words in shell.err
    assert "Traceback" not in shell.err
    if shell.err.startswith("pi-fabric: "):
        assert all(len(line) <= COLUMNS for line in shell.err.splitlines())


@pytest.mark.requirement("memory:shell:expand-usage")
def test_the_help_has_an_example(shell: Shell) -> None:
    assert "Example: pi-fabric expand" in " ".join(shell("expand", "--help").split())
