import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.sessions import SIZES, write_session
from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.cli import main
from pi_fabric.cli.compaction_run import Options, compact, load
from pi_fabric.cli.compaction_view import as_text, exit_code, report_lines
from pi_fabric.compaction.compile import CompactionEvent, compile_summary
from pi_fabric.compaction.outcome import Compiled
from pi_fabric.compaction.qa import check
from pi_fabric.history.session import context_tokens, read_session

SHARED = Path(__file__).resolve().parents[3] / "shared" / "sessions"
WINDOW = ("--window", "200000")


class Shell:
    """Runs `pi-fabric compact` in a home of its own."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = home
        self._capsys = capsys
        self.code = 0
        self.err = ""

    def __call__(self, *arguments: str) -> str:
        """Run the command and return what it printed."""
        self.code = main(["compact", *arguments])
        captured = self._capsys.readouterr()
        self.err = captured.err
        return captured.out

    def json(self, *arguments: str) -> JsonObject:
        return json.loads(self(*arguments, "--json"))

    def write(self, name: str, lines: Sequence[Json]) -> str:
        file = self.home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return str(file)


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.chdir(tmp_path)
    return Shell(tmp_path, capsys)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A session of 330 KiB."""
    file = tmp_path_factory.mktemp("sessions") / "large.jsonl"
    entries, size_bytes = SIZES["330k"]
    write_session(file, entries=entries, size_bytes=size_bytes, seed=3)
    return str(file)


def header(version: int = 3, session_id: str = "s1") -> JsonObject:
    return {"type": "session", "version": version, "id": session_id, "timestamp": "t", "cwd": "/w"}


def user(entry_id: str, parent: str | None, text: str) -> JsonObject:
    return {
        "type": "message",
        "id": entry_id,
        "parentId": parent,
        "timestamp": "2026-01-01T00:00:00.000Z",
        "message": {"role": "user", "content": text},
    }


def two_branches() -> list[JsonObject]:
    """A question with two answers to it on two branches, the second being the one that Pi resumes."""
    return [
        header(),
        user("u1", None, "Mend the parser"),
        user("a1", "u1", "the first way"),
        user("a2", "a1", "and on"),
        user("b1", "u1", "the second way"),
        user("b2", "b1", "and further"),
    ]


@pytest.mark.requirement("compact-shell:summary:bytes")
def test_the_summary_is_printed_as_it_would_be_stored(shell: Shell, large: str) -> None:
    branch = read_session(Path(large)).branch()
    tokens = context_tokens(branch)
    event = CompactionEvent(
        entries=branch, tokens_before=tokens, context_window=200_000, target_ratio=0.65, reason="manual"
    )
    outcome = compile_summary(event)
    assert isinstance(outcome, Compiled)
    assert shell(large, *WINDOW) == outcome.summary + "\n"
    assert shell.code == 0


@pytest.mark.requirement("compact-shell:summary:options")
def test_the_options_are_what_pi_would_hand_over(shell: Shell, large: str) -> None:
    shown = shell.json(
        large,
        *("--window", "100000", "--reserve", "9000", "--keep", "5000", "--ratio", "0.5", "--fill", "tail"),
        *(
            "--tokens-before",
            "90000",
            "--instructions",
            "Keep names",
            "--preserve",
            "a\nb",
            "--preserve",
            "c",
        ),
    )
    budget = shown["details"]["budget"]
    assert (budget["contextWindow"], budget["reserveTokens"], budget["keepRecentTokens"]) == (
        100_000,
        9_000,
        5_000,
    )
    assert (budget["targetContextRatio"], budget["fill"]) == (0.5, "tail")
    assert (shown["tokensBefore"], shown["tokensBeforeFrom"]) == (90_000, "option")
    assert "[Compaction Request]\nKeep names\n- a b [preserve:0]\n- c [preserve:1]\n" in shown["summary"]
    assert shown["details"]["instructionPolicy"]["mode"] == "typed-v1"


@pytest.mark.requirement("compact-shell:summary:configuration")
def test_ratio_and_fill_come_from_the_configuration_where_they_are_not_given(
    shell: Shell, large: str
) -> None:
    (shell.home / "agent").mkdir()
    settings = {"compaction": {"targetContextRatio": 0.3, "fill": "tail"}}
    (shell.home / "agent" / "fabric.json").write_text(json.dumps(settings))
    budget = shell.json(large, *WINDOW)["details"]["budget"]
    assert (budget["targetContextRatio"], budget["fill"]) == (0.3, "tail")


@pytest.mark.requirement("compact-shell:tokens:said")
def test_where_the_size_before_comes_from_is_said(shell: Shell, large: str) -> None:
    shell(large, *WINDOW)
    assert "tokens before, from the last usage that the provider reported" in shell.err
    shell(shell.write("s.jsonl", two_branches()))
    assert "from an estimate" in shell.err
    assert "no --window, so only the last turn is kept" in shell.err
    shell(large, *WINDOW, "--tokens-before", "150000")
    assert shell.err == ""


@pytest.mark.requirement("compact-shell:file:formats")
@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_format_is_read_and_none_is_written(shell: Shell, version: int) -> None:
    lines = two_branches()[1:4]
    for entry in lines if version == 1 else ():
        del entry["id"], entry["parentId"]
    file = Path(shell.write("s.jsonl", [header(version), *lines]))
    before, stat = file.read_bytes(), file.stat()
    shown = shell.json(str(file))
    assert shown["format"] == version
    assert "Mend the parser" in shown["summary"]
    assert (file.read_bytes(), file.stat().st_mtime_ns) == (before, stat.st_mtime_ns)
    assert [entry.name for entry in shell.home.iterdir()] == ["s.jsonl"]


@pytest.mark.requirement("compact-shell:file:found")
@pytest.mark.parametrize("name", ["2026_0199aa-bb", "2026_0199aa-bb.jsonl", "0199aa-bb", "0199aa"])
def test_a_session_is_found_by_name_or_id_under_the_agent_folder(shell: Shell, name: str) -> None:
    shell.write("agent/sessions/--work--/2026_0199aa-bb.jsonl", two_branches())
    shell.write("agent/sessions/--work--/2026_0200aa-bb.jsonl", two_branches())
    assert shell.json(name)["session"].endswith("2026_0199aa-bb.jsonl")


@pytest.mark.requirement("compact-shell:file:unknown")
def test_a_name_that_means_nothing_or_too_much_is_refused_with_what_there_is(shell: Shell) -> None:
    for number in range(7):
        shell.write(f"agent/sessions/x/t{number}_0199aa{number}.jsonl", two_branches())
    shell("none")
    assert shell.code == 2
    assert "no file 'none', and no session of that name under ~/agent/sessions" in shell.err
    shell("0199aa")
    assert shell.code == 2
    assert "7 sessions match" in shell.err
    assert "~/agent/sessions/x/t0_0199aa0.jsonl" in shell.err
    assert "and 2 more" in shell.err
    for arguments in ((), ("x" * 5_000,), ("a\x1b[31mb",)):
        shell(*arguments)
        assert shell.code == 2
        assert len(shell.err) < 200
        assert "\x1b" not in shell.err


@pytest.mark.requirement("compact-shell:file:foreign")
@pytest.mark.parametrize("lines", [[], [{"type": "user", "uuid": "1", "message": {}}], ["text"]])
def test_a_file_of_something_else_is_refused(shell: Shell, lines: list[Json]) -> None:
    shell(shell.write("s.jsonl", lines))
    assert shell.code == 2
    assert "no session file of Pi" in shell.err


@pytest.mark.requirement("compact-shell:file:faults")
def test_lines_that_cannot_be_used_are_counted_and_do_not_stop_the_reading(shell: Shell) -> None:
    file = shell.write("s.jsonl", two_branches())
    with Path(file).open("a", encoding="utf-8") as stream:
        stream.write('[1]\n{"torn": ')
    assert "Mend the parser" in shell(file)
    assert shell.code == 0
    assert "the first of 2 faults:\n  line 7, byte " in shell.err
    assert sum(shell.json(file)["faults"].values()) == 2


@pytest.mark.requirement("compact-shell:branch:leaf")
def test_another_branch_is_taken_by_its_last_entry(shell: Shell) -> None:
    file = shell.write("s.jsonl", two_branches())
    assert shell.json(file)["leaf"] == "b2"
    other = shell.json(file, "--branch", "a2")
    assert "the first way" in other["summary"]
    assert "the second way" not in other["summary"]
    shell(file, "--branch", "nobody")
    assert shell.code == 2
    assert "no entry has the id 'nobody'" in shell.err


@pytest.mark.requirement("compact-shell:declined:said")
@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((*WINDOW, "--tokens-before", "20"), 1, "more than the target would stay in use"),
        (("--instructions", "__pi_fabric_compact_request_v1__:{"), 2, "the request is not valid JSON"),
        (("--preserve", "x" * 2_049), 2, "an item of preserve is over 2 KiB"),
        (("--ratio", "0.9"), 2, "--ratio"),
        (("--diff", "a2", "b2", "--qa"), 2, "--diff"),
        (("--diff", "a2", "nobody"), 2, "--diff: no entry has the id 'nobody'"),
        (("--tokens-before", "1" + "0" * 400, "--explain"), 2, "--tokens-before"),
    ],
)
def test_why_there_is_no_summary_is_said_in_a_sentence(
    shell: Shell, arguments: Sequence[str], code: int, words: str
) -> None:
    assert shell(shell.write("s.jsonl", two_branches()), *arguments) == ""
    assert shell.code == code
    assert words in shell.err
    assert all(len(line) <= 80 for line in shell.err.splitlines() if "Invalid value" not in line)


def test_nothing_new_since_the_last_compaction_is_said_and_told_to_machines(shell: Shell) -> None:
    stored = {"type": "compaction", "id": "c1", "parentId": "b2", "summary": "s", "firstKeptEntryId": ""}
    file = shell.write("s.jsonl", [*two_branches(), stored])
    assert shell.json(file)["declined"]["cause"] == "empty-live-window"
    assert shell.code == 1
    shell(file)
    assert "nothing has been said since the last compaction" in shell.err


@pytest.mark.requirement("compact-shell:explain:table")
def test_the_explanation_shows_the_cut_the_tokens_and_the_blocks_in_80_columns(
    shell: Shell, large: str
) -> None:
    text = shell(large, *WINDOW, "--explain")
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    (cut,) = (line for line in lines if line.rstrip().endswith("the cut"))
    assert cut.split()[0] == shell.json(large, *WINDOW)["firstKeptEntryId"]
    assert "too much to keep" in text or "nothing would go" in text
    figures = shell.json(large, *WINDOW)["details"]["budget"]
    rows = {line.split()[0]: line.split()[1] for line in lines if len(line.split()) > 2}
    assert rows["target"] == f"{figures['targetContextTokens']:,}"
    assert rows["kept"] == f"{figures['retainedRawTokens']:,}"
    assert rows["after"] == f"{figures['projectedTokensAfter']:,}"
    assert rows["transcript"].replace(",", "").isdigit()


@pytest.mark.requirement("compact-shell:explain:narrow")
def test_in_a_narrow_terminal_no_figure_of_the_explanation_is_cut(
    shell: Shell, large: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    text = shell(large, *WINDOW, "--explain")
    before_blocks = text.partition("What the blocks")[0]
    figures = [word for word in before_blocks.split() if word.replace(",", "").rstrip("…").isdigit()]
    assert figures
    assert not any(figure.endswith("…") for figure in figures)


@pytest.mark.requirement("compact-shell:explain:blocks")
def test_what_spoke_against_a_place_is_named(shell: Shell) -> None:
    call = {"type": "toolCall", "id": "call_7", "name": "read", "arguments": {"path": "a"}}
    steps: list[tuple[str, str, JsonObject]] = [
        ("n1", "u1", {"role": "assistant", "content": [call]}),
        ("n2", "n1", {"role": "user", "content": "meanwhile"}),
        ("n3", "n2", {"role": "toolResult", "toolCallId": "call_7", "toolName": "read", "content": []}),
        ("n4", "n3", {"role": "user", "content": "thanks"}),
    ]
    entries = [
        {"type": "message", "id": one, "parentId": parent, "message": message}
        for one, parent, message in steps
    ]
    file = shell.write("s.jsonl", [header(), user("u1", None, "go"), *entries])
    text = shell(file, "--explain")
    assert "parts a call from its result, call_7" in text
    assert "nothing would go" in text
    assert "--window plans with a model's window" in text
    candidates = shell.json(file, "--explain")["explain"]["candidates"]
    assert [one["entryId"] for one in candidates] == ["u1", "n1", "n2", "n4"]
    assert candidates[2]["splitCallId"] == "call_7"
    assert candidates[3]["blocks"] == []


@pytest.mark.requirement("compact-shell:explain:omitted")
def test_what_each_block_left_out_is_the_omission_that_is_recorded(shell: Shell, large: str) -> None:
    shown = shell.json(large, *WINDOW, "--explain")
    blocks, recorded = shown["explain"]["blocks"], shown["details"]["omittedCounts"]
    assert {name: recorded[name] for name in blocks if name != "status"} == {
        name: block["overCap"] for name, block in blocks.items() if name != "status"
    }
    assert any(block["overCap"] for block in blocks.values())
    assert all(block["bytes"] <= block["limitBytes"] for block in blocks.values())


def test_lines_that_are_dropped_for_the_size_of_a_block_are_counted(shell: Shell) -> None:
    turns = [user(f"u{n}", f"u{n - 1}" if n else None, f"{n} " + "größer " * 60) for n in range(33)]
    shown = shell.json(shell.write("s.jsonl", [header(), *turns]), "--explain")
    block = shown["explain"]["blocks"]["goal"]
    said = [line for line in shown["summary"].split("\n\n")[0].splitlines() if line.startswith("… ")]
    assert block["cutToSize"] > 0
    assert said[0].startswith(f"… {block['cutToSize'] + block['overCap']} more")


@pytest.mark.requirement("compact-shell:qa:kept")
def test_the_check_of_a_whole_summary_finds_nothing_and_ends_well(shell: Shell, large: str) -> None:
    assert shell(large, *WINDOW, "--qa").endswith("checked, nothing is lost\n")
    assert shell.code == 0
    assert shell.json(large, *WINDOW, "--qa")["qa"]["losses"] == []


@pytest.mark.requirement("compact-shell:qa:lost")
def test_a_loss_is_listed_and_ends_with_a_failure(large: str) -> None:
    one = compact(load(Path(large)), Options(window=200_000, ratio=0.65, fill="ratio"))
    assert isinstance(one.outcome, Compiled)
    report = check(one.outcome.summary.replace("[Files And Changes]", ""), one.source)
    assert exit_code(one, report) == 1
    lines = list(report_lines(report))
    assert "lost:" in lines[0]
    assert any(line.startswith("  files [") for line in lines)
    assert max(map(len, lines)) <= 80
    assert exit_code(one, check(one.outcome.summary, one.source)) == 0


@pytest.mark.requirement("compact-shell:diff:branches")
def test_two_branches_of_one_session_are_compared(shell: Shell) -> None:
    text = shell(shell.write("s.jsonl", two_branches()), "--diff", "a2", "b2")
    assert text.startswith("--- s:a2\n+++ s:b2\n")
    assert any(line.startswith("-") and "the first way" in line for line in text.splitlines())
    assert any(line.startswith("+") and "the second way" in line for line in text.splitlines())


@pytest.mark.requirement("compact-shell:diff:sessions")
def test_two_sessions_are_compared_and_equal_ones_are_called_so(shell: Shell) -> None:
    first = shell.write("one.jsonl", two_branches())
    second = shell.write("two.jsonl", two_branches()[:4])
    assert shell("--diff", first, second).startswith("--- one:b2\n+++ two:a2\n")
    assert shell("--diff", first, first) == "The two summaries are the same.\n"
    shown = shell.json("--diff", first, second)
    assert (shown["a"]["leaf"], shown["b"]["leaf"]) == ("b2", "a2")
    assert shown["diff"][0] == "--- one:b2"


@pytest.mark.requirement("compact-shell:terminal:safe")
def test_a_terminal_gets_nothing_that_steers_it_and_a_pipe_every_byte() -> None:
    summary = "a\x1b[31m\nb\u202e"
    assert as_text(summary, is_terminal=True) == "a\\x1b[31m\nb\\u202e"
    assert as_text(summary, is_terminal=False) == summary


@pytest.mark.requirement("compact-shell:terminal:safe")
def test_tables_and_diffs_show_no_control_characters(shell: Shell) -> None:
    entries = two_branches()
    entries[-1] |= {"id": "b\x1b[31m2"}
    entries[-1]["message"]["content"] = "\x1b]0;title\x07"
    file = shell.write("s.jsonl", entries)
    texts = [shell(file, "--explain"), shell(file, "--qa"), shell(file, "--diff", "a2", "b\x1b[31m2")]
    assert all(char == "\n" or char.isprintable() for text in texts for char in text)


@pytest.mark.requirement("compact-shell:sessions:real")
@pytest.mark.skipif(not SHARED.is_dir(), reason="the recorded sessions are not beside the project")
def test_every_recorded_session_of_pi_is_compacted_without_an_error(shell: Shell) -> None:
    files = [*sorted((SHARED / "pi").glob("*.jsonl")), *sorted((SHARED / "public").glob("pi-*.jsonl"))]
    assert len(files) > 20
    for file in files:
        shown = shell.json(str(file), "--qa", "--explain")
        assert shell.code == (1 if "declined" in shown else 0), file
        assert shell.err == ""
        assert shown.get("qa", {"losses": []})["losses"] == [], file
