from collections.abc import Callable
from pathlib import Path

import pytest

from pi_fabric.base.clock import Deadline, FakeClock
from pi_fabric.base.errors import ToolFailed, Unavailable
from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.protocol.actions import CallContext, ImageBlock
from pi_fabric.protocol.host import ToolResult
from pi_fabric.providers.pi import ACTIONS, PiProvider

pytestmark = pytest.mark.anyio


class OneResult:
    """A host whose every tool returns the same."""

    def __init__(self, result: ToolResult) -> None:
        self._result = result
        self.passed: JsonObject = {}

    async def run(
        self, name: str, args: JsonObject, *, call_id: str, cwd: Path, update: Callable[[Json], None]
    ) -> ToolResult:
        self.passed = args
        return self._result


class Call:
    """The context of one call, and what was told to it."""

    def __init__(self, limit_s: float = 120) -> None:
        self.images: list[ImageBlock] = []
        self.executed: list[JsonObject] = []
        self.deadline = Deadline(limit_s, FakeClock())
        self.context = CallContext(
            call_id="fabric_1",
            ref="pi.any",
            cwd=Path("/"),
            deadline=self.deadline,
            update=lambda partial: None,
            attach=self.images.append,
            executed=self.executed.append,
            activity=lambda entity: None,
        )


async def invoke(name: str, args: JsonObject, result: ToolResult, call: Call | None = None) -> Json:
    return await PiProvider(OneResult(result)).invoke(name, args, (call or Call()).context)


@pytest.mark.requirement("pi-provider:settle:exit-code")
@pytest.mark.parametrize(
    "result",
    [
        ToolResult(text="x\n\nCommand exited with code 3", is_error=True),
        ToolResult(text="x", is_error=True, details={"exitCode": 3}),
    ],
)
async def test_a_settled_command_returns_its_exit_code_as_a_value(result: ToolResult) -> None:
    value = await invoke("bash", {"command": "c", "settle": True}, result)
    assert (value["ok"], value["exitCode"], value["output"]) == (False, 3, result.text)
    with pytest.raises(ToolFailed):
        await invoke("bash", {"command": "c"}, result)


@pytest.mark.requirement("pi-provider:settle:raises")
@pytest.mark.parametrize("text", ["Command timed out after 3 seconds", "Command aborted", "no shell"])
async def test_what_is_no_exit_always_raises(text: str) -> None:
    with pytest.raises(ToolFailed, match=text):
        await invoke("bash", {"command": "c", "settle": True}, ToolResult(text=text, is_error=True))


async def test_settle_is_not_passed_to_the_tool() -> None:
    host = OneResult(ToolResult(text="x"))
    await PiProvider(host).invoke("bash", {"command": "c", "settle": True}, Call().context)
    assert host.passed == {"command": "c"}


@pytest.mark.requirement("pi-provider:bash:text-once")
async def test_output_is_not_carried_a_second_time_in_details() -> None:
    details: JsonObject = {"truncation": {"content": "long", "totalLines": 9}, "fullOutputPath": "/tmp/x"}
    value = await invoke("bash", {"command": "c"}, ToolResult(text="long", details=details))
    assert value == {
        "ok": True,
        "output": "long",
        "details": {"truncation": {"totalLines": 9}, "fullOutputPath": "/tmp/x"},
    }


@pytest.mark.requirement("pi-provider:deadline:explicit")
@pytest.mark.parametrize(("seconds", "remaining_s"), [(30, 120), (600, 605), (5000, 900)])
async def test_an_explicit_time_limit_of_a_command_extends_the_run_up_to_the_cap(
    seconds: float, remaining_s: float
) -> None:
    call = Call()
    await invoke("bash", {"command": "c", "timeout": seconds}, ToolResult(text=""), call)
    assert call.deadline.remaining_s == remaining_s


async def test_images_and_hooked_arguments_are_passed_on() -> None:
    call = Call()
    image = ImageBlock(data="aGk=", mime_type="image/png")
    result = ToolResult(text="[image]", images=(image,), executed_args={"path": "other"})
    assert await invoke("read", {"path": "a.png"}, result, call) == "[image]"
    assert (call.images, call.executed) == ([image], [{"path": "other"}])


async def test_a_host_without_tools_says_what_to_do() -> None:
    with pytest.raises(Unavailable, match="pi-fabric exec"):
        await PiProvider(None).invoke("read", {"path": "a"}, Call().context)


@pytest.mark.requirement("pi-provider:descriptors:complete")
async def test_every_core_tool_is_described_with_its_risk() -> None:
    assert {action.name: action.risk for action in ACTIONS} == {
        "read": "read",
        "bash": "execute",
        "edit": "write",
        "write": "write",
        "grep": "read",
        "find": "read",
        "ls": "read",
    }
