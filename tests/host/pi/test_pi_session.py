"""The main job in the real Pi, both versions, with a toy engine behind the real line."""

import json

import anyio
import psutil
import pytest

from tests.host.pi.pi_lab import (
    Lab,
    notices,
    program,
    sidecars_of,
    text_of,
    tool_results,
    values_of,
    wait_until,
)
from tools.scripted_model import Reply, ToolCall

pytestmark = [pytest.mark.anyio, pytest.mark.pi]

# A PNG of two by two pixels.
PIXELS = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000002000000020802000000fdd49a730000001149444154789c63f8cfc000"
    "4460e23f03001df003fda03309890000000049454e44ae426082"
)


@pytest.mark.requirement("pi:tool:main-job")
async def test_a_program_calls_pis_tools_and_only_its_result_comes_back(lab: Lab) -> None:
    (lab.project / "a.txt").write_text("hello\n")
    reads = [{"tool": "read", "args": {"path": "a.txt"}}] * 30
    steps = [{"tool": "bash", "args": {"command": "echo one; echo two"}}, {"parallel": reads}]
    async with lab.pi() as pi:
        result = await lab.run(pi, *steps)
        assert lab.offered_tools() == {"fabric_exec"}
        assert await pi.close() == 0
    bash, read_all = values_of(result)
    assert bash["text"] == "one\ntwo\n"
    assert [read["text"] for read in read_all] == ["hello\n"] * 30
    assert set(result["details"]) == {"success", "trace"}
    assert result["isError"] is False
    kept = [line["message"] for line in lab.session_lines() if line["type"] == "message"]
    assert [message["role"] for message in kept if message["role"] != "system"] == [
        "user", "assistant", "toolResult", "assistant",
    ]  # fmt: skip


@pytest.mark.requirement("pi:nested:write-and-errors")
async def test_nested_tools_change_files_and_report_their_errors(lab: Lab) -> None:
    async with lab.pi() as pi:
        result = await lab.run(
            pi,
            {"tool": "write", "args": {"path": "new/b.txt", "content": "one two"}},
            {"tool": "edit", "args": {"path": "new/b.txt", "edits": [{"oldText": "one", "newText": "ONE"}]}},
            {"tool": "ls", "args": {"path": "new"}},
            {"tool": "read", "args": {"path": "missing.txt"}},
        )
    written, edited, listed, missing = values_of(result)
    assert (lab.project / "new" / "b.txt").read_text() == "ONE two"
    assert written["isError"] is edited["isError"] is False
    assert "diff" in edited["details"]
    assert listed["text"] == "b.txt"
    assert missing["isError"] is True
    assert "missing.txt" in missing["text"]


@pytest.mark.requirement("pi:nested:images")
async def test_an_image_that_a_nested_tool_returns_reaches_the_outer_result(lab: Lab) -> None:
    (lab.project / "dot.png").write_bytes(PIXELS)
    async with lab.pi() as pi:
        result = await lab.run(pi, {"tool": "read", "args": {"path": "dot.png"}})
    assert [block["type"] for block in result["content"]] == ["text", "image"]
    assert result["content"][1]["mimeType"] == "image/png"


@pytest.mark.requirement("pi:result:failure")
async def test_a_failed_program_is_an_error_that_keeps_its_trace(lab: Lab) -> None:
    async with lab.pi() as pi:
        result = await lab.run(pi, {"fail": "it went wrong"})
    assert result["isError"] is True
    assert "it went wrong" in text_of(result)
    assert result["details"]["success"] is False
    assert result["details"]["trace"]["version"] == 1


@pytest.mark.requirement("pi:result:terminate")
async def test_a_program_can_end_the_turn(lab: Lab) -> None:
    async with lab.pi() as pi:
        await lab.run(pi, {"terminate": True})
    assert len(lab.model.requests) == 1


@pytest.mark.requirement("pi:tool:arguments")
async def test_near_miss_arguments_pass_pis_validation(lab: Lab) -> None:
    lines = ['[{"tool": "bash",', '"args": {"command": "echo hi"}}]']
    arguments = {"code": lines, "strings": None, "display": "A title"}
    lab.model.say(Reply(calls=[ToolCall(name="fabric_exec", arguments=arguments)]))
    async with lab.pi() as pi:
        (result,) = tool_results(await pi.prompt("go"))
        lab.model.say(Reply(calls=[ToolCall(name="fabric_exec", arguments={"code": None})]))
        (refused,) = tool_results(await pi.prompt("go"))
    assert values_of(result)[0]["text"] == "hi\n"
    assert refused["isError"] is True
    assert "code" in text_of(refused)


@pytest.mark.requirement("pi:tool:concurrent")
async def test_programs_of_one_turn_run_side_by_side_and_keep_to_their_own_tools(lab: Lab) -> None:
    steps = [[{"tool": "bash", "args": {"command": f"echo {n}"}}] for n in range(4)]
    calls = [ToolCall(name="fabric_exec", arguments={"code": json.dumps(code)}) for code in steps]
    lab.model.say(Reply(calls=calls))
    async with lab.pi() as pi:
        results = tool_results(await pi.prompt("go"))
    assert [values_of(result)[0]["text"] for result in results] == ["0\n", "1\n", "2\n", "3\n"]


@pytest.mark.requirement("pi:progress:snapshots")
async def test_progress_shows_intermediate_states_and_not_only_the_last(lab: Lab) -> None:
    names = ["first", "second", "third"]
    async with lab.pi() as pi:
        await lab.run(pi, *({"phase": name} for name in names))
        updates = [event for event in pi.events if event.get("type") == "tool_execution_update"]
    shown = "\n".join(text_of(update["partialResult"]) for update in updates)
    assert all(f"phase: {name}" in shown for name in names)


@pytest.mark.requirement("pi:abort:nested")
async def test_an_abort_ends_the_nested_command_and_the_session_goes_on(lab: Lab) -> None:
    sleep = {"tool": "bash", "args": {"command": "echo $$ > pid; exec sleep 300"}}
    async with lab.pi() as pi:
        lab.model.say(program({"abortable": sleep}))
        await pi.send("prompt", message="go")
        pid_file = lab.project / "pid"
        await wait_until(lambda: pid_file.exists() and pid_file.read_text().strip() != "")
        pid = int(pid_file.read_text())
        with anyio.fail_after(10):
            await pi.command("abort")
        await wait_until(lambda: not psutil.pid_exists(pid))
        result = await lab.run(pi, {"tool": "bash", "args": {"command": "echo after"}})
    assert values_of(result)[0]["text"] == "after\n"


@pytest.mark.requirement("pi:abort:trace")
async def test_an_aborted_program_still_hands_over_its_trace(lab: Lab) -> None:
    async with lab.pi() as pi:
        lab.model.say(program({"wait": True}))
        await pi.send("prompt", message="go")
        await pi.wait_for(lambda event: event.get("type") == "tool_execution_start")
        await pi.command("abort")
        (result,) = tool_results(pi.events)
    assert result["isError"] is True
    assert result["details"]["trace"]["version"] == 1


@pytest.mark.requirement("pi:line:text")
async def test_separators_and_astral_characters_cross_the_line_unharmed(lab: Lab) -> None:
    content = "a\u2028b\u2029c\u0085d 😀 \u0000é"
    async with lab.pi() as pi:
        await lab.run(pi, {"tool": "write", "args": {"path": "odd.txt", "content": content}})
    assert (lab.project / "odd.txt").read_text() == content


@pytest.mark.requirement("pi:session:resume")
async def test_a_session_with_programs_resumes(lab: Lab) -> None:
    async with lab.pi() as pi:
        await lab.run(pi, {"tool": "bash", "args": {"command": "echo first"}})
        await pi.close()
    async with lab.pi("--continue") as pi:
        await lab.run(pi, {"fail": "second"})
        await pi.close()
    results = [
        line["message"]["details"]
        for line in lab.session_lines()
        if line["type"] == "message" and line["message"]["role"] == "toolResult"
    ]
    assert [details["success"] for details in results] == [True, False]


@pytest.mark.requirement("pi:session:new")
async def test_a_new_session_gets_its_own_sidecar_and_the_old_one_ends(lab: Lab) -> None:
    async with lab.pi() as pi:
        await lab.run(pi, {"tool": "bash", "args": {"command": "true"}})
        (old,) = sidecars_of(pi.pid)
        await pi.command("new_session")
        result = await lab.run(pi, {"tool": "bash", "args": {"command": "echo new"}})
        await wait_until(lambda: [child.pid != old.pid for child in sidecars_of(pi.pid)] == [True])
        assert lab.offered_tools() == {"fabric_exec"}
    assert values_of(result)[0]["text"] == "new\n"


@pytest.mark.requirement("pi:exit:prompt", "pi:exit:no-orphan")
async def test_pi_ends_at_once_and_leaves_nothing_behind_in_modes_without_rpc(lab: Lab) -> None:
    lab.model.say(program({"tool": "bash", "args": {"command": "echo $PPID > parent"}}))
    assert await lab.print_mode("--print", "go") == (0, "done\n")
    lab.model.say(program({"wait": True, "args": {}}))
    code, output = await lab.print_mode("--mode", "json", "/fabric status")
    assert code == 0
    assert all(json.loads(line) for line in output.splitlines())
    stubs = [
        p for p in psutil.process_iter(["cmdline"]) if str(lab.folder) in " ".join(p.info["cmdline"] or [])
    ]
    assert stubs == []


@pytest.mark.requirement("pi:exit:killed")
async def test_a_killed_pi_takes_its_sidecar_with_it(lab: Lab) -> None:
    async with lab.pi() as pi:
        await lab.run(pi, {"tool": "bash", "args": {"command": "true"}})
        (sidecar,) = sidecars_of(pi.pid)
        psutil.Process(pi.pid).kill()
        await wait_until(lambda: not sidecar.is_running() or sidecar.status() == psutil.STATUS_ZOMBIE)


@pytest.mark.requirement("pi:approvals:dialog")
async def test_an_approval_asks_the_user_and_takes_a_no(lab: Lab) -> None:
    asked: list[str] = []

    def refuse(request: dict[str, str]) -> dict[str, bool] | None:
        if request["method"] != "confirm":
            return None
        asked.append(request["title"])
        return {"confirmed": len(asked) == 1}

    async with lab.pi(dialog=refuse) as pi:
        result = await lab.run(pi, {"confirm": "execute"}, {"confirm": "write"})
    assert values_of(result) == [True, False]
    assert asked == ["Fabric: allow execute?", "Fabric: allow write?"]


@pytest.mark.requirement("pi:approvals:headless")
async def test_without_a_user_there_is_nobody_to_ask(lab: Lab) -> None:
    lab.model.say(program({"confirm": "execute"}))
    await lab.print_mode("--print", "go")
    assert "nobody to ask" in json.dumps(lab.model.requests[-1]["messages"])


@pytest.mark.requirement("pi:models:list")
async def test_a_program_can_list_the_models_of_pi(lab: Lab) -> None:
    async with lab.pi() as pi:
        result = await lab.run(pi, {"models": True})
    expected = {"provider": "scripted", "id": "scripted-1", "name": "Scripted", "key": "scripted/scripted-1"}
    assert values_of(result)[0] == [expected]


@pytest.mark.requirement("pi:command:status", "pi:command:providers", "pi:command:reload")
async def test_the_command_shows_status_and_providers_and_reloads(lab: Lab) -> None:
    async with lab.pi() as pi:
        (status,) = notices(await pi.prompt("/fabric"))
        (providers,) = notices(await pi.prompt("/fabric providers"))
        (old,) = sidecars_of(pi.pid)
        (reloaded,) = notices(await pi.prompt("/fabric reload"))
        assert [child.pid for child in sidecars_of(pi.pid)] != [old.pid]
        (usage,) = notices(await pi.prompt("/fabric dance"))
    assert f"on Pi {lab.version}" in status
    assert f"pid {old.pid}" in status
    assert "Core tools." in providers
    assert "started anew" in reloaded
    assert usage.startswith("usage:")


@pytest.mark.requirement("pi:notices:configuration")
async def test_configuration_notices_are_shown_when_the_session_starts(lab: Lab) -> None:
    lab.agent_dir.mkdir()
    (lab.agent_dir / "fabric.json").write_text("{ not json")
    async with lab.pi() as pi:
        await pi.wait_for(lambda event: "fabric.json" in event.get("message", ""))


@pytest.mark.requirement("pi:session:reload")
async def test_a_reload_of_pis_extensions_keeps_one_sidecar_and_the_mode(lab: Lab) -> None:
    async with lab.pi(neighbour="plain") as pi:
        await pi.prompt("hi")
        (old,) = sidecars_of(pi.pid)
        await pi.prompt("/again")
        await wait_until(lambda: [child.pid != old.pid for child in sidecars_of(pi.pid)] == [True])
        result = await lab.run(pi, {"tool": "bash", "args": {"command": "echo reloaded"}})
        assert lab.offered_tools() == {"fabric_exec", "other_tool"}
    assert values_of(result)[0]["text"] == "reloaded\n"
