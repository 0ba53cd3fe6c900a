import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from session_files import Home, calls, found_files, found_ids, path, returns, says, user

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.protocol.regex import RegexMatches, RegexProblem

pytestmark = pytest.mark.anyio


@dataclass
class ScriptedRegex:
    """Tries patterns as Python does, and keeps what it was asked."""

    problem: RegexProblem | None = None
    asked: list[tuple[str, list[str], int]] = field(default_factory=list[tuple[str, list[str], int]])

    async def search(self, pattern: str, texts: Sequence[str], *, timeout_ms: int) -> RegexMatches:
        self.asked.append((pattern, list(texts), timeout_ms))
        if self.problem is not None:
            return RegexMatches(problem=self.problem, message="so it is")
        found = (at for at, text in enumerate(texts) if re.search(pattern, text, re.IGNORECASE))
        return RegexMatches(indices=tuple(found))

    @property
    def texts(self) -> list[str]:
        """What the last pattern was tried on."""
        return self.asked[-1][1]


@dataclass
class Nothing(ScriptedRegex):
    """Finds nothing whatever the pattern: those of JavaScript are not all Python's."""

    async def search(self, pattern: str, texts: Sequence[str], *, timeout_ms: int) -> RegexMatches:
        return RegexMatches()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def regex() -> ScriptedRegex:
    return ScriptedRegex()


async def search(home: Home, regex: ScriptedRegex | None, pattern: str, **args: object) -> JsonObject:
    settings = {name: args.pop(name) for name in list(args) if "_" in name}
    memory = home.memory(regex=regex, **settings)
    return await home.recall(pattern, memory=memory, queryMode="regex", **args)


@pytest.mark.requirement("memory:pattern:haystack", "memory:pattern:scores")
async def test_hot_sessions_are_tried_by_entries_and_cold_ones_by_words(
    home: Home, regex: ScriptedRegex
) -> None:
    home.session("hot", path(user("Red fox"), says("a box")))
    home.session("cold", path(user("Fox BOX"), says("red fox")), age=5)

    answer = await search(home, regex, "[fb]ox", hot_sessions=1, regex_timeout_ms=70)

    assert regex.asked == [("[fb]ox", ["Red fox", "a box", "box", "fox", "red"], 70)]
    assert [(one["sessionId"], one["matchedTerms"], one["score"]) for one in answer["digestHits"]] == [
        ("cold", 2, 2)
    ]
    assert sorted(map(str, found_ids(answer))) == ["e1", "e2"]
    assert [segment["score"] for segment in answer["segments"]] == [1]
    assert answer["coverage"]["complete"]
    assert answer["queryMode"] == "regex"


@pytest.mark.requirement("memory:pattern:filters")
async def test_filters_decide_what_is_tried(home: Home, regex: ScriptedRegex) -> None:
    home.session("hot", path(user("one"), calls("read"), user("two")))
    home.session("cold", path(user("three")), age=5)
    home.session("other", path(says("four")), age=6)

    answer = await search(home, regex, "o", hot_sessions=1, role="user")

    assert regex.texts == ["one", "two", "three"]
    assert answer["coverage"]["reasons"] == ["cold_structural_filter_requires_hydration"]


@pytest.mark.requirement("memory:pattern:items")
@pytest.mark.parametrize(("most", "reasons"), [(3, ["regex_max_haystack_terms"]), (4, [])])
async def test_no_more_texts_are_tried_than_the_bound(
    home: Home, regex: ScriptedRegex, most: int, reasons: list[str]
) -> None:
    home.session("hot", path(user("a1"), user("a2")))
    home.session("cold", path(user("b1 b2")), age=5)

    answer = await search(home, regex, "[ab]", hot_sessions=1, regex_max_haystack_terms=most)

    assert regex.texts == ["a1", "a2", "b1", "b2"][:most]
    assert answer["coverage"]["reasons"] == reasons
    assert found_files(answer) == ["hot", "hot", "cold"]


@pytest.mark.requirement("memory:pattern:bytes")
@pytest.mark.parametrize(("most", "texts"), [(7, ["é1", "é2"]), (6, ["é1", "é2"]), (5, ["é1"])])
async def test_no_more_bytes_are_tried_than_the_bound(
    home: Home, regex: ScriptedRegex, most: int, texts: list[str]
) -> None:
    home.session("hot", path(user("é1"), user("é2"), user("é3")))

    answer = await search(home, regex, "absent", regex_max_haystack_bytes=most)

    assert regex.texts == texts
    assert answer["coverage"]["reasons"] == ["regex_max_haystack_bytes"]
    assert answer["text"].startswith("No indexed matches")


@pytest.mark.requirement("memory:pattern:size")
@pytest.mark.parametrize(("pattern", "is_tried"), [("é" * 4, True), ("é" * 4 + "a", False)])
async def test_a_pattern_of_too_many_bytes_is_not_tried(
    home: Home, regex: ScriptedRegex, pattern: str, is_tried: bool
) -> None:
    home.session("x", path(user("a")))

    answer = await search(home, regex, pattern, regex_max_pattern_bytes=8)

    assert bool(regex.asked) is is_tried
    assert answer["coverage"]["reasons"] == ([] if is_tried else ["regex_pattern_too_large"])
    if not is_tried:
        assert answer["coverage"]["error"]["code"] == "regex_pattern_too_large"
        assert "regexMaxPatternBytes" in answer["coverage"]["error"]["message"]


@pytest.mark.requirement("memory:pattern:problems")
@pytest.mark.parametrize("problem", ["invalid_regex", "regex_timeout", "regex_worker_error"])
async def test_a_pattern_that_fails_is_an_answer_without_hits_that_says_so(
    home: Home, problem: RegexProblem
) -> None:
    home.session("x", path(user("cat")))

    answer = await search(home, ScriptedRegex(problem=problem), "cat")

    assert (answer["totalItems"], answer["coverage"]["complete"]) == (0, False)
    assert answer["coverage"]["reasons"] == [problem]
    assert answer["coverage"]["error"] == {"code": problem, "message": "so it is"}
    assert answer["text"].startswith("No indexed matches")


@pytest.mark.requirement("memory:pattern:problems")
async def test_where_nothing_can_run_a_pattern_this_is_told(home: Home) -> None:
    home.session("x", path(user("cat")))

    answer = await search(home, None, "cat")

    assert answer["coverage"]["error"]["code"] == "regex_worker_error"


@pytest.mark.requirement("memory:query:literal")
async def test_a_literal_query_never_reaches_the_sandbox(home: Home, regex: ScriptedRegex) -> None:
    home.session("x", path(user("src/foo.ts is (a+)+$")))
    memory = home.memory(regex=regex)

    for query in ("src/foo.ts", "(a+)+$", "/foo/i"):
        assert found_files(await home.recall(query, memory=memory)) == ["x"]
    assert regex.asked == []


@pytest.mark.requirement("memory:pattern:browse")
async def test_a_blank_pattern_is_a_browse(home: Home, regex: ScriptedRegex) -> None:
    home.session("x", path(user("cat")))

    assert (await search(home, regex, " "))["totalItems"] == 1
    assert regex.asked == []


@pytest.mark.requirement("memory:pattern:named-session")
async def test_a_named_session_is_tried_by_its_entries_whatever_its_tier(
    home: Home, regex: ScriptedRegex
) -> None:
    file = home.session("x", path(user("cat one"), returns("read", "dog")))

    answer = await search(home, regex, "cat.one", hot_sessions=0, scope=f"session:{file}")

    assert regex.texts == ["cat one", "toolResult(read): dog"]
    assert found_ids(answer) == ["e1"]


@pytest.mark.requirement("memory:pattern:runs")
async def test_a_long_session_is_tried_whole_and_in_order(home: Home, regex: ScriptedRegex) -> None:
    home.session("x", path(*(user(f"n{at}") if at % 3 else says(f"n{at}") for at in range(700))))

    answer = await search(home, regex, "^n(255|256|512|699)$", role="user", pageSize=200)

    assert regex.texts == [f"n{at}" for at in range(700) if at % 3]
    assert found_ids(answer) == ["e257", "e513"]


@pytest.mark.requirement("memory:pattern:across-words")
@pytest.mark.parametrize(
    ("pattern", "is_certain"),
    [
        ("fox", True),
        ("^(?:red|blue)$|o{1,2}x", True),
        (r"\w+", True),
        ("[a-z0-9_]+[A-Fx]", True),
        ("red fox", False),
        ("red.fox", False),
        (r"red\sfox", False),
        ("(?=red)", False),
        (r"[^a]fox", False),
        (r"\bfox", False),
        ("fox-1", False),
        (r"fox\p{Z}", False),
        ("[0-z]", False),
        ("[a-z0-9_-]+", False),
        ("x\u00b2", False),
    ],
)
async def test_a_pattern_that_may_span_words_is_not_said_to_have_been_tried_on_cold_sessions(
    home: Home, pattern: str, *, is_certain: bool
) -> None:
    regex = Nothing()
    home.session("cold", path(user("red fox")), age=5)

    answer = await search(home, regex, pattern, hot_sessions=0)
    hot = await search(home, regex, pattern)

    reasons: list[str] = [] if is_certain else ["cold_regex_requires_hydration"]
    assert answer["coverage"]["reasons"] == reasons
    assert answer["coverage"]["complete"] is is_certain
    assert hot["coverage"]["complete"]
    assert ("the pattern was tried on single words" in answer["text"]) is not is_certain
