import json
import os
import shlex
import subprocess  # noqa: TID251 - a shell is asked what it reads
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import anyio
import pytest

from pi_fabric.base.errors import RequestError
from pi_fabric.base.process import DEVNULL, PIPE, child_process, inherited_environment
from pi_fabric.cli.moments import moment_ms
from tests.cli.memory_shell import COLUMNS, ENTRY, Shell, entry, in_terminal

NOON_MS = 1_767_268_800_000  # 2026-01-01T12:00:00Z
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


@pytest.fixture
def new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A place with summer time, five hours from Greenwich in winter."""
    monkeypatch.setenv("TZ", "EST5EDT,M3.2.0,M11.1.0")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def ms(text: str, *, is_end: bool = False, now_ms: int = NOON_MS) -> int:
    return moment_ms(text, option="--since", now_ms=now_ms, is_end=is_end)


@pytest.mark.requirement("memory:shell:recall-words")
def test_words_are_one_question_and_every_hit_is_shown_with_its_address(shell: Shell) -> None:
    shell.session("s1", "Where is the flaky test?", "In the parser", "And the other one")
    text = shell("recall", "flaky", "parser")
    assert shell.code == 0
    assert text.splitlines() == [
        "2 matches in 1 place in project (active branches).",
        "",
        "2026-01-01  ~/work  s1",
        "  #0 user s1-0: Where is the flaky test?",
        "  #1 assistant s1-1: In the parser",
        "",
        "To open one: pi-fabric expand s1 --index 0",
        "Complete: 1 session searched.",
    ]
    assert shell.err == ""
    assert (
        shell(*shlex.split(text.splitlines()[-2].partition("pi-fabric ")[2])) == "Where is the flaky test?\n"
    )


@pytest.mark.requirement("memory:shell:recall-browse")
def test_without_words_everything_is_shown_newest_first(shell: Shell) -> None:
    shell.session("old", "first question", "an answer", day=1)
    shell.session("new", "second question", "an answer", day=2)
    lines = shell("recall").splitlines()
    assert [line for line in lines if line.startswith("2026")] == [
        "2026-01-02  ~/work  new",
        "2026-01-01  ~/work  old",
    ]
    assert "  #0 user new-0: second question" in lines
    assert lines.count("  and 1 more entry here") == 2
    assert shell.code == 0


@pytest.mark.requirement("memory:shell:recall-exit-codes")
def test_nothing_found_ends_with_1_and_says_whether_that_is_certain(shell: Shell) -> None:
    shell.session("s1", "parseCache is slow")
    assert shell("recall", "cache").splitlines() == [
        "No matches in project (active branches).",
        "Only whole words were looked for; --fold also finds parts of names.",
        "Complete: 1 session searched.",
    ]
    assert shell.code == 1
    assert "parseCache" in shell("recall", "cache", "--fold")
    assert shell.code == 0
    shell.session("s2", "x" * 3_000)
    text = shell("recall", "nothing")
    assert text.startswith("No indexed matches")
    assert "Not complete, 2 of 2 sessions searched: long entries are indexed" in text
    assert all(len(line) <= COLUMNS for line in text.splitlines())
    assert "--fold looks inside" in shell("recall", "漢字")


@pytest.mark.requirement("memory:shell:recall-exit-codes")
def test_no_session_in_the_scope_is_told_with_what_to_do(shell: Shell) -> None:
    assert "--scope global asks all of them" in shell("recall", "word")
    assert shell.code == 1
    assert "No session has this path, id or file name." in shell("recall", "--scope", "session:none")
    assert shell.code == 1
    assert "--scope" not in shell("recall", "--scope", "global")


@pytest.mark.requirement("memory:shell:recall-exit-codes")
def test_an_answer_that_is_an_error_goes_to_standard_error(shell: Shell) -> None:
    files = [shell.session("twin", "word", cwd=shell.home / f"p{number}") for number in range(7)]
    assert shell("recall", "word", "--scope", "session:twin") == ""
    assert shell.code == 1
    assert shell.err.startswith("pi-fabric: 7 sessions have this name; name one by its path\n  ~/agent/")
    assert shell.err.endswith("  and 2 more\n")
    assert len(shell.json("recall", "word", "--scope", "session:twin")["error"]["candidates"]) == 7
    assert shell.code == 1
    assert shell.err == ""
    assert "word" in shell("recall", "word", "--scope", f"session:{files[3]}")


@pytest.mark.requirement("memory:shell:recall-scopes")
def test_the_project_is_asked_unless_another_scope_is_named(shell: Shell) -> None:
    other = shell.home / "other"
    other.mkdir()
    shell.session("here1", "word one", day=1)
    shell.session("here2", "word two", day=2)
    shell.session("there", "word three", cwd=other, day=3)

    def found(*options: str) -> list[str]:
        return [one["sessionId"] for one in shell.json("recall", "word", *options)["segments"]]

    assert found() == ["here2", "here1"]
    assert found("--scope", "session") == ["here2"]
    assert found("--scope", "global") == ["there", "here2", "here1"]
    assert found("--scope", "session:here1") == ["here1"]
    assert found("--cwd", str(other)) == ["there"]
    assert "2026-01-03  ~/other  there" in shell("recall", "word", "--scope", "global")


@pytest.mark.requirement("memory:shell:recall-pointers")
def test_an_older_session_is_a_pointer_with_the_command_that_looks_inside(shell: Shell) -> None:
    shell.configure(hotSessions=0)
    file = shell.session("s1", "the --flaky test", "it's [bold]solved")
    text = shell("recall", "it's", "--fold", "--match", "all", "--role", "assistant", "--since", "2026-01-01")
    assert shell.code == 0
    lines = text.splitlines()
    assert lines[2:4] == ["2026-01-01  ~/work  s1", "  an older session that matches (it's); to look inside:"]
    command = shlex.split(lines[4])
    assert command[0] == "pi-fabric"
    assert command[-2:] == ["--scope", f"session:{file}"]
    assert "  #1 assistant s1-1: it's [bold]solved" in shell(*command[1:]).splitlines()
    pattern = shlex.split(shell("recall", "--regex", "--", "--flaky|flaky").splitlines()[4])
    assert pattern[-2:] == ["--", "--flaky|flaky"]
    assert "#0 user s1-0: the --flaky test" in shell(*pattern[1:])
    browse = shell("recall").splitlines()
    assert browse[3:5] == [
        "  an older session; to look inside:",
        f"  pi-fabric recall --scope session:{file}",
    ]
    assert not any("To open one" in line for line in browse)


@pytest.mark.requirement("memory:shell:recall-pages")
def test_there_are_pages(shell: Shell) -> None:
    shell.session("s1", *(f"word {number}" for number in range(6)))
    text = shell("recall", "word", "--page-size", "2")
    assert text.startswith("6 matches in 3 places in project (active branches), page 1 of 2.\n")
    assert "There is more: --page 2\n" in text
    last = shell("recall", "word", "--page-size", "2", "--page", "2")
    assert "#5 assistant s1-5" in last
    assert "There is more" not in last


@pytest.mark.requirement("memory:shell:recall-detail")
def test_whole_entries_are_shown_on_request(shell: Shell) -> None:
    long = "start " + "filler " * 100 + "needle\nand \x1b[31mthe rest"
    shell.session("s1", "question", long)
    assert "the rest" not in shell("recall", "start")
    lines = shell("recall", "needle", "--detail", "full").splitlines()
    assert lines[3:6] == ["  #0 user s1-0", "    question", "> #1 assistant s1-1"]
    assert lines[7] == "    and \\x1b[31mthe rest"


@pytest.mark.requirement("memory:shell:recall-json")
def test_json_is_the_whole_answer_or_the_brief_one(shell: Shell) -> None:
    shell.session("s1", "word")
    full = shell.json("recall", "word")
    assert (full["scope"], full["queryMode"], full["totalMatches"]) == ("project", "literal", 1)
    assert full["items"][0]["segment"]["entries"][0]["entry"]["text"] == "word"
    assert full["coverage"]["complete"] is True
    brief = shell.json("recall", "word", "--detail", "brief")
    assert brief["segments"][0]["matches"][0]["snippet"] == "word"
    assert shell.json("recall", "none")["totalItems"] == 0
    assert shell.code == 1


@pytest.mark.requirement("memory:shell:recall-filters")
def test_filters_branches_and_ways_to_match_are_handed_on(shell: Shell) -> None:
    abandoned = entry("left", "s1-0", "assistant", "beta gone", minute=1)
    shell.session("s1", "alpha beta", lines=[abandoned, entry("kept", "s1-0", "assistant", "beta alpha")])

    def found(*options: str) -> list[str]:
        answer = shell.json("recall", *options)
        return [one["entryId"] for segment in answer["segments"] for one in segment["exactMatches"]]

    assert found("beta") == ["s1-0", "kept"]
    assert found("beta", "--branches", "all") == ["s1-0", "left", "kept"]
    assert found("beta", "--role", "user") == ["s1-0"]
    assert found("beta", "--tool", "bash") == []
    assert found("alpha", "beta", "--match", "phrase") == ["s1-0"]
    assert found("alp", "--match", "prefix") == ["s1-0", "kept"]
    assert found("gone", "alpha", "--match", "all", "--branches", "all") == []
    assert found("beta", "--branches", "all", "--since", "2026-01-01T12:01Z") == ["left"]
    assert found("beta", "--until", "2026-01-01T11:59Z") == []
    opening = shell("recall", "gone", "--branches", "all").splitlines()[-2]
    assert opening == "To open one: pi-fabric expand s1 --index 1 --branches all"


@pytest.mark.requirement("memory:shell:recall-verify")
def test_every_session_is_read_again_where_that_is_asked_for(shell: Shell) -> None:
    shell.session("s1", "needle " * 200)
    assert shell.json("recall", "needle")["coverage"]["complete"] is True
    shell.configure(maxSyncSourceBytes=1_024)
    coverage = shell.json("recall", "needle", "--verify", "hash")["coverage"]
    assert coverage["reasons"] == ["max_sync_source_bytes"]


@pytest.mark.requirement("memory:shell:recall-regex")
def test_a_pattern_is_tried_in_the_sandbox(shell: Shell) -> None:
    shell.configure(regexTimeoutMs=10_000)
    shell.session("s1", "error E1234 here", "nothing")
    assert "#0 user s1-0: error E1234 here" in shell("recall", "--regex", r"e\d{4}")
    assert shell.code == 0
    text = shell("recall", "--regex", "(")
    assert text.startswith("No indexed matches")
    assert shell.code == 1
    assert shell.err.startswith("pi-fabric: the pattern is no JavaScript regular expression")
    assert all(len(line) <= COLUMNS for line in shell.err.splitlines())


@pytest.mark.anyio
@pytest.mark.requirement("memory:shell:recall-imports")
async def test_the_sandbox_and_the_tables_are_paid_for_by_those_who_use_them(shell: Shell) -> None:
    shell.session("s1", "word")
    script = f"try:\n {ENTRY.replace('; ', chr(10) + ' ')}\nfinally:\n print(*sys.modules, sep='\\n')"
    env = inherited_environment({"PYTHONPATH": os.pathsep.join(sys.path), "HOME": str(shell.home)})
    env |= {"PI_CODING_AGENT_DIR": str(shell.home / "agent")}
    with anyio.fail_after(50):
        argv = [sys.executable, "-c", script, "recall", "word"]
        async with child_process(argv, cwd=shell.work, env=env, stdin=DEVNULL, stderr=PIPE) as process:
            assert process.stdout is not None
            output = b"".join([chunk async for chunk in process.stdout]).decode()
    assert "#0 user s1-0: word" in output
    modules = set(output.splitlines())
    assert {"msgspec", "filelock"} <= modules
    assert not modules & {"rich", "wasmtime", "jsonschema", "pi_fabric.compose", "pi_fabric.runtime.regex"}


@pytest.mark.requirement("memory:shell:recall-usage")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--scope", "everything"), "--scope: 'everything' is none of"),
        (("--scope", "x\x1b[31m" * 500), "--scope: "),
        (("--since", "3x"), "--since: '3x' is no time; write\n  30m, 12h, 3d, 2w, today, yesterday,"),
        (("--until", "2026-02-30"), "--until: '2026-02-30' is no time"),
        (("--since", "today", "--until", "yesterday"), "--since: it is later than --until"),
        (("--regex", "x", "--fold"), "--regex: goes with neither --match nor --fold"),
        (("--regex", "x", "--match", "all"), "--regex: goes with neither --match nor --fold"),
        (("--page", "0"), "--page"),
        (("--page-size", "201"), "--page-size"),
        (("--match", "some"), "--match"),
        (("--verify", "maybe"), "--verify"),
    ],
)
def test_wrong_usage_is_one_clear_message(shell: Shell, arguments: Sequence[str], words: str) -> None:
    assert shell("recall", *arguments) == ""
    assert shell.code == 2
    assert words in shell.err
    assert "\x1b" not in shell.err
    if shell.err.startswith("pi-fabric: "):
        assert all(len(line) <= COLUMNS for line in shell.err.splitlines())


@pytest.mark.requirement("memory:shell:recall-help")
def test_the_help_has_an_example_and_says_what_a_date_means(shell: Shell) -> None:
    text = " ".join(shell("recall", "--help").split())
    assert "Example: pi-fabric recall" in text
    assert "Exit codes: 0 found, 1 nothing found" in text
    assert "A date without a time is local midnight; with --until it includes that whole day." in text


@pytest.mark.requirement("memory:shell:switched-off")
@pytest.mark.parametrize(
    "arguments", [("recall", "x"), ("expand", "s1", "--index", "0"), ("sessions",), ("memory", "rebuild")]
)
def test_memory_that_is_switched_off_names_the_setting(shell: Shell, arguments: Sequence[str]) -> None:
    shell.configure(enabled=False)
    shell.session("s1", "x")
    assert shell(*arguments) == ""
    assert shell.code == 6
    assert shell.err == (
        "pi-fabric: Memory is switched off: memory.enabled is false. Set it to true in\n"
        "  ~/agent/fabric.json\n"
    )
    assert not shell.index.exists()


@pytest.mark.requirement("memory:shell:broken-index")
def test_an_index_that_cannot_be_made_is_named(shell: Shell) -> None:
    shell.session("s1", "x")
    shell.index.parent.mkdir()
    shell.index.write_text("")
    shell("recall", "x")
    assert shell.code == 1
    assert shell.err.startswith(f"pi-fabric: {shell.index}")
    assert "internal error" not in shell.err


@pytest.mark.requirement("memory:shell:safe")
def test_what_a_session_says_cannot_steer_the_terminal(shell: Shell) -> None:
    hostile = "word \x1b]0;title\x07 \x1b[31m \u202e"
    project = shell.home / "wo\x1b[1mrk"
    project.mkdir()
    shell.session("s\x1b[7m1", hostile, cwd=project)
    for options in ((), ("--detail", "full")):
        text = shell("recall", "word", "--scope", "global", *options)
        assert "word \\x1b]0;title\\x07" in text
        assert all(char == "\n" or char.isprintable() for char in text + shell.err)


@pytest.mark.anyio
@pytest.mark.requirement("memory:shell:safe")
@pytest.mark.requirement("memory:shell:terminal")
async def test_a_terminal_sees_hits_in_colour_and_text_that_is_no_markup(shell: Shell) -> None:
    shell.session("s1", "[bold]needle[/bold] and \x1b[31m " + "much more text " * 9)
    shown = (await in_terminal(shell, "recall", "NEEDLE", stream="out")).out
    assert "[bold]\x1b[1;31mneedle\x1b[0m[/bold] and \\x1b[31m" in shown
    plain = (await in_terminal(shell, "recall", "NEEDLE", stream="out", TERM="dumb")).out
    assert "\x1b" not in plain
    assert max(map(len, plain.splitlines())) <= COLUMNS
    assert plain.splitlines()[1] == ""
    pale = (await in_terminal(shell, "recall", "NEEDLE", stream="out", NO_COLOR="1")).out
    assert "[bold]\x1b[1mneedle\x1b[0m[/bold]" in pale


@pytest.mark.anyio
@pytest.mark.requirement("memory:shell:terminal")
async def test_a_command_to_copy_stays_in_one_piece(shell: Shell) -> None:
    shell.configure(hotSessions=0)
    file = shell.session("s1", "needle")
    shown = (await in_terminal(shell, "recall", "needle", stream="out", TERM="dumb")).out
    assert f"  pi-fabric recall needle --scope session:{file}\n" in shown


@pytest.mark.anyio
@pytest.mark.requirement("memory:shell:progress")
async def test_a_bar_is_shown_while_sessions_are_indexed_and_only_then(shell: Shell) -> None:
    for number in range(3):
        shell.session(f"s{number}", "needle")
    first = await in_terminal(shell, "recall", "needle", stream="err")
    assert "indexing sessions" in first.err
    assert "3/3" in first.err
    assert "\x1b" not in first.out
    again = await in_terminal(shell, "recall", "needle", stream="err")
    assert (again.err, again.code) == ("", 0)
    assert again.out == first.out
    shell.session("s4", "needle")
    quiet = await in_terminal(shell, "recall", "needle", "--json", stream="err")
    assert quiet.err == ""
    assert json.loads(quiet.out)["totalItems"] == 4


@pytest.mark.requirement("memory:shell:progress")
def test_a_pipe_gets_no_bar(shell: Shell) -> None:
    shell.session("s1", "needle")
    assert "\x1b" not in shell("recall", "needle")
    assert shell.err == ""


@pytest.mark.anyio
@pytest.mark.requirement("memory:shell:pipe")
async def test_a_reader_that_has_seen_enough_is_no_failure(shell: Shell) -> None:
    shell.session("s1", *(f"needle {number}" for number in range(50)))
    shell("recall", "needle")
    script = f'"$@" | true; exec "{sys.executable}" -c pass'
    env = inherited_environment({"PYTHONPATH": os.pathsep.join(sys.path), "HOME": str(shell.home)})
    env |= {"PI_CODING_AGENT_DIR": str(shell.home / "agent")}
    with anyio.fail_after(50):
        argv = ["/bin/sh", "-c", script, "sh", sys.executable, "-c", ENTRY, "recall", "needle"]
        async with child_process(argv, cwd=shell.work, env=env, stdin=DEVNULL, stderr=PIPE) as process:
            assert process.stderr is not None
            assert b"".join([chunk async for chunk in process.stderr]) == b""


@pytest.mark.requirement("memory:shell:moments")
def test_how_long_ago_is_counted_back_from_now() -> None:
    assert ms("30m") == NOON_MS - 30 * 60_000
    assert ms("12h") == NOON_MS - 12 * HOUR_MS
    assert ms(" 3D ") == NOON_MS - 3 * DAY_MS
    assert ms("2w", is_end=True) == NOON_MS - 14 * DAY_MS
    assert ms("0m") == NOON_MS


@pytest.mark.usefixtures("new_york")
@pytest.mark.requirement("memory:shell:moments")
def test_dates_are_local_and_their_end_is_the_last_of_the_day() -> None:
    midnight = NOON_MS - 12 * HOUR_MS + 5 * HOUR_MS
    assert ms("2026-01-01") == midnight
    assert ms("2026-01-01", is_end=True) == midnight + DAY_MS - 1
    assert ms("today") == midnight
    assert ms("today", is_end=True) == midnight + DAY_MS - 1
    assert ms("yesterday") == midnight - DAY_MS
    assert ms("yesterday", is_end=True) == midnight - 1
    assert ms("2026-01-01T10:00") == ms("2026-01-01T10:00", is_end=True) == midnight + 10 * HOUR_MS
    assert ms("2026-01-01T10:00:01") == midnight + 10 * HOUR_MS + 1000
    assert ms("2026-01-01T12:00Z") == ms("2026-01-01 13:00+01:00") == NOON_MS


@pytest.mark.usefixtures("new_york")
@pytest.mark.requirement("memory:shell:moments")
@pytest.mark.parametrize(("day", "hours"), [("2026-03-08", 23), ("2026-11-01", 25), ("2026-06-01", 24)])
def test_a_day_may_have_23_or_25_hours(day: str, hours: int) -> None:
    assert ms(day, is_end=True) - ms(day) == hours * HOUR_MS - 1


@pytest.mark.usefixtures("new_york")
@pytest.mark.requirement("memory:shell:moments")
@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31"])
def test_the_first_and_the_last_day_of_the_calendar_are_days(day: str) -> None:
    greenwich_ms = datetime.fromisoformat(f"{day}T00:00Z").timestamp() * 1000
    # As far as the zone is away, where the calendar reaches so far.
    assert abs(ms(day) - greenwich_ms) <= 5 * HOUR_MS
    assert DAY_MS - 1 <= ms(day, is_end=True) - ms(day) < DAY_MS + 5 * HOUR_MS


@pytest.mark.requirement("memory:shell:moments")
@pytest.mark.parametrize(
    "text",
    ["", "3", "3 d", "-3d", "3y", "1234567d", "tomorrow", "2026", "20260131", "2026-1-31", "2026-02-30",
     "2026-01-31T25:00", "2026-01-31T", "0000-01-01", "10000-01-01", "٣d", "x" * 5_000, "a\x1b[31m"],
)  # fmt: skip
def test_what_is_no_time_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(RequestError, match="is no time; write") as caught:
        ms(text, is_end=True)
    assert "2026-01-31T10:00" in caught.value.message
    assert len(caught.value.message) < 140
    assert "\x1b" not in caught.value.message


@pytest.mark.requirement("memory:shell:moments")
def test_until_a_date_includes_what_was_said_on_it(shell: Shell) -> None:
    moment = datetime.fromisoformat("2026-01-05T23:59:30").astimezone()
    late = entry("late", None, "user", "needle") | {"timestamp": moment.isoformat(timespec="milliseconds")}
    shell.session("s1", lines=[late])
    day = moment.date()
    assert shell.json("recall", "needle", "--until", str(day))["totalItems"] == 1
    assert shell.json("recall", "needle", "--until", str(day - timedelta(days=1)))["totalItems"] == 0
    assert shell.json("recall", "needle", "--since", str(day))["totalItems"] == 1
    assert shell.json("recall", "needle", "--since", str(day + timedelta(days=1)))["totalItems"] == 0


@pytest.mark.requirement("memory:shell:sources")
def test_the_project_of_another_agents_session_is_told_too(shell: Shell) -> None:
    shell.configure(sources=["pi", "claude"])
    folder = shell.home / ".claude" / "projects" / "x"
    folder.mkdir(parents=True)
    record = {
        "type": "user",
        "uuid": "u1",
        "parentUuid": None,
        "sessionId": "c1",
        "cwd": str(shell.work),
        "timestamp": "2026-01-01T12:00:00.000Z",
        "message": {"role": "user", "content": "needle"},
    }
    (folder / "c1.jsonl").write_text(json.dumps(record) + "\n")
    text = shell("recall", "needle")
    assert "  ~/work  c1\n  #0 user u1: needle\n" in text
    assert Path(shell("sessions").rstrip("\n").split("\t")[-2]).name == "c1.jsonl"
    assert shell("sessions").rstrip("\n").endswith("\tclaude")


@pytest.mark.requirement("memory:shell:commands")
def test_commands_to_copy_name_a_session_that_they_open(shell: Shell) -> None:
    shell.session("twin", "the first needle", day=2)
    shell.session("twin", "the second", day=1)
    shell.session("-n", "a dash haystack", day=1)
    shell.session("\x1b[2Jodd", "a strange one", day=1)

    for word, said in (
        ("needle", "the first needle\n"),
        ("haystack", "a dash haystack\n"),
        ("strange", "a strange one\n"),
    ):
        [opening] = [line for line in shell("recall", word).splitlines() if line.startswith("To open")]
        assert opening.isprintable()
        # bash: `$'...'` is read by no parser of Python's.
        command = opening.partition(": ")[2]
        asked = subprocess.run(
            ["bash", "-c", f'pi-fabric() {{ printf "%s\\0" "$@"; }}; {command}'],
            capture_output=True, check=True, timeout=30,
        )  # fmt: skip
        assert shell(*asked.stdout.decode().split("\0")[:-1]) == said


@pytest.mark.requirement("memory:lines:unreadable")
def test_a_line_that_is_lost_is_told(shell: Shell) -> None:
    file = shell.session("s1", "one", "two", "three")
    whole = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*whole[:2], whole[2][:20] + b"\n", *whole[3:]]))

    assert shell("recall", "one").splitlines()[0] == "No indexed matches in project (active branches)."
    last = shell("recall", "three").splitlines()[-1]
    assert last == "Not complete, 1 of 1 session searched: 1 line could not be read."
