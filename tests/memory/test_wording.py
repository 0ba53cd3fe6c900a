from pathlib import Path

import pytest
from session_files import NOON_MS, Home, calls, compaction, message, path, returns, says, user

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.memory.model import Coverage
from pi_fabric.memory.query import Query
from pi_fabric.memory.snippets import hit_pattern
from pi_fabric.memory.wording import MAX_BRIEF_CHARS, REASONS, coverage_line, day

pytestmark = pytest.mark.anyio


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


async def brief(home: Home, query: str | None, **args: Json) -> JsonObject:
    return await home.recall(query, detail="brief", **args)


@pytest.mark.requirement("memory:words:no-matches")
async def test_no_matches_is_said_only_when_that_is_certain(home: Home) -> None:
    home.session("x", path(user("a" * 50 + " rare")))

    sure = await brief(home, "absent")
    unsure = await brief(home, "rare", memory=home.memory(max_entry_chars=20))

    assert sure["text"].startswith("No matches in global (active branches).")
    assert "Complete: 1 session searched." in sure["text"]
    assert unsure["text"].startswith("No indexed matches in global")
    assert REASONS["max_entry_chars"] in unsure["text"]
    assert unsure["coverage"] == {
        "complete": False,
        "eligibleSessions": 1,
        "indexedSessions": 1,
        "staleSessions": 0,
        "incompleteSessions": 1,
        "reasons": ["max_entry_chars"],
    }


@pytest.mark.requirement("memory:words:no-matches")
async def test_a_browse_that_lists_nothing_says_whether_there_is_something(home: Home) -> None:
    (home.sessions / "x").mkdir(parents=True)
    assert (await brief(home, None))["text"].startswith("No sessions in global")

    home.session("x", path(*(user("x" * 200) for _ in range(30))))
    answer = await brief(home, None, memory=home.memory(max_sync_source_bytes=1024))
    assert answer["text"].startswith("Nothing is indexed in global")
    assert answer["coverage"]["reasons"] == ["max_sync_source_bytes"]


@pytest.mark.requirement("memory:words:reasons")
def test_every_reason_is_a_sentence_and_an_unknown_one_is_shown_as_it_is() -> None:
    coverage = Coverage(indexed_sessions=1, eligible_sessions=2, reasons=frozenset([*REASONS, "odd_reason"]))

    line = coverage_line(coverage)

    assert line.startswith("Not complete, 1 of 2 sessions searched: ")
    assert all(sentence in line for sentence in (*REASONS.values(), "odd_reason"))


@pytest.mark.requirement("memory:words:reasons")
def test_every_reason_of_the_specification_has_its_sentence() -> None:
    specified = """candidate_digest_budget candidate_entry_budget candidate_item_budget cache_cleanup_budget
    cold_structural_filter_requires_hydration duplicate_branch_fact_address duplicate_entry_id
    duplicate_operation_address index_error invalid_parent_graph invalid_regex max_cold_cache_bytes
    max_cold_vocabulary_bytes max_entry_chars max_sync_sessions max_sync_source_bytes regex_max_haystack_bytes
    regex_max_haystack_terms regex_pattern_too_large regex_timeout regex_worker_error
    source_changed_during_index source_unavailable"""

    assert set(specified.split()) - set(REASONS) == set()


@pytest.mark.requirement("memory:words:brief-bound")
@pytest.mark.parametrize("hot", [100, 3])
@pytest.mark.parametrize("query", ["user", None])
async def test_the_text_of_a_large_page_stays_within_8000_characters_and_counts_the_rest(
    home: Home, query: str | None, hot: int
) -> None:
    output = "user \U0001f3f7 " * 1_000
    for age in range(40):
        home.session(f"s{age:02}", path(*(user("user " + output), returns("read", output)) * 3), age=age)

    answer = await brief(home, query, memory=home.memory(hot_sessions=hot), pageSize=200)

    text = answer["text"]
    assert len(text) <= MAX_BRIEF_CHARS == 8_000
    assert text.encode()
    shown = sum(line.startswith("- ") for line in text.splitlines())
    assert shown >= 5
    assert f"{answer['totalItems'] - shown} more of this page are not shown" in text
    assert "Not complete" in text
    assert "memory.expand" in text


@pytest.mark.requirement("memory:words:brief-bound")
async def test_a_brief_answer_as_a_whole_holds_snippets_and_each_text_once(home: Home) -> None:
    output = " ".join(f"user{number}" for number in range(2_000))
    home.session(
        "x",
        path(
            *(
                entry
                for at in range(10)
                for entry in (user(f"user mark{at}"), *[returns("read", f"user {output}")] * 6)
            )
        ),
    )

    answer = await brief(home, "user")
    full = await home.recall("user")

    assert [len(segment["matches"]) for segment in answer["segments"]] == [3] * 10
    assert [segment["omittedMatches"] for segment in answer["segments"]] == [4] * 10
    assert all(len(one["snippet"]) <= 160 for segment in answer["segments"] for one in segment["matches"])
    assert answer["items"] == [{"kind": "entry", "segment": number} for number in range(10)]
    assert len(str(answer)) < 25_000 < len(str(full))


@pytest.mark.requirement("memory:words:brief-pointers")
async def test_a_brief_answer_has_the_pointers_of_the_full_one(home: Home) -> None:
    home.session("x", path(user("cat"), calls("read", path="cat.py"), says("dog"), returns("read", "a cat")))
    home.session("y", path(user("cat")), age=5)
    memory = home.memory(hot_sessions=1)

    short = await brief(home, "cat", memory=memory)
    full = await home.recall("cat", memory=memory)

    bound = (
        "sessionId",
        "sessionFile",
        "sourceHash",
        "branches",
        "lineageFingerprint",
        "entryRange",
        "score",
        "tier",
    )
    for one, other in zip(short["segments"], full["segments"], strict=True):
        assert [one[key] for key in bound] == [other[key] for key in bound]
        assert [
            {key: match[key] for key in ("index", "entryId", "operationAddress")} for match in one["matches"]
        ] == other["exactMatches"]
    assert short["segments"][0]["matches"][1] == {
        "index": 1,
        "entryId": "e2",
        "operationAddress": None,
        "role": "assistant",
        "toolName": "read",
        "timestamp": NOON_MS + 1000,
        "snippet": 'toolCall read({"path":"cat.py"})',
    }
    same = (
        "digestHits",
        "coverage",
        "totalItems",
        "totalMatches",
        "segmentCount",
        "hasNext",
        "query",
        "queryMode",
    )
    assert [short[key] for key in same] == [full[key] for key in same]


@pytest.mark.requirement("memory:words:text")
async def test_the_text_says_where_what_and_how_to_go_on(home: Home) -> None:
    file = home.session("x", path(user("go"), says("a cat sat"), user("cat")))
    cold = home.session("y", path(user("cat")), age=86_400)
    memory = home.memory(hot_sessions=1)

    pages = [(await brief(home, "cat", memory=memory, pageSize=1, page=page))["text"] for page in (1, 2, 3)]

    complete, how = (
        "Complete: 2 sessions searched.",
        "Open with memory.expand({ session: PATH, indices: [N] }).",
    )
    assert [page.splitlines() for page in pages] == [
        [
            "3 matches in 3 places in global (active branches), page 1 of 3.",
            f"- {file} 2025-01-01 entries 2-2",
            "  #2 2025-01-01 user e3: cat",
            complete,
            "More on page 2.",
            how,
        ],
        [
            "3 matches in 3 places in global (active branches), page 2 of 3.",
            f"- {file} 2025-01-01 entries 0-1",
            "  #1 2025-01-01 assistant e2: a cat sat",
            complete,
            "More on page 3.",
            how,
        ],
        [
            "3 matches in 3 places in global (active branches), page 3 of 3.",
            f"- {cold} 2025-01-01 (older: recall in session:PATH to see where, has cat)",
            complete,
            how,
        ],
    ]


@pytest.mark.requirement("memory:words:text")
async def test_the_full_text_holds_every_entry_and_marks_what_matched(home: Home) -> None:
    home.session("x", path(user("go\nthere"), says("a cat")))

    text = (await home.recall("cat"))["text"]

    assert "  #0 user e1\ngo\nthere\n> #1 assistant e2\na cat" in text


@pytest.mark.requirement("memory:words:snippet")
@pytest.mark.parametrize(
    ("text", "query", "args"),
    [
        ("x " * 3_000 + "Needle" + " y" * 3_000, "needle", {}),
        ("\U0001f3f7" * 3_000 + " needle " + "\U0001f3f7" * 3_000, "needle", {}),
        ("needles " * 900 + "needle", "needle", {}),
        ("x " * 900 + "theNeedleHere" + " y" * 900, "needle", {"fold": True}),
        ("x " * 900 + "needles" + " y" * 900, "need", {"match": "prefix"}),
    ],
)
async def test_a_snippet_shows_the_place_of_the_word(
    home: Home, text: str, query: str, args: JsonObject
) -> None:
    home.session("x", path(user(text)))
    memory = home.memory(max_entry_chars=100_000)

    answer = await brief(home, query, memory=memory, **args)

    snippet = answer["segments"][0]["matches"][0]["snippet"]
    assert "needle" in snippet.lower()
    assert len(snippet) <= 240
    assert snippet.startswith("…")


@pytest.mark.parametrize(
    ("moment", "shown"),
    [(NOON_MS, "2025-01-01"), (None, "-"), (1e300, "-"), (-1e17, "-"), (float("nan"), "-")],
)
def test_a_day_that_no_calendar_has_is_a_dash(moment: float | None, shown: str) -> None:
    assert day(moment) == shown


@pytest.mark.requirement("memory:words:brief-bound")
async def test_words_of_a_query_and_names_of_a_log_cannot_burst_the_text(home: Home) -> None:
    entry = message("user", content="cat") | {"id": "e" * 9_000, "parentId": None}
    home.session("x", [entry, compaction("cat")])
    home.session("y", path(user("w" * 9_000)), age=5)
    memory = home.memory(hot_sessions=1)

    for asked, args in (
        ("cat", {}),
        ("w" * 9_000, {"fold": True}),
        ("cat", {"scope": "session:" + "s" * 9_000}),
    ):
        answer = await brief(home, asked, memory=memory, **args)
        assert len(answer["text"]) <= MAX_BRIEF_CHARS


@pytest.mark.requirement("memory:words:snippet")
def test_of_a_query_of_thousands_of_words_the_first_are_shown() -> None:
    pattern = hit_pattern(Query(text=" ".join(f"word{at}" for at in range(5_000))))

    assert pattern is not None
    assert pattern.pattern.count("|") < 150
    assert pattern.search("see word7 there")


@pytest.mark.requirement("memory:words:scope")
async def test_a_word_that_is_no_scope_is_told_with_what_it_stands_for(home: Home) -> None:
    home.session("x", path(user("cat")))

    text = (await brief(home, "cat", scope="globl"))["text"]

    assert text.startswith("1 match in 1 place in this session, for 'globl' is no scope (active branches).")


@pytest.mark.requirement("memory:words:text")
async def test_a_page_that_there_is_not_is_told_with_the_last(home: Home) -> None:
    home.session("x", path(user("cat")))

    answer = await brief(home, "cat", page=4)

    assert answer["text"].startswith("There is no page 4, the last is 1: 1 match in global")
    assert answer["segments"] == []


@pytest.mark.requirement("memory:words:text")
async def test_a_scope_without_sessions_is_not_called_searched(home: Home) -> None:
    text = (await brief(home, "cat"))["text"]

    assert text.splitlines() == ["No matches in global (active branches).", "There was no session to search."]
