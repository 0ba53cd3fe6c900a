"""Full code mode on the real Pi: what the model sees, and what comes back."""

import pytest

from tests.host.pi.pi_lab import CORE, Lab, notices, text_of, tool_results, values_of
from tools.scripted_model import Reply, ToolCall

pytestmark = [pytest.mark.anyio, pytest.mark.pi]

DEFAULT_TOOLS = {"read", "bash", "edit", "write"}
ACTIVE = "active: "


async def active_tools(pi_prompt_events: list[str]) -> set[str]:
    (shown,) = pi_prompt_events
    return set(shown.removeprefix(ACTIVE).split())


@pytest.mark.requirement("pi:mode:hides-core", "pi:mode:keeps-others")
async def test_core_tools_are_hidden_and_tools_of_other_extensions_are_not(lab: Lab) -> None:
    async with lab.pi(neighbour="plain") as pi:
        await pi.prompt("hi")
        assert lab.offered_tools() == {"fabric_exec", "other_tool"}
        await pi.prompt("/late")
        await pi.prompt("and now")
        assert lab.offered_tools() == {"fabric_exec", "other_tool", "late_tool"}
        listed = lab.system_prompt()
    assert "- fabric_exec: " in listed
    assert "- read: " not in listed


@pytest.mark.requirement("pi:mode:remembered-tools")
async def test_a_model_that_remembers_a_hidden_tool_is_sent_to_programs(lab: Lab) -> None:
    lab.model.say(Reply(calls=[ToolCall(name="bash", arguments={"command": "touch touched"})]))
    async with lab.pi() as pi:
        (result,) = tool_results(await pi.prompt("go"))
        (nested,) = values_of(await lab.run(pi, {"tool": "bash", "args": {"command": "echo nested"}}))
    assert result["isError"] is True
    assert not (lab.project / "touched").exists()
    assert "pi.bash" in text_of(result) or lab.version.startswith("0.80")
    assert nested["text"] == "nested\n"


@pytest.mark.requirement("pi:mode:grep-find-ls")
async def test_tools_that_pi_has_not_active_can_be_called_from_a_program(lab: Lab) -> None:
    (lab.project / "sub").mkdir()
    (lab.project / "sub" / "x.txt").write_text("needle\n")
    async with lab.pi() as pi:
        result = await lab.run(pi, {"tool": "ls", "args": {"path": "sub"}})
    assert values_of(result)[0]["text"] == "x.txt"


@pytest.mark.requirement("pi:mode:off")
async def test_with_full_code_mode_off_pis_tools_stay_as_they_are(lab: Lab) -> None:
    lab.agent_dir.mkdir()
    (lab.agent_dir / "fabric.json").write_text('{"fullCodeMode": false}')
    async with lab.pi() as pi:
        lab.model.say(Reply(calls=[ToolCall(name="bash", arguments={"command": "echo direct"})]))
        (result,) = tool_results(await pi.prompt("hi"))
        assert lab.offered_tools() == DEFAULT_TOOLS | {"fabric_exec"}
    assert text_of(result) == "direct\n"
    declared = next(t for t in lab.model.requests[-1]["tools"] if t["function"]["name"] == "fabric_exec")
    assert "pi.read" not in declared["function"]["description"]


@pytest.mark.requirement("pi:mode:comes-back")
async def test_hidden_tools_come_back_when_the_mode_is_switched_off(lab: Lab) -> None:
    async with lab.pi(neighbour="plain") as pi:
        await pi.prompt("hi")
        assert lab.offered_tools() == {"fabric_exec", "other_tool"}
        (lab.agent_dir / "fabric.json").write_text('{"fullCodeMode": false}')
        await pi.prompt("/fabric reload")
        await pi.prompt("and now")
        assert lab.offered_tools() == DEFAULT_TOOLS | {"fabric_exec", "other_tool"}
        (lab.agent_dir / "fabric.json").write_text('{"fullCodeMode": true}')
        await pi.prompt("/fabric reload")
        await pi.prompt("and again")
        assert lab.offered_tools() == {"fabric_exec", "other_tool"}


@pytest.mark.requirement("pi:mode:resumed-selection")
async def test_the_users_selection_comes_back_also_after_a_resume(lab: Lab) -> None:
    async with lab.pi() as pi:
        await pi.prompt("hi")
        await pi.close()
    async with lab.pi("--continue", neighbour="plain") as pi:
        await pi.prompt("hi again")
        assert lab.offered_tools() == {"fabric_exec", "other_tool"}
        (lab.agent_dir / "fabric.json").write_text('{"fullCodeMode": false}')
        await pi.prompt("/fabric reload")
        await pi.prompt("and now")
        assert lab.offered_tools() == DEFAULT_TOOLS | {"fabric_exec", "other_tool"}


@pytest.mark.requirement("pi:mode:explicit-selection")
async def test_a_selection_that_the_user_makes_later_is_left_alone(lab: Lab) -> None:
    async with lab.pi(neighbour="plain") as pi:
        await pi.prompt("hi")
        await pi.prompt("/pick read fabric_exec")
        for text in ("one", "two"):
            await pi.prompt(text)
            assert lab.offered_tools() == {"read", "fabric_exec"}
        (lab.agent_dir / "fabric.json").write_text('{"fullCodeMode": false}')
        await pi.prompt("/fabric reload")
        assert await active_tools(notices(await pi.prompt("/active"))) == {"read", "fabric_exec"}


@pytest.mark.requirement("pi:mode:command-line-selection")
async def test_tools_that_the_command_line_leaves_out_stay_out_of_reach(lab: Lab) -> None:
    async with lab.pi("--tools", "read,fabric_exec") as pi:
        bash, read = values_of(
            await lab.run(
                pi,
                {"tool": "bash", "args": {"command": "echo no"}},
                {"tool": "read", "args": {"path": "."}},
            )
        )
        assert lab.offered_tools() - CORE == {"fabric_exec"}
    assert bash["isError"] is True
    assert "bash" in bash["text"]
    assert "not" in bash["text"]
    assert "not found" not in read["text"]


@pytest.mark.requirement("pi:mode:without-fabric")
async def test_a_selection_without_fabric_exec_leaves_the_model_pis_tools(lab: Lab) -> None:
    async with lab.pi("--tools", "read,bash") as pi:
        await pi.prompt("hi")
    assert lab.offered_tools() == {"read", "bash"}
    async with lab.pi("--exclude-tools", "fabric_exec") as pi:
        await pi.prompt("hi")
    assert lab.offered_tools() == DEFAULT_TOOLS


@pytest.mark.requirement("pi:mode:no-builtin-tools")
async def test_without_pis_tools_a_program_has_none_either(lab: Lab) -> None:
    async with lab.pi("--no-builtin-tools") as pi:
        (bash,) = values_of(await lab.run(pi, {"tool": "bash", "args": {"command": "echo no"}}))
        assert lab.offered_tools() == {"fabric_exec"}
    assert bash["isError"] is True
    assert "not found" in bash["text"]


@pytest.mark.requirement("pi:hooks:block", "pi:hooks:none-before-nested-calls")
async def test_a_hook_that_blocks_reading_blocks_it_inside_programs_too(lab: Lab) -> None:
    (lab.project / "a.txt").write_text("secret\n")
    async with lab.pi(neighbour="block") as pi:
        (read,) = values_of(await lab.run(pi, {"tool": "read", "args": {"path": "a.txt"}}))
    if lab.version.startswith("0.80"):
        # Hooks cannot be run around built-in tools there; doctor says so.
        assert read["text"] == "secret\n"
    else:
        assert read["isError"] is True
        assert "reading is not allowed" in read["text"]


@pytest.mark.requirement("pi:hooks:executed-arguments")
async def test_arguments_that_a_hook_changed_are_reported_as_executed(lab: Lab) -> None:
    if lab.version.startswith("0.80"):
        pytest.skip("hooks do not run around built-in tools on Pi 0.80.6")
    for name in ("a", "b"):
        (lab.project / f"{name}.txt").write_text(f"text {name}\n")
    async with lab.pi(neighbour="mutate") as pi:
        (read,) = values_of(await lab.run(pi, {"tool": "read", "args": {"path": "a.txt"}}))
    assert read["text"] == "text b\n"
    assert read["executed"] == {"path": "b.txt"}


@pytest.mark.requirement("pi:override:routed")
async def test_an_override_of_a_core_tool_is_called_in_its_place(lab: Lab) -> None:
    async with lab.pi(neighbour="override,mutate") as pi:
        (read,) = values_of(await lab.run(pi, {"tool": "read", "args": {"path": "a.txt"}}))
        assert lab.offered_tools() == {"fabric_exec", "other_tool"}
    assert read["text"] == "override of b.txt"
    assert read["executed"] == {"path": "b.txt"}
    assert read["details"] == {"by": "neighbour"}


@pytest.mark.requirement("pi:override:hooks")
async def test_hooks_run_around_an_override_on_both_versions(lab: Lab) -> None:
    async with lab.pi(neighbour="override,block") as pi:
        (blocked,) = values_of(await lab.run(pi, {"tool": "read", "args": {"path": "a.txt"}}))
    assert blocked["isError"] is True
    assert "reading is not allowed" in blocked["text"]
    async with lab.pi(neighbour="override,patch") as pi:
        (patched,) = values_of(await lab.run(pi, {"tool": "read", "args": {"path": "a.txt"}}))
    assert patched["text"] == "patched"


@pytest.mark.requirement("pi:skills:catalogue")
async def test_the_model_knows_the_users_skills_and_how_to_load_them(lab: Lab) -> None:
    skill = lab.agent_dir / "skills" / "knitting" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: knitting\ndescription: How to knit <socks> & more\n---\nUse wool.\n")
    async with lab.pi() as pi:
        await pi.prompt("one")
        first = lab.system_prompt()
        read = values_of(await lab.run(pi, {"tool": "read", "args": {"path": str(skill)}}))
        await pi.prompt("three")
        assert lab.system_prompt() == first
    assert first.count("<available_skills>") == 1
    assert "<name>knitting</name>" in first
    assert "Use pi.read inside fabric_exec to load a skill's file" in first
    assert "Use the read tool" not in first
    assert "Use wool." in read[0]["text"]


@pytest.mark.requirement("pi:skills:mode-off")
async def test_with_the_mode_off_pis_own_words_about_skills_stay(lab: Lab) -> None:
    skill = lab.agent_dir / "skills" / "knitting" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: knitting\ndescription: How to knit\n---\nUse wool.\n")
    (lab.agent_dir / "fabric.json").write_text('{"fullCodeMode": false}')
    async with lab.pi() as pi:
        await pi.prompt("one")
    assert "Use the read tool to load a skill's file" in lab.system_prompt()


@pytest.mark.requirement("pi:prompt:stable")
async def test_the_declaration_is_the_manifests_and_the_same_at_every_turn(lab: Lab) -> None:
    async with lab.pi() as pi:
        for text in ("one", "two", "three"):
            await pi.prompt(text)
    declarations = [request["tools"] for request in lab.model.requests]
    assert declarations[0] == declarations[1] == declarations[2]
    prompts = [request["messages"][0] for request in lab.model.requests]
    assert prompts[0] == prompts[1] == prompts[2]
