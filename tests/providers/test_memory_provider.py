"""`memory.*` as a program calls it, over session files as Pi writes them."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from pi_fabric.base.errors import Unavailable
from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.base.process import PIPE, child_process
from pi_fabric.compose import open_fabric
from pi_fabric.config import normalize
from pi_fabric.execution.model import ExecResult
from pi_fabric.host.memory import MemoryHost
from pi_fabric.protocol.host import HostPorts, LiveSession
from pi_fabric.providers.memory import ACTIONS

pytestmark = pytest.mark.anyio

LONG = "before " * 200 + "the sundial stands in the yard"


class Library:
    """An agent folder with sessions, and programs that ask for them."""

    def __init__(self, folder: Path) -> None:
        self.cwd = folder / "project"
        self.cwd.mkdir()
        self.agent_dir = folder / "agent"
        self.host = MemoryHost()
        self.config: dict[str, Any] = {}

    def session(
        self, name: str, messages: Sequence[tuple[str, str | None, str, str]], *, mtime_s: int = 1_700_000_000
    ) -> Path:
        """Write a session of messages `(id, parent, role, text)`."""
        project = f"--{str(self.cwd).strip('/').replace('/', '-')}--"
        file = self.agent_dir / "sessions" / project / f"{name}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        header = {"type": "session", "version": 3, "id": name, "cwd": str(self.cwd)}
        lines = [header, *(_message(*message) for message in messages)]
        file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
        os.utime(file, (mtime_s, mtime_s))
        return file

    def live(self, file: Path, *ids: str) -> None:
        """Let the host be in a session, at the end of this branch."""
        self.host.session = LiveSession(file=file, branch_ids=ids, leaf_id=ids[-1] if ids else None)

    async def run(self, code: str, *, ports: HostPorts | None = None) -> ExecResult:
        """Run one program."""
        environ = os.environ | {
            "HOME": str(self.agent_dir.parent),
            "PI_CODING_AGENT_DIR": str(self.agent_dir),
        }
        result: ExecResult | None = None
        with anyio.fail_after(50):
            async with open_fabric(
                ports=ports or self.host.ports,
                config=normalize(self.config).config,
                cwd=self.cwd,
                environ=environ,
            ) as fabric:
                result = await fabric.execute({"code": code})
        assert result is not None
        return result

    async def value(self, code: str) -> Any:
        """What a program returns."""
        result = await self.run(code)
        assert result.success, result.text
        return result.value


def _message(identity: str, parent: str | None, role: str, text: str) -> JsonObject:
    blocks: list[Json] = [{"type": "text", "text": text}]
    return {
        "type": "message",
        "id": identity,
        "parentId": parent,
        "timestamp": "2026-01-02T03:04:05.000Z",
        "message": {"role": role, "content": blocks},
    }


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path)


@pytest.fixture
def file(library: Library) -> Path:
    """Two branches after one question; the file ends in the abandoned one."""
    file = library.session(
        "here",
        [
            ("a1", None, "user", "Where is the compass?"),
            ("b1", "a1", "assistant", LONG),
            ("c1", "b1", "user", "Look at the lighthouse."),
            ("c2", "b1", "user", "Look at the windmill."),
        ],
    )
    library.live(file, "a1", "b1", "c1")
    return file


@pytest.mark.requirement("memory:provider:recall")
async def test_a_match_says_where_it_is_and_opens_word_for_word(library: Library, file: Path) -> None:
    found, opened = await library.value(
        """
        const found = await memory.recall({ query: "sundial" });
        const { sessionFile, matches } = found.segments[0];
        const opened = await memory.expand({ session: sessionFile, entryIds: matches.map((m) => m.entryId) });
        return [found, opened];
        """
    )
    (match,) = found["segments"][0]["matches"]
    assert found["segments"][0]["sessionFile"] == str(file)
    assert found["items"] == [{"kind": "entry", "segment": 0}]
    assert "entries" not in found["segments"][0]
    assert len(match["snippet"]) <= 240
    assert "sundial" in match["snippet"]
    assert "sundial" in found["text"]
    assert found["coverage"]["complete"] is True
    assert [entry["entryId"] for entry in opened["expanded"]] == ["b1"]
    assert LONG in opened["expanded"][0]["text"]


@pytest.mark.requirement("memory:provider:brief")
async def test_whole_entries_are_for_who_asks_for_them(library: Library, file: Path) -> None:
    found = await library.value("return await memory.recall({ query: 'sundial', detail: 'full' });")
    (segment,) = found["segments"]
    assert [marked["matched"] for marked in segment["entries"]] == [False, True]
    assert LONG in segment["entries"][1]["entry"]["text"]


@pytest.mark.requirement("memory:provider:shapes")
async def test_a_bare_string_is_the_query_with_options_behind_it(library: Library, file: Path) -> None:
    library.session("other", [("o1", None, "user", "Another sundial.")])
    here, everywhere, computed, listed = await library.value(
        """
        return [
          await memory.recall("sundial"),
          await memory.recall("sundial", { scope: "project" }),
          await tools.call({ ref: "memory.recall", args: { query: "sundial" } }),
          await memory.sessions("project"),
        ];
        """
    )
    assert (here["query"], here["scope"], here["totalMatches"]) == ("sundial", "session", 1)
    assert (everywhere["scope"], everywhere["totalMatches"]) == ("project", 2)
    assert computed["totalMatches"] == 1
    assert {row["id"] for row in listed["sessions"]} == {"here", "other"}


@pytest.mark.requirement("memory:provider:sessions")
async def test_sessions_are_listed_newest_first_and_no_more_than_asked_for(
    library: Library, file: Path
) -> None:
    newer = library.session("newer", [("n1", None, "user", "Hello.")], mtime_s=1_700_000_100)
    every, one = await library.value(
        """
        const list = (options: any) => memory.sessions({ scope: "global", ...options });
        return [await list({}), await list({ limit: 1 })];
        """
    )
    assert [row["file"] for row in every["sessions"]] == [str(newer), str(file)]
    assert every["sessions"][1]["cwd"] == str(library.cwd)
    assert [row["id"] for row in one["sessions"]] == ["newer"]


@pytest.mark.requirement("memory:provider:live")
async def test_the_hosts_branch_counts_and_not_the_files_and_is_asked_for_each_time(
    library: Library, file: Path
) -> None:
    code = """
        const found = async (query: string, branches?: string) =>
          (await memory.recall({ query, branches })).totalMatches;
        return [await found("lighthouse"), await found("windmill"), await found("windmill", "all")];
        """
    assert await library.value(code) == [1, 0, 1]
    library.live(file, "a1", "b1", "c2")
    assert await library.value(code) == [0, 1, 1]
    library.host.session = None
    assert await library.value(code) == [0, 1, 1]


@pytest.mark.requirement("memory:provider:live")
async def test_a_branch_that_is_left_within_one_fabric_is_seen_by_the_next_question(
    library: Library, file: Path
) -> None:
    class Moving(MemoryHost):
        async def current(self) -> LiveSession | None:
            now = await super().current()
            library.live(file, "a1", "b1", "c2")
            self.session = library.host.session
            return now

    host = Moving(session=library.host.session)
    result = await library.run(
        """
        const ask = async () => (await memory.recall("lighthouse")).totalMatches;
        return [await ask(), await ask()];
        """,
        ports=host.ports,
    )
    assert result.value == [1, 0]


@pytest.mark.requirement("memory:provider:live-unpersisted")
async def test_a_session_without_a_file_is_no_current_one(library: Library, file: Path) -> None:
    library.host.session = LiveSession(file=None, branch_ids=("x",), leaf_id="x")
    found = await library.value("return await memory.recall({ query: 'windmill' });")
    assert [segment["sessionFile"] for segment in found["segments"]] == [str(file)]


@pytest.mark.requirement("memory:provider:live-new")
async def test_a_session_that_is_not_written_yet_has_nothing_and_says_so(
    library: Library, file: Path
) -> None:
    library.live(file.with_name("new.jsonl"))
    found = await library.value("return await memory.recall({ query: 'compass' });")
    assert found["totalMatches"] == 0
    assert found["coverage"]["complete"] is False
    assert found["coverage"]["reasons"] == ["source_unavailable"]
    everywhere = await library.value("return await memory.recall({ query: 'compass', scope: 'global' });")
    assert everywhere["totalMatches"] == 1


@pytest.mark.requirement("memory:provider:live-unavailable")
@pytest.mark.parametrize(
    "call",
    [
        "memory.recall({ query: 'compass' })",
        "memory.recall({ query: 'compass', scope: 'global' })",
        "memory.expand({ session: 'here', indices: [0] })",
        "memory.sessions({ scope: 'project' })",
    ],
)
async def test_a_host_that_does_not_tell_its_branch_fails_every_question(
    library: Library, file: Path, call: str
) -> None:
    class Silent(MemoryHost):
        async def current(self) -> LiveSession | None:
            raise Unavailable("Pi did not tell its session within 10 s", "try again")

    result = await library.run(f"return await {call};", ports=Silent().ports)
    assert not result.success
    assert "Pi did not tell its session within 10 s. try again" in result.text
    (operation,) = result.trace["operations"]
    assert operation["failureStage"] == "invoke"


@pytest.mark.requirement("memory:provider:live-none")
async def test_without_a_port_for_sessions_the_newest_of_the_folder_is_the_current_one(
    library: Library, file: Path
) -> None:
    result = await library.run("return (await memory.recall('windmill')).totalMatches;", ports=HostPorts())
    assert result.value == 1


@pytest.mark.requirement("memory:provider:lenient")
@pytest.mark.parametrize(
    ("page", "size", "expected"),
    [
        ("1.9", "1.9", (1, 1)),
        ("0", "0", (1, 25)),
        ("-3", "-1", (1, 25)),
        ("2", "201", (2, 200)),
        ("'2'", "'1'", (2, 1)),
        ("1e999", "null", (1, 25)),
    ],
)
async def test_any_number_is_a_page(
    library: Library, file: Path, page: str, size: str, expected: tuple[int, int]
) -> None:
    found = await library.value(f"return await memory.recall({{ page: {page}, pageSize: {size} }});")
    assert (found["page"], found["pageSize"]) == expected


@pytest.mark.requirement("memory:provider:lenient")
async def test_what_is_no_address_is_passed_over_and_a_wrong_one_is_an_answer(
    library: Library, file: Path
) -> None:
    opened, single, beyond, between, unknown, nothing = await library.value(
        """
        const session = "here";
        return [
          await memory.expand({ session, entryIds: ["a1", null, 7, {}, ""], operationAddresses: [null] }),
          await memory.expand({ session, entryIds: "a1" }),
          await memory.expand({ session, indices: [99] }),
          await memory.expand({ session, indices: [1.5] }),
          await memory.expand({ session, entryIds: ["zz"] }),
          await memory.expand({ session: "nobody", indices: [0] }),
        ];
        """
    )
    assert [entry["entryId"] for entry in opened["expanded"]] == ["a1"]
    assert [entry["entryId"] for entry in single["expanded"]] == ["a1"]
    assert (beyond["error"]["code"], beyond["error"]["entryCount"]) == ("index_out_of_bounds", 3)
    assert between["error"]["code"] == "index_out_of_bounds"
    assert (unknown["error"]["code"], unknown["expanded"]) == ("address_not_found", [])
    assert nothing["error"]["code"] == "session_not_found"


@pytest.mark.requirement("memory:provider:refused")
@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("memory.expand({ session: 'here', indices: {} })", "indices[0]: must be number"),
        ("memory.expand({ session: 'here', indices: 1 })", "indices: must be array"),
        ("memory.expand({ indices: [0] })", "session: is required and missing"),
        ("memory.expand({ session: ' ' })", "session is needed"),
        ("memory.expand({ session: 'here', entryRange: { first: 0 } })", "entryRange.last: is required"),
        (
            "memory.recall({ scope: 'session:here', entryRange: { first: 0, last: null } })",
            "entryRange.last: must be number",
        ),
        ("memory.recall({ entryRange: { first: 0, last: 1 } })", "set scope to session:PATH"),
        ("memory.recall({ expectedSourceHash: 'x' })", "set scope to session:PATH"),
        ("memory.recall({ branches: 'al' })", "branches: must be one of active, all"),
        ("memory.sessions({ branches: 'none' })", "branches: must be one of active, all"),
        ("memory.expand({ session: 'here', branches: 1 })", "branches: must be one of active, all"),
        ("memory.recall({ queryMode: 'glob' })", "queryMode: must be one of literal, regex"),
        ("memory.recall({ query: 'x', queryMode: 'regex', fold: true })", "leave them out with queryMode"),
        ("memory.recall({ quer: 'x' })", "quer: unknown argument; did you mean query?"),
        ("memory.sessions({ limit: 0 })", "limit"),
        ("memory.forget({})", "memory has no action 'forget'"),
    ],
)
async def test_arguments_that_mean_nothing_are_refused_by_name(
    library: Library, file: Path, call: str, words: str
) -> None:
    result = await library.run(f"return await {call};".replace("memory.", "(memory as any).", 1))
    assert not result.success
    assert words in result.text


@pytest.mark.requirement("memory:provider:regex")
async def test_a_pattern_is_tried_in_the_engine_and_stopped_at_its_limit(
    library: Library, file: Path
) -> None:
    library.session("hard", [("h1", None, "user", "a" * 60 + "!")])
    library.config = {"memory": {"regexTimeoutMs": 2_000}}
    found, stopped, invalid, after = await library.value(
        r"""
        const regex = (query: string, scope: string) => memory.recall({ query, queryMode: "regex", scope });
        return [
          await regex("light(house|ning)", "session:here"), await regex("(a+)+$", "session:hard"),
          await regex("(", "session:here"), await regex("compass\\?", "session:here"),
        ];
        """
    )
    assert [match["entryId"] for match in found["segments"][0]["matches"]] == ["c1"]
    assert stopped["coverage"]["reasons"] == ["regex_timeout"]
    assert stopped["coverage"]["error"]["code"] == "regex_timeout"
    assert "regexTimeoutMs" in stopped["text"]
    assert invalid["coverage"]["error"]["code"] == "invalid_regex"
    assert after["totalMatches"] == 1


@pytest.mark.requirement("memory:provider:cut")
async def test_an_answer_over_the_nested_limit_is_cut_and_a_brief_one_is_not(
    library: Library, file: Path
) -> None:
    library.session(
        "big", [(f"m{n}", f"m{n - 1}" if n else None, "user", "raven " + "x" * 2_000) for n in range(40)]
    )
    library.config = {"executor": {"maxNestedResultChars": 50_000}}
    brief, full = await library.value(
        """
        const ask = (detail: string) => memory.recall({ query: "raven", scope: "session:big", detail });
        return [await ask("brief"), await ask("full")];
        """
    )
    assert brief["totalMatches"] == 40
    assert full["fabricTruncated"] is True


@pytest.mark.requirement("memory:provider:disabled")
async def test_without_memory_the_namespace_says_which_setting_switched_it_off(
    library: Library, file: Path
) -> None:
    library.config = {"memory": {"enabled": False}}
    named = await library.run("return await memory.recall('x');")
    assert named.type_problems
    computed = await library.run("return await tools.call({ ref: 'memory.sessions' });")
    assert "memory.enabled is false" in named.text
    assert "memory.enabled is false" in computed.text
    assert not (library.agent_dir / "fabric").exists()


@pytest.mark.requirement("memory:provider:reads")
async def test_every_action_is_a_read_and_says_what_each_argument_is_for() -> None:
    assert {action.name: action.risk for action in ACTIONS} == {
        "recall": "read",
        "expand": "read",
        "sessions": "read",
    }
    for action in ACTIONS:
        properties: dict[str, JsonObject] = action.input_schema["properties"]
        assert all(schema.get("description") for schema in properties.values()), action.name


@pytest.mark.requirement("memory:provider:lazy")
async def test_offering_memory_loads_nothing_of_it() -> None:
    code = (
        "import sys, pi_fabric.compose, pi_fabric.providers.memory;"
        "print([name for name in sys.modules if name.startswith('pi_fabric.memory')])"
    )
    async with child_process([sys.executable, "-P", "-c", code], stdout=PIPE) as process:
        assert process.stdout is not None
        output = b"".join([chunk async for chunk in process.stdout])
    assert output == b"[]\n"
