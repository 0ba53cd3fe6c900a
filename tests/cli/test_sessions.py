import pytest

from tests.cli.memory_shell import COLUMNS, Shell, entry, in_terminal


@pytest.mark.requirement("memory:shell:sessions-lines")
def test_a_pipe_gets_one_line_for_each_session_newest_first(shell: Shell) -> None:
    shell.configure(hotSessions=1)
    old = shell.session("old", "one", day=1)
    new = shell.session("new", "one", "two", day=2)
    home = str(shell.home)
    assert [line.split("\t") for line in shell("sessions").splitlines()] == [
        ["new", "2026-01-02", "2", "hot", "~/work", str(new).replace(home, "~")],
        ["old", "2026-01-01", "1", "cold", "~/work", str(old).replace(home, "~")],
    ]
    assert (shell.code, shell.err) == (0, "")
    assert shell("sessions", "--limit", "1").startswith("new\t")
    assert len(shell("sessions", "--limit", "1").splitlines()) == 1


@pytest.mark.requirement("memory:shell:sessions-scopes")
def test_scope_and_branches_are_chosen(shell: Shell) -> None:
    other = shell.home / "other"
    other.mkdir()
    shell.session("here", "one", lines=[entry("a", "here-0", "user", "x"), entry("b", "here-0", "user", "y")])
    shell.session("there", "one", cwd=other, day=2)

    def listed(*options: str) -> list[str]:
        return [one["id"] for one in shell.json("sessions", *options)["sessions"]]

    assert listed() == ["here"]
    assert listed("--scope", "global") == ["there", "here"]
    assert listed("--scope", "session:there") == ["there"]
    assert listed("--cwd", str(other)) == ["there"]
    assert shell.json("sessions")["sessions"][0]["entryCount"] == 2
    assert shell.json("sessions", "--branches", "all")["sessions"][0]["entryCount"] == 3


@pytest.mark.requirement("memory:find:bad-header")
def test_a_session_without_a_header_that_can_be_read_is_marked(shell: Shell) -> None:
    shell.session("whole", "one", day=2)
    torn = shell.session("torn", "one", day=1)
    torn.write_bytes(b'{"type":"sess\n' + torn.read_bytes().partition(b"\n")[2])

    rows = [line.split("\t") for line in shell("sessions").splitlines()]

    assert sorted((row[0], row[4]) for row in rows) == [
        ("2026-01-01_torn", "(bad header)"),
        ("whole", "~/work"),
    ]


@pytest.mark.requirement("memory:shell:sessions-none")
def test_no_session_is_told_with_what_to_do(shell: Shell) -> None:
    for options, words in (
        ((), "no session belongs to this folder; --scope global lists all of them"),
        (("--scope", "global"), "there is no session yet"),
        (("--scope", "session:none"), "no session has this path, id or file name"),
    ):
        assert shell("sessions", *options) == ""
        assert (shell.code, shell.err) == (0, f"pi-fabric: {words}\n")
    assert shell.json("sessions")["sessions"] == []


@pytest.mark.requirement("memory:shell:sessions-none")
def test_a_name_of_several_sessions_is_refused_with_the_candidates(shell: Shell) -> None:
    for name in ("p1", "p2"):
        shell.session("twin", "one", cwd=shell.home / name)
    assert shell("sessions", "--scope", "session:twin") == ""
    assert shell.code == 1
    assert "2 sessions have this name" in shell.err
    assert shell.err.count("_twin.jsonl\n") == 2


@pytest.mark.requirement("memory:shell:sessions-usage")
@pytest.mark.parametrize(
    "arguments", [("--scope", "all"), ("--limit", "0"), ("--limit", "501"), ("--branches", "some")]
)
def test_wrong_usage_names_the_option(shell: Shell, arguments: tuple[str, str]) -> None:
    assert shell("sessions", *arguments) == ""
    assert shell.code == 2
    assert arguments[0] in shell.err


@pytest.mark.requirement("memory:shell:sessions-usage")
def test_the_help_has_an_example(shell: Shell) -> None:
    assert "Example: pi-fabric sessions" in " ".join(shell("sessions", "--help").split())


@pytest.mark.anyio
@pytest.mark.requirement("memory:shell:sessions-table")
async def test_a_terminal_gets_a_table_of_80_columns_with_the_file_below(shell: Shell) -> None:
    project = shell.home / "a-long-name-of-a-folder" / "of-a-project"
    project.mkdir(parents=True)
    session_id = "0199c2aa-0000-7000-8000-000000000001"
    file = shell.session(session_id, "one", cwd=project)
    shown = await in_terminal(shell, "sessions", "--scope", "global", stream="out", TERM="dumb")
    head, row, path = shown.out.splitlines()
    assert head.split() == ["ID", "DATE", "ENTRIES", "TIER", "PROJECT"]
    assert row.split() == [session_id, "2026-01-01", "1", "hot", "…r/of-a-project"]
    assert len(row) <= COLUMNS
    assert path == "  " + str(file).replace(str(shell.home), "~")
    colours = await in_terminal(shell, "sessions", "--scope", "global", stream="out")
    assert "\x1b[2m" in colours.out


@pytest.mark.requirement("memory:shell:safe")
def test_ids_and_folders_cannot_steer_the_terminal_nor_add_a_field(shell: Shell) -> None:
    project = shell.home / "a\tb\x1b[31m"
    project.mkdir()
    shell.session("s\x1b[7m1", "one", cwd=project)
    text = shell("sessions", "--scope", "global")
    assert text.count("\t") == 5
    assert all(char in "\n\t" or char.isprintable() for char in text)
