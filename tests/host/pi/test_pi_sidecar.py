"""The sidecar's own order of things, on pipes, without Pi."""

import json
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.config.model import FabricConfig
from pi_fabric.execution.model import ExecResult
from pi_fabric.history.trace import TraceRecorder
from pi_fabric.host.pi.channel import LineChannel
from pi_fabric.host.pi.settings import Settings, trust_state
from pi_fabric.host.pi.sidecar import MAX_IMAGE_CHARS, Sidecar, tool_result
from pi_fabric.host.pi.wire import PROTOCOL
from pi_fabric.protocol.actions import ImageBlock
from pi_fabric.protocol.events import EventSink
from pi_fabric.protocol.host import HostPorts

pytestmark = pytest.mark.anyio


class Recorder:
    """An engine that answers with the code it was given."""

    def __init__(self) -> None:
        self.codes: list[str] = []
        self.has_run = anyio.Event()

    async def execute(
        self, arguments: Json, *, sink: EventSink | None = None, abort: anyio.Event | None = None
    ) -> ExecResult:
        self.codes.append(arguments["code"])
        self.has_run.set()
        return ExecResult(
            outcome="succeeded", text=arguments["code"], trace=TraceRecorder().seal("succeeded")
        )

    async def describe_providers(self) -> Sequence[JsonObject]:
        return []


class Line:
    """Pi's end."""

    def __init__(self, channel: LineChannel) -> None:
        self._channel = channel
        self._lines = channel.lines()
        self.others: list[JsonObject] = []

    async def tell(self, method: str, params: JsonObject) -> None:
        await self._channel.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        request = {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
        await self._channel.send(json.dumps(request).encode())
        return await self.next(method)

    async def next(self, identity: str | None) -> JsonObject:
        """The answer with this id, or the next notification for None."""
        async for line in self._lines:
            message: JsonObject = json.loads(line)
            if message.get("id") == identity:
                return message
            self.others.append(message)
        raise EOFError


def hello(**changes: Json) -> JsonObject:
    return {
        "protocol": PROTOCOL, "piVersion": "1.6.0", "mode": "rpc", "cwd": "/tmp", "agentDir": "/tmp/agent",
        "isTrusted": True, "hasUI": False,
    } | changes  # fmt: skip


@asynccontextmanager
async def sidecar(engine: Recorder | Exception) -> AsyncGenerator[Line]:
    @asynccontextmanager
    async def open_engine(_ports: HostPorts, _settings: Settings, _cwd: Path) -> AsyncGenerator[Recorder]:
        if isinstance(engine, Exception):
            raise engine
        yield engine

    def load(cwd: Path, environ: Mapping[str, str], is_trusted: bool) -> Settings:
        return Settings(config=FabricConfig(), trust="default", notices=("a notice",))

    to_sidecar, from_test = os.pipe()
    to_test, from_sidecar = os.pipe()
    line = Line(LineChannel(to_test, from_test))
    served = Sidecar(LineChannel(to_sidecar, from_sidecar), open_fabric=open_engine, load_settings=load)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(served.run)
            yield line
            os.close(from_test)  # the end of the line is the end of the sidecar
    for fd in (to_sidecar, to_test, from_sidecar):
        os.close(fd)


async def test_the_first_answer_tells_mode_and_notices_and_the_tool_then_runs() -> None:
    engine = Recorder()
    async with sidecar(engine) as line:
        info = (await line.ask("initialize", hello()))["result"]
        assert (info["fullCodeMode"], info["notices"]) == (True, ["a notice"])
        params = {"execution": "call_1", "arguments": {"code": "return 1"}, "hasUI": False}
        answer = (await line.ask("execute", params))["result"]
    assert answer["content"] == [{"type": "text", "text": "return 1"}]
    assert set(answer["details"]) == {"success", "trace"}


@pytest.mark.requirement("pi:start:protocol")
async def test_an_extension_of_another_protocol_is_told_to_install_again() -> None:
    async with sidecar(Recorder()) as line:
        error = (await line.ask("initialize", hello(protocol=99)))["error"]
    assert "pi-fabric pi install" in error["message"]


@pytest.mark.parametrize("method", ["execute", "status", "providers"])
async def test_nothing_is_served_before_the_greeting(method: str) -> None:
    params = {"execution": "x", "arguments": {"code": ""}, "hasUI": False}
    async with sidecar(Recorder()) as line:
        error = (await line.ask(method, params))["error"]
    assert "must be the first call" in error["message"]


async def test_parameters_that_do_not_fit_are_named_by_their_path() -> None:
    async with sidecar(Recorder()) as line:
        await line.ask("initialize", hello())
        error = (await line.ask("execute", {"execution": 7}))["error"]
    assert "$.execution" in error["message"]


@pytest.mark.requirement("pi:fault:engine")
async def test_an_engine_that_does_not_start_is_told_at_once_and_to_every_caller() -> None:
    async with sidecar(RuntimeError("no such engine")) as line:
        await line.ask("initialize", hello())
        notice = await line.next(None)
        params = {"execution": "x", "arguments": {"code": "return 1"}, "hasUI": False}
        error = (await line.ask("execute", params))["error"]
        status = (await line.ask("status", {}))["result"]["text"]
    assert notice["method"] == "engine.failed"
    assert "no such engine" in notice["params"]["text"]
    assert "no such engine" in error["message"]
    assert "engine: failed: no such engine" in status


@pytest.mark.requirement("pi:start:warm")
async def test_the_first_turn_warms_the_engine_once_and_an_idle_session_does_not() -> None:
    engine = Recorder()
    async with sidecar(engine) as line:
        await line.ask("initialize", hello())
        await line.ask("ping", {})
        assert engine.codes == []
        await line.tell("turn", {})
        await engine.has_run.wait()
        await line.tell("turn", {})
        await line.ask("ping", {})
    assert engine.codes == ["return 0"]


@pytest.mark.requirement("pi:trust:states")
def test_pis_yes_is_the_users_own_only_when_a_decision_is_stored(tmp_path: Path) -> None:
    project = tmp_path / "project" / "deep"
    project.mkdir(parents=True)
    environ = {"PI_CODING_AGENT_DIR": str(tmp_path), "HOME": str(tmp_path)}
    assert trust_state(project, environ, is_trusted=False) == "untrusted"
    assert trust_state(project, environ, is_trusted=True) == "default"
    (tmp_path / "trust.json").write_text(json.dumps({str(tmp_path / "project"): True}))
    assert trust_state(project, environ, is_trusted=True) == "stored"
    assert trust_state(project, environ, is_trusted=False) == "untrusted"
    (tmp_path / "trust.json").write_text(json.dumps({str(tmp_path / "project"): False}))
    assert trust_state(project, environ, is_trusted=True) == "default"


@pytest.mark.requirement("pi:result:images-bounded")
def test_images_over_the_bound_are_left_out_and_the_rest_of_the_result_stays() -> None:
    image = ImageBlock(data="A" * (MAX_IMAGE_CHARS // 2), mime_type="image/png")
    result = ExecResult(
        outcome="succeeded", text="computed", trace=TraceRecorder().seal("succeeded"), images=(image,) * 3
    )
    text, *images = tool_result(result)["content"]
    assert len(images) == 2
    assert text["text"].startswith("computed\n[1 of 3 images left out")
