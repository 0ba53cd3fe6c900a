"""Sessions of other agents: searched only where `memory.sources` names them."""

import json
from pathlib import Path

import pytest
from session_files import CWD, Home, found_files, lines, path, set_age, user

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.config.normalize import normalize

pytestmark = pytest.mark.anyio
AT = "2025-01-01T12:00:00.000Z"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def claude(home: Home, *texts: str, cwd: str = CWD, age: int = 1) -> str:
    """A project log of Claude Code."""
    records: list[JsonObject] = [
        {
            "type": "user" if number % 2 == 0 else "assistant",
            "uuid": f"u{number}",
            "parentUuid": f"u{number - 1}" if number else None,
            "sessionId": "claude-id",
            "cwd": cwd,
            "timestamp": AT,
            "message": {"role": "user", "content": text}
            if number % 2 == 0
            else {"role": "assistant", "content": [{"type": "text", "text": text}]},
        }
        for number, text in enumerate(texts)
    ]
    return log(home.root / ".claude/projects/-work-proj/claude-log.jsonl", records, age)


def codex(home: Home, *texts: str, age: int = 2) -> str:
    """A rollout of Codex."""
    meta: JsonObject = {
        "timestamp": AT,
        "type": "session_meta",
        "payload": {"id": "codex-id", "cwd": CWD, "timestamp": AT},
    }
    said = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        for text in texts
    ]
    records = [meta, *({"timestamp": AT, "type": "response_item", "payload": one} for one in said)]
    return log(home.root / ".codex/sessions/2025/01/01/rollout-codex.jsonl", records, age)


def log(file: Path, records: list[JsonObject], age: int) -> str:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(lines(records))
    set_age(file, age)
    return str(file)


async def told(
    home: Home, sources: tuple[str, ...], hot: int = 50, **args: Json
) -> list[tuple[str, str | None]]:
    """Which sessions are found, and whose they are said to be."""
    answer = await home.recall("cat", memory=home.memory(sources=sources, hot_sessions=hot), **args)
    return [(one["sessionId"], one.get("source")) for one in (*answer["segments"], *answer["digestHits"])]


@pytest.fixture
def three(home: Home) -> Home:
    """A session of each agent that says one word."""
    home.session("pi-id", path(user("cat")))
    claude(home, "cat")
    codex(home, "cat")
    return home


@pytest.mark.requirement("memory:sources:named", "memory:sources:marked")
@pytest.mark.parametrize("hot", [50, 0])
@pytest.mark.parametrize(
    ("sources", "found"),
    [
        (("pi",), [("pi-id", None)]),
        (("pi", "claude"), [("pi-id", None), ("claude-id", "claude")]),
        (("pi", "codex"), [("pi-id", None), ("codex-id", "codex")]),
        (("claude", "codex"), [("claude-id", "claude"), ("codex-id", "codex")]),
    ],
)
async def test_only_the_agents_that_are_named_are_searched(
    three: Home, sources: tuple[str, ...], found: list[tuple[str, str | None]], hot: int
) -> None:
    assert await told(three, sources, hot) == found


@pytest.mark.requirement("memory:sources:named")
async def test_by_default_only_pis_own_sessions_are_searched_and_listed(three: Home) -> None:
    assert normalize({}).config.memory.sources == ("pi",)

    memory = three.memory()
    for scope in ("global", "project"):
        listed = await memory.sessions({"scope": scope}, cwd=Path(CWD))
        assert [row["id"] for row in listed["sessions"]] == ["pi-id"]
    assert await told(three, ("pi",), scope="session:claude-id") == []


@pytest.mark.requirement("memory:sources:marked")
async def test_a_listing_says_whose_a_session_is(three: Home) -> None:
    memory = three.memory(sources=("pi", "claude", "codex"))

    listed = await memory.sessions({"scope": "global"}, cwd=Path(CWD))

    assert [(row["id"], row.get("source"), row["cwd"]) for row in listed["sessions"]] == [
        ("pi-id", None, CWD),
        ("claude-id", "claude", CWD),
        ("codex-id", "codex", CWD),
    ]


@pytest.mark.requirement("memory:sources:project")
async def test_the_logs_of_a_project_are_those_that_name_its_folder(three: Home) -> None:
    sources = ("pi", "claude", "codex")
    assert [one for one, _ in await told(three, sources, scope="project")] == [
        "pi-id",
        "claude-id",
        "codex-id",
    ]

    claude(three, "cat", cwd="/elsewhere")
    assert [one for one, _ in await told(three, sources, scope="project")] == ["pi-id", "codex-id"]


@pytest.mark.requirement("memory:sources:expand")
@pytest.mark.parametrize("sources", [("pi", "claude", "codex"), ("pi",)])
async def test_a_log_is_searched_and_opened_by_its_path_and_its_entries(
    home: Home, sources: tuple[str, ...]
) -> None:
    memory = home.memory(sources=sources)
    for file in (claude(home, "first", "the cat", "last"), codex(home, "first", "the cat", "last")):
        found = await home.recall("cat", memory=memory, scope=f"session:{file}")
        [match] = [one for segment in found["segments"] for one in segment["exactMatches"]]

        opened = await memory.expand({"session": file, "entryIds": [match["entryId"]]}, cwd=Path(CWD))

        assert [entry["text"] for entry in opened["expanded"]] == ["the cat"]
        assert opened["sourceHash"] == found["segments"][0]["sourceHash"]


@pytest.mark.requirement("memory:sources:untouched")
async def test_logs_of_others_are_only_read(three: Home) -> None:
    def others() -> dict[Path, bytes]:
        return {
            file: file.read_bytes()
            for name in (".claude", ".codex")
            for file in (three.root / name).rglob("*.jsonl")
        }

    before = others()
    memory = three.memory(sources=("pi", "claude", "codex"))
    await three.recall("cat", memory=memory)
    await memory.clear()

    assert others() == before
    assert len(before) == 2


@pytest.mark.requirement("memory:lines:torn")
async def test_a_torn_line_in_a_log_of_others_is_passed_over(home: Home) -> None:
    file = claude(home, "first", "the cat", "dog")
    data = Path(file).read_bytes().splitlines(keepends=True)  # noqa: ASYNC240
    Path(file).write_bytes(b"".join([data[0], b'{"type":"us\n', *data[1:]]))  # noqa: ASYNC240

    answer = await home.recall("cat dog", memory=home.memory(sources=("claude",)))

    assert found_files(answer)
    assert "1 line could not be read." in answer["text"]
    assert json.dumps(answer)


@pytest.mark.requirement("memory:sources:long-head")
@pytest.mark.parametrize("kind", ["claude", "codex"])
async def test_what_stands_before_a_name_does_not_hide_a_log_from_its_project(home: Home, kind: str) -> None:
    file = (claude if kind == "claude" else codex)(home, "the cat")
    first, *rest = [json.loads(line) for line in Path(file).read_bytes().splitlines()]  # noqa: ASYNC240
    # Instructions before the id, as Codex writes them, or a paste in the first line of a log of Claude Code.
    told = first["payload"] if kind == "codex" else first["message"]
    first |= {"payload": {"base_instructions": "x" * 9_000, **told}} if kind == "codex" else {}
    if kind == "claude":
        told["content"] = f"the cat {'x ' * 6_000}"
    log(Path(file), [first, *rest], 1)
    settings: JsonObject = {"sources": (kind,)}

    for memory in (home.memory(**settings), home.memory(**settings)):
        answer = await home.recall("cat", scope="project", memory=memory)
        [segment] = answer["segments"]
        [row] = (await memory.sessions({"scope": "project"}, cwd=Path(CWD)))["sessions"]
        assert (row["id"], row["cwd"]) == (segment["sessionId"], CWD)
        assert await memory.name_of(file, row["id"], cwd=Path(CWD)) == row["id"]
