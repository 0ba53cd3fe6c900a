"""Sessions as crashed, old and foreign programs leave them."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import anyio.to_thread
import pytest
from hypothesis import given
from hypothesis import strategies as st
from session_files import (
    ANY_ENTRIES,
    CWD,
    JSON_VALUES,
    Home,
    compaction,
    found_files,
    found_ids,
    header,
    lines,
    path,
    returns,
    says,
    set_age,
    user,
)

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.history.session.reader import read_session
from pi_fabric.memory import Current
from pi_fabric.memory.building import Builder, Options, Task
from pi_fabric.memory.cache import Cache
from pi_fabric.memory.model import Tier
from pi_fabric.memory.source import Source

TIERS = [50, 0]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def written(home: Home, data: bytes, name: str = "x") -> str:
    file = home.sessions / "--work-proj--" / f"{name}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    set_age(file, 0)
    return str(file)


async def finds(home: Home, words: Sequence[str], hot: int = 50) -> list[bool]:
    memory = home.memory(hot_sessions=hot)
    return [bool((await home.recall(word, memory=memory))["totalItems"]) for word in words]


@pytest.mark.anyio
@pytest.mark.requirement("memory:lines:torn")
@pytest.mark.parametrize("hot", TIERS)
@pytest.mark.parametrize(
    "bad",
    [
        b'{"type":"message","message":{"role":"user","content":"lo',
        b'{"type":"pr-link","prNu{"parentUuid":"a"}',
        b"not json at all",
        b"\x00\x00\x00",
        b"[" * 5_000,
    ],
)
async def test_a_bad_line_is_passed_over_and_everything_behind_it_is_read(
    home: Home, bad: bytes, hot: int
) -> None:
    before, after = path(user("before"), user("after"))
    file = home.session("x", [before, bad, after])

    answer = await home.recall("after", memory=home.memory(hot_sessions=hot))

    assert await finds(home, ["before", "after", "lost"], hot) == [True, True, False]
    assert "Not complete, 1 of 1 session searched: 1 line could not be read." in answer["text"]
    assert [entry["entryId"] for entry in (await home.expand(file, indices=[0, 1]))["expanded"]] == [
        "e1",
        "e2",
    ]


@pytest.mark.anyio
@pytest.mark.requirement("memory:lines:torn")
async def test_a_long_session_does_not_end_at_its_first_bad_line(home: Home) -> None:
    entries: list[Json | bytes] = [*path(*(user(f"n{at}") for at in range(7_166)))]
    entries[3_000] = lines([entries[3_000]])[:40]
    # The branch goes through the line that is lost, so all lines are asked.
    home.session("x", entries)

    answer = await home.recall("n7165", branches="all")
    [row] = (await home.memory().sessions({"scope": "global", "branches": "all"}, cwd=Path(CWD)))["sessions"]

    assert found_ids(answer) == ["e7166"]
    assert row["entryCount"] == 7_165
    assert (await home.recall("n2999", branches="all"))["totalItems"] == 1


@pytest.mark.anyio
@pytest.mark.requirement("memory:lines:last")
async def test_a_last_line_without_its_end_is_read_when_it_is_whole(home: Home) -> None:
    data = lines([header("x"), *path(user("first"), user("last"))])
    written(home, data[:-1])
    assert await finds(home, ["first", "last"]) == [True, True]

    written(home, data[:-5])
    assert await finds(home, ["first", "last"]) == [True, False]

    written(home, data)
    assert await finds(home, ["first", "last"]) == [True, True]


@pytest.mark.requirement("memory:lines:any-byte")
@given(st.integers(min_value=0))
def test_a_session_that_is_cut_at_any_byte_keeps_every_whole_line(
    tmp_path_factory: pytest.TempPathFactory, at: int
) -> None:
    values = [header("x"), *path(user("a"), says("é\u2028b"), returns("read", "\U0001f600"))]
    data = lines(values[:2]) + b"".join(
        json.dumps(one, ensure_ascii=False).encode() + b"\n" for one in values[2:]
    )
    file = tmp_path_factory.mktemp("cut") / "x.jsonl"
    file.write_bytes(data[: at % (len(data) + 1)])

    source = Source(str(file))
    found = [raw for _, raw in source.entries(source.lines.lineage("all"))]

    whole = data[: at % (len(data) + 1)].count(b"\n")
    assert found[: max(0, whole - 1)] == values[1:whole]
    # A last line may be whole without its end.
    assert found == values[1 : len(found) + 1]
    assert source.skipped_lines <= 1


@pytest.mark.anyio
@pytest.mark.requirement("memory:lines:separators")
@pytest.mark.parametrize("hot", TIERS)
@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\x1e"])
async def test_only_a_line_feed_ends_a_line(home: Home, separator: str, hot: int) -> None:
    [entry] = path(user(f"one{separator}two"))
    data = json.dumps(entry, ensure_ascii=False).encode()
    # Control characters are written as escapes by JSON; the others are raw in the file.
    assert separator.encode() in data or ord(separator) < 0x20
    file = home.session("x", [data])

    assert await finds(home, ["one", "two"], hot) == [True, True]
    [found] = (await home.expand(file, indices=[0]))["expanded"]
    assert found["text"] == f"one{separator}two"


@pytest.mark.anyio
@pytest.mark.requirement("memory:lines:cr-lf")
async def test_lines_may_end_in_cr_lf_be_blank_and_begin_with_a_mark(home: Home) -> None:
    data = lines([header("real"), *path(user("one"), user("two\r\nthree"))])
    file = written(home, b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n\r\n \n"))

    answer = await home.recall("one")

    assert answer["segments"][0]["sessionId"] == "real"
    assert answer["coverage"]["complete"]
    assert "could not be read" not in answer["text"]
    [_, two] = (await home.expand(file, indices=[0, 1]))["expanded"]
    assert two["text"] == "two\r\nthree"


@pytest.mark.anyio
@pytest.mark.requirement("memory:lines:surrogates")
@pytest.mark.parametrize("hot", TIERS)
async def test_half_a_pair_and_bad_bytes_become_one_replacement_character(home: Home, hot: int) -> None:
    [one, two] = path(user("cut \ud83c"), user("bytes @ end"))
    file = home.session("x", [one, lines([two]).strip().replace(b"@", b"\xff")])

    answer = await home.recall("cut end", memory=home.memory(hot_sessions=hot))

    assert answer["totalItems"] == (2 if hot else 1)
    json.dumps(answer, ensure_ascii=False).encode()
    texts = [entry["text"] for entry in (await home.expand(file, indices=[0, 1]))["expanded"]]
    assert texts == ["cut \ufffd", "bytes \ufffd end"]


@pytest.mark.anyio
@pytest.mark.requirement("memory:lines:no-objects")
async def test_lines_that_are_json_and_no_objects_are_passed_over(home: Home) -> None:
    one, two = path(user("one"), user("two"))
    values: list[Json] = [one, None, 5, "text", [1], True, two]
    file = home.session("x", values)

    for scope in ("global", f"session:{file}"):
        answer = await home.recall("two", scope=scope)
        assert (answer["totalItems"], answer["coverage"]["complete"]) == (1, True)
        assert "could not be read" not in answer["text"]


@pytest.mark.anyio
@pytest.mark.requirement("memory:find:bad-header")
async def test_a_session_with_a_torn_header_is_found_listed_and_in_its_project(home: Home) -> None:
    file = home.raw("stem", [b'{"type":"sess', *path(*(user(f"n{at}") for at in range(200)))])

    answer = await home.recall("n150", scope="project")
    [row] = (await home.memory().sessions({"scope": "project"}, cwd=Path(CWD)))["sessions"]

    assert [(one["sessionId"], one["sessionFile"]) for one in answer["segments"]] == [("stem", file)]
    assert (row["id"], row["entryCount"]) == ("stem", 200)
    assert found_files(await home.recall("n150", scope="session:stem")) == ["stem"]


@pytest.mark.anyio
@pytest.mark.requirement("memory:lines:headers")
async def test_a_header_may_come_late_or_twice_and_is_no_entry(home: Home) -> None:
    one, two = path(user("one"), user("two"))
    home.raw("stem", [one, header("first"), two, header("second", "/moved")])

    [row] = (await home.memory().sessions({"scope": "global"}, cwd=Path(CWD)))["sessions"]

    assert (row["id"], row["entryCount"]) == ("second", 2)


@pytest.mark.anyio
@pytest.mark.requirement("memory:normalize:bloat")
@pytest.mark.parametrize("hot", TIERS)
async def test_state_that_extensions_append_is_neither_words_nor_entries(home: Home, hot: int) -> None:
    state = {"type": "custom", "customType": "state", "data": {"snapshot": "hidden " * 2_000}}
    entries = [state if at % 10 else user(f"n{at}") for at in range(1_000)]
    home.session("x", path(*entries))
    memory = home.memory(hot_sessions=hot)

    assert (await home.recall("hidden", memory=memory))["text"].startswith("No matches")
    assert (await home.recall("n990", memory=memory))["totalItems"] == 1
    [(file, record)] = home.records()
    count = len(record["entries"]) if hot else record["entryCount"]
    assert count == 100
    assert file.stat().st_size < 60_000


@pytest.mark.anyio
@pytest.mark.requirement("memory:normalize:compactions")
@pytest.mark.parametrize("hot", TIERS)
async def test_a_session_of_nothing_but_compactions_is_found_by_each_of_them(home: Home, hot: int) -> None:
    history = [path(user("history"))[0]] * 200
    home.session(
        "x", path(*(compaction(f"summary{at}") | {"details": {"replaced": history}} for at in range(50)))
    )

    assert await finds(home, ["summary0", "summary49", "history"], hot) == [True, True, False]


@pytest.mark.anyio
@pytest.mark.requirement("memory:lines:long")
@pytest.mark.parametrize("hot", TIERS)
async def test_one_very_long_line_costs_its_entry_some_text_and_the_others_nothing(
    home: Home, hot: int
) -> None:
    one, two, three = path(user("first"), returns("bash", "middle " + "xy " * 1_000_000), user("last"))
    file = home.session("x", [one, two, three])
    memory = home.memory(hot_sessions=hot)

    for word in ("first", "middle", "last"):
        assert (await home.recall(word, memory=memory))["totalItems"] == 1
    answer = await home.recall("middle", memory=memory, detail="brief")
    assert len(json.dumps(answer)) < 5_000
    [opened] = (await home.expand(file, entryIds=["e2"]))["expanded"]
    assert len(opened["text"]) >= 3_000_000


@pytest.mark.anyio
@pytest.mark.requirement("memory:find:no-file")
@pytest.mark.parametrize("kind", ["fifo", "folder", "none"])
async def test_a_session_that_is_no_file_is_told_and_waited_for_by_nobody(home: Home, kind: str) -> None:
    home.session("other", path(user("cat")))
    file = home.sessions / "--work-proj--" / "pipe.jsonl"
    if kind == "fifo":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    memory = home.memory()
    current = Current(file=str(file))
    asked: JsonObject = {"query": "cat", "detail": "full"}

    everywhere = await memory.recall(asked | {"scope": "global"}, cwd=Path(CWD), current=current)
    session = await memory.recall(asked | {"scope": "session"}, cwd=Path(CWD), current=current)
    named = await memory.recall(asked | {"scope": f"session:{file}"}, cwd=Path(CWD), current=current)
    listed = await memory.sessions({"scope": "session"}, cwd=Path(CWD), current=current)
    expanded = await memory.expand({"session": str(file), "indices": [0]}, cwd=Path(CWD))

    assert (found_files(everywhere), everywhere["coverage"]["complete"]) == (["other"], True)
    assert (session["totalItems"], session["coverage"]["reasons"]) == (0, ["source_unavailable"])
    if kind == "none":
        assert (named["totalItems"], named["coverage"]["eligibleSessions"]) == (0, 0)
        assert expanded["error"]["code"] == "session_not_found"
    else:
        assert (named["error"]["code"], named["segments"]) == ("source_unavailable", [])
        assert expanded["error"]["code"] == "source_unavailable"
    [row] = listed["sessions"]
    assert (row["id"], row["entryCount"]) == ("pipe", 0)


@pytest.mark.anyio
@pytest.mark.requirement("memory:privacy:secrets")
@pytest.mark.parametrize("hot", TIERS)
async def test_what_looks_like_a_secret_is_found_and_shown_as_the_source_has_it(home: Home, hot: int) -> None:
    secret = "ANTHROPIC_API_KEY=sk-ant-api03-XXXXXXXX"
    file = home.session("x", path(returns("bash", secret), says("Authorization: Bearer ghp_abc")))

    assert await finds(home, ["ANTHROPIC_API_KEY", "ghp_abc"], hot) == [True, True]
    assert (await home.expand(file, indices=[0]))["expanded"][0]["text"].endswith(secret)


@pytest.mark.requirement("memory:normalize:any-file")
@given(
    st.lists(ANY_ENTRIES | JSON_VALUES | st.binary(max_size=20), max_size=8), st.sampled_from(["hot", "cold"])
)
def test_no_file_is_too_strange_to_be_indexed(
    tmp_path_factory: pytest.TempPathFactory, values: list[Json | bytes], tier: Tier
) -> None:
    folder = tmp_path_factory.mktemp("any")
    file = folder / "x.jsonl"
    file.write_bytes(lines(values))
    cache = Cache(folder / "index")
    cache.prepare()
    options = Options(
        branches="all",
        max_entry_chars=20,
        thinking=True,
        tool_output=True,
        max_vocabulary_bytes=1 << 20,
        max_cache_bytes=1 << 20,
    )

    [built] = Builder(cache, options).build([Task(file=str(file), tier=tier)])

    assert (built.problem, built.row is None) == ("", False)
    assert built.row is not None
    data = cache.record(built.row.record).read_bytes()
    assert json.loads(data)["sessionId"]


@pytest.mark.anyio
@pytest.mark.requirement("memory:lines:unreadable")
@pytest.mark.parametrize("hot", TIERS)
@pytest.mark.parametrize("scope", ["global", "session:x"])
async def test_what_a_lost_line_led_to_is_never_said_to_be_absent(home: Home, hot: int, scope: str) -> None:
    entries: list[Json | bytes] = [*path(*(user(f"word{at}") for at in range(6)))]
    entries[3] = lines([entries[3]])[:30]
    home.session("x", entries)
    memory = home.memory(hot_sessions=hot)

    answer = await home.recall("word1", memory=memory, scope=scope, detail="brief")
    full = await home.recall("word1", memory=memory, scope=scope)

    assert answer["totalItems"] == 0
    assert {key: answer["coverage"][key] for key in ("complete", "reasons", "skippedLines")} == {
        "complete": False,
        "reasons": ["unreadable_lines"],
        "skippedLines": 1,
    }
    for one in (answer, full):
        assert one["text"].startswith(f"No indexed matches in {scope}")
    # The specified answer has the specified reasons alone.
    assert (full["coverage"]["complete"], full["coverage"]["reasons"]) == (True, [])


@pytest.mark.anyio
@pytest.mark.requirement("memory:lines:old-formats")
async def test_a_session_of_an_old_format_is_one_path_with_the_ids_that_a_summary_prints(home: Home) -> None:
    old = {key: value for key, value in header("stem").items() if key != "version"}
    file = home.raw("stem", [old, user("the first"), user("the second"), user("the last")])

    answer = await home.recall("second")
    [match] = answer["segments"][0]["exactMatches"]
    opened = await home.expand(file, entryIds=[match["entryId"]])

    log = await anyio.to_thread.run_sync(read_session, Path(file))
    assert match["entryId"] == log.entries[1]["id"]
    assert [one["text"] for one in opened["expanded"]] == ["the second"]
    assert (await home.recall("first last"))["totalMatches"] == 2
