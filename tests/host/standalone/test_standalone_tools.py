import anyio
import pytest

from pi_fabric.base.errors import Unavailable
from pi_fabric.host.standalone import StandaloneTools
from pi_fabric.protocol.host import ToolPort
from tests.host.standalone.calling import Caller, until

pytestmark = pytest.mark.anyio


def test_the_tools_are_a_tool_port():
    port: ToolPort = StandaloneTools()
    assert port


async def test_a_tool_that_does_not_exist_is_refused_with_the_names_that_do(caller: Caller):
    with pytest.raises(Unavailable, match="There are read, bash, edit, write, grep, find, ls"):
        await caller.call("patch")


async def test_arguments_that_do_not_fit_are_an_error_that_names_them(caller: Caller):
    assert "$.offset" in await caller.error("read", path="a", offset="first")
    assert "edits[0]" in await caller.error("edit", path="a", edits=[{"oldText": "x"}])


async def test_numbers_may_arrive_as_javascript_writes_them(caller: Caller):
    (caller.cwd / "a").write_text("1\n2\n3\n")
    assert (await caller.text("read", path="a", offset=2.0, limit=1.0)).startswith("2\n")


@pytest.mark.requirement("standalone:tools:close")
async def test_closing_the_tools_ends_the_calls_that_run(caller: Caller):
    ended: list[str] = []

    async def run_for_ever() -> None:
        with pytest.raises(Unavailable, match="the tools were closed"):
            await caller.call("bash", command="touch started; sleep 300")
        ended.append("call")

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(run_for_ever)
            await until((caller.cwd / "started").exists)
            await caller.tools.__aexit__(None, None, None)
    assert ended == ["call"]
    with pytest.raises(Unavailable):
        await caller.call("ls")


async def test_a_quick_tool_answers_while_slow_commands_run(caller: Caller):
    (caller.cwd / "a").write_text("here")
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(lambda: caller.call("bash", command="sleep 300"))
            assert await caller.text("read", path="a") == "here"
            group.cancel_scope.cancel()
