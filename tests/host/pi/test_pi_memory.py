"""Memory in the real Pi, both versions: a model finds and opens what its context no longer holds."""

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.host.pi.compaction_lab import NEIGHBOUR, compact, compactions, open_small, talk, user_ids
from tests.host.pi.pi_lab import Lab, notices, stand_in, text_of, tool_results
from tools.pi_rpc import Event, PiSession
from tools.scripted_model import Reply, ToolCall

pytestmark = [pytest.mark.anyio, pytest.mark.pi]

# The word stands far behind what a summary shows of an answer.
SECRET = f"{'Much was said before that. ' * 60}The key lies under the heliotrope, third pot from the left."
ADDRESS = re.compile(r"\[([0-9a-f]{8}(?:/[^\]\s]+)?)\](.*)")
NAMES = ("apple", "birch", "cedar", "dune")


def program(code: str, **strings: str) -> Reply:
    """The model runs a program, whose result is JSON."""
    arguments = {"code": code, "strings": strings, "resultFormat": "json"}
    return Reply(calls=[ToolCall(name="fabric_exec", arguments=arguments)])


async def run(lab: Lab, pi: PiSession, code: str, **strings: str) -> Event:
    """Let the model run one program; its stored result."""
    lab.model.say(program(code, **strings), Reply(text="done"))
    (result,) = tool_results(await pi.prompt("Look it up."))
    return result


async def value(lab: Lab, pi: PiSession, code: str, **strings: str) -> Any:
    """What one program returns."""
    result = await run(lab, pi, code, **strings)
    assert result["isError"] is False, text_of(result)
    return json.loads(text_of(result))


def configure(lab: Lab, **config: Any) -> None:
    """Write the user's `fabric.json`."""
    lab.agent_dir.mkdir(exist_ok=True)
    (lab.agent_dir / "fabric.json").write_text(json.dumps(config))


@pytest.fixture
def real(lab: Lab) -> Lab:
    """Pi in front of the real engine."""
    lab.variables["PI_FABRIC_PYTHON"] = sys.executable
    return lab


@pytest.mark.requirement("memory:pi:compacted")
async def test_what_a_compaction_took_out_of_the_context_is_found_and_opened_word_for_word(real: Lab) -> None:
    async with open_small(real) as pi:
        await talk(real, pi, "Where is the key?", SECRET)
        await talk(real, pi, "And the lamp?")
        assert (await compact(pi))["success"] is True
        context = json.dumps((await pi.command("get_messages"))["data"]["messages"])
        opened = await value(
            real,
            pi,
            """
            // Put together here, for the session holds this program too.
            const query = ["helio", "trope"].join("");
            const found = await memory.recall({ query, scope: "session" });
            const [{ sessionFile, matches }] = found.segments;
            const entryIds = matches.map((match) => match.entryId);
            const { expanded } = await memory.expand({ session: sessionFile, entryIds });
            return { sessionFile, total: found.totalMatches, texts: expanded.map((entry) => entry.text) };
            """,
        )
    assert "heliotrope" not in context
    assert opened == {"sessionFile": str(real.session_file()), "total": 1, "texts": [SECRET]}
    assert "third pot from the left" in json.dumps(real.model.requests[-1])


async def work(lab: Lab, pi: PiSession, name: str) -> None:
    """Turns that leave every kind of address: of entries, phases, calls and commands."""
    await talk(lab, pi, f"Mend the {name}.", f"The {name} is mended.")
    code = f"""
        await phase("look at {name}");
        await pi.write("{name}.txt", "x");
        try {{ await pi.read("no-{name}.txt"); }} catch {{}}
        throw new Error("out of {name}");
        """
    lab.model.say(program(code), Reply(text=f"no {name}"))
    await pi.prompt(f"Count the {name}.")
    call = ToolCall(name="read", arguments={"path": f"gone-{name}.txt"})
    lab.model.say(Reply(calls=[call]), Reply(text=f"gone {name}"))
    await pi.prompt(f"Read the {name}.")
    await pi.command("bash", command=f"exit 3 # {name}")
    await talk(lab, pi, f"And another {name}?")


def form_of(address: str) -> str:
    """What an address leads to."""
    _, is_inside, what = address.partition("/")
    return re.sub("^[0-9]+$", "number", what.partition(":")[0]) if is_inside else "entry"


def printed_addresses(lab: Lab) -> dict[str, str]:
    """Every address in the summaries of the session, with all the words printed beside it."""
    printed: dict[str, str] = {}
    for line in lab.session_lines():
        for address, words in ADDRESS.findall(line.get("summary", "")):
            printed[address] = printed.get(address, "") + words
    return printed


@pytest.mark.requirement("memory:pi:addresses")
async def test_every_address_of_every_summary_opens_what_it_was_made_from(real: Lab) -> None:
    async with open_small(real, "-e", str(NEIGHBOUR)) as pi:
        await work(real, pi, "apple")
        await compact(pi)
        await work(real, pi, "birch")
        await compact(pi)
        await work(real, pi, "cedar")
        await pi.prompt(f"/go {json.dumps({'to': compactions(real)[0]['id'], 'summarize': True})}")
        await work(real, pi, "dune")
        await compact(pi)
        printed = printed_addresses(real)
        opened: dict[str, list[dict[str, Any]]] = await value(
            real,
            pi,
            """
            const opened: any = {};
            for (const address of π.addresses.split(" ")) {
              const request = { session: π.session, entryIds: [address] };
              const ask = (branches: any) => memory.expand({ ...request, branches });
              const onBranch = await ask("active");
              const { expanded } = onBranch.error ? await ask("all") : onBranch;
              opened[address] = expanded.map(({ entryId, text }) =>
                ({ entryId, names: π.names.split(" ").filter((name) => text.includes(name)) }));
            }
            return opened;
            """,
            addresses=" ".join(printed),
            names=" ".join(NAMES),
            session=str(real.session_file()),
        )
    assert len(compactions(real)) == 3
    assert {form_of(address) for address in printed} == {"entry", "number", "phase", "call", "bash"}
    assert {address: len(entries) for address, entries in opened.items()} == dict.fromkeys(printed, 1)
    for address, words in printed.items():
        (entry,) = opened[address]
        assert entry["entryId"] in (address, address.partition("/")[0])
        told = [name for name in NAMES if name in words]
        assert len(told) <= 1
        assert set(told) <= set(entry["names"]), (address, words)


@pytest.mark.requirement("memory:pi:navigate")
async def test_a_move_in_the_tree_that_appends_nothing_moves_what_recall_finds(lab: Lab) -> None:
    root = Path(__file__).parents[3]
    words = [sys.executable, "-m", "tests.host.pi.memory_sidecar"]
    lab.python = stand_in(lab.folder, f"exec {shlex.join(words)}")
    lab.variables["PYTHONPATH"] = f"{root / 'src'}:{root}"
    lab.variables["MEMORY_PROGRAM"] = """
        const count = async (query: string, branches: any) =>
          (await memory.recall({ query, branches })).totalMatches;
        return [await count("lighthouse", "active"), await count("windmill", "active"),
                await count("windmill", "all")].join(" ");
        """

    async def told(pi: PiSession) -> str:
        (text,) = notices(await pi.prompt("/fabric providers"))
        return text.split("  ")[-1]

    async with lab.pi("-e", str(NEIGHBOUR)) as pi:
        lab.model.say(Reply(text="Seen."), Reply(text="Seen too."))
        await pi.prompt("Look at the lighthouse.")
        await pi.prompt("Look at the windmill.")
        at_the_end = await told(pi)
        before = lab.session_file().read_bytes()
        _, windmill = user_ids(lab)
        await pi.prompt(f"/go {json.dumps({'to': windmill})}")
        moved = await told(pi)
        leaf = lab.session_lines()[-1]["id"]
        await pi.prompt(f"/go {json.dumps({'to': leaf})}")
        back = await told(pi)
        after = lab.session_file().read_bytes()
    assert (at_the_end, moved, back) == ("1 1 1", "1 0 1", "1 1 1")
    assert before == after


@pytest.mark.requirement("memory:pi:regex")
async def test_a_pattern_is_tried_and_one_that_never_ends_is_stopped_while_pi_goes_on(real: Lab) -> None:
    configure(real, memory={"regexTimeoutMs": 5_000})
    async with open_small(real) as pi:
        await talk(real, pi, "Where is the key?", "a" * 60 + "! It lies under pot number 3.")
        found = await value(
            real,
            pi,
            """
            const request = { query: "pot number \\\\d", role: "assistant" };
            const found = await memory.recall({ ...request, queryMode: "regex" });
            return found.segments[0].matches.map((match) => match.snippet);
            """,
        )
        start = len(pi.events)
        hard = '{ query: "(a+)+$", queryMode: "regex", role: "assistant" }'
        real.model.say(program(f"return (await memory.recall({hard})).coverage;"), Reply(text="done"))
        await pi.send("prompt", message="Try harder.")
        await pi.wait_for(lambda event: event.get("type") == "tool_execution_start", start=start)
        state = await pi.command("get_state")
        status = await pi.prompt("/fabric status")
        ended_by_now = [event for event in pi.events[start:] if event.get("type") == "tool_execution_end"]
        await pi.wait_for(lambda event: event.get("type") == "agent_settled", start=start)
        (stopped,) = tool_results(pi.events[start:])
        again = await value(real, pi, "return (await memory.recall('key')).totalMatches;")
    assert any("pot number 3" in snippet for snippet in found)
    assert state["data"]["isStreaming"] is True
    assert notices(status)
    assert ended_by_now == []
    coverage = json.loads(text_of(stopped))
    assert (coverage["complete"], coverage["error"]["code"]) == (False, "regex_timeout")
    assert again >= 1


@pytest.mark.requirement("memory:pi:disabled")
async def test_with_memory_switched_off_a_program_is_told_so_and_nothing_is_indexed(real: Lab) -> None:
    configure(real, memory={"enabled": False})
    async with open_small(real) as pi:
        named = await run(real, pi, "return await memory.recall('x');")
        computed = await run(real, pi, "return await tools.call({ ref: 'memory.recall' });")
    for result in (named, computed):
        assert result["isError"] is True
        assert "memory.enabled is false" in text_of(result)
    assert not (real.agent_dir / "fabric").exists()


@pytest.mark.requirement("memory:pi:agent-folder")
async def test_sessions_are_sought_in_the_agent_folder_that_pi_tells(lab: Lab) -> None:
    # Without the variable the sidecar's own guess would be another folder than Pi's.
    lab.python = stand_in(lab.folder, f'exec env -u PI_CODING_AGENT_DIR {shlex.quote(sys.executable)} "$@"')
    async with lab.pi() as pi:
        listed = await value(lab, pi, "return await memory.sessions({ scope: 'global' });")
    assert [row["file"] for row in listed["sessions"]] == [str(lab.session_file())]
    assert (lab.agent_dir / "fabric" / "memory-index").is_dir()
