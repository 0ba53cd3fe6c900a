"""The sidecar: one process beside one Pi session, serving `fabric_exec`.

Owns the order of things: answer `initialize` first and quickly, then open the engine in the background,
then serve. It ends when Pi closes the line, and everything it started ends before it.
"""

import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

import anyio

from pi_fabric import __version__
from pi_fabric.base.errors import InvalidArguments, Unavailable
from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.execution.model import ExecResult
from pi_fabric.host.pi.approvals import HAS_UI, PiApprovals
from pi_fabric.host.pi.channel import LineChannel
from pi_fabric.host.pi.compaction import PiCompaction
from pi_fabric.host.pi.execution import CURRENT
from pi_fabric.host.pi.live_session import PiLiveSession
from pi_fabric.host.pi.models import PiModels
from pi_fabric.host.pi.progress import Progress
from pi_fabric.host.pi.rpc import InboundCall, Method, Peer
from pi_fabric.host.pi.settings import LoadSettings, Settings
from pi_fabric.host.pi.tools import PiTools
from pi_fabric.host.pi.wire import PROTOCOL, Execute, Hello, convert
from pi_fabric.protocol.actions import ImageBlock
from pi_fabric.protocol.events import EventSink
from pi_fabric.protocol.host import HostPorts

# The checker ends itself when it has been idle for five minutes; a turn after that warms it again.
WARM_S = 240.0
# An aborted program gets this long to seal its trace; the extension waits a little longer.
ABORT_GRACE_S = 2.5
# All images of one result, base64: a provider takes requests of about 32 MB, a frame 64 MiB.
MAX_IMAGE_CHARS = 20_000_000


class Fabric(Protocol):
    """The engine, as far as a host uses it."""

    async def execute(
        self, arguments: Json, *, sink: EventSink | None = None, abort: anyio.Event | None = None
    ) -> ExecResult:
        """Carry out one call of `fabric_exec`; never raises for what the program does."""
        ...

    async def describe_providers(self) -> Sequence[JsonObject]:
        """Each namespace: at least `{name, description}`; a missing one says why there."""
        ...


OpenFabric = Callable[[HostPorts, Settings, Path], AbstractAsyncContextManager[Fabric]]


class Sidecar:
    """Serves one line. `run` returns when Pi closes it."""

    def __init__(self, channel: LineChannel, *, open_fabric: OpenFabric, load_settings: LoadSettings) -> None:
        self._peer = Peer(channel)
        self._open_fabric = open_fabric
        self._load_settings = load_settings
        self._tools = PiTools(self._peer)
        self._compaction = PiCompaction(lambda: self._greeted()[1].config.compaction)
        self._started_s = time.monotonic()
        self._hello: Hello | None = None
        self._settings: Settings | None = None
        self._fabric: Fabric | None = None
        self._failure: Exception | None = None
        self._is_wanted = anyio.Event()
        self._turn = anyio.Event()
        self._is_open = anyio.Event()

    async def run(self) -> None:
        """Serve until the line ends."""
        methods = {
            "initialize": Method(handler=self._initialize),
            "execute": Method(handler=self._execute, cancel_grace_s=ABORT_GRACE_S),
            "status": Method(handler=self._status),
            "providers": Method(handler=self._providers),
            "ping": Method(handler=_ping),
            **self._compaction.methods(),
        }
        listeners = {
            "host.tool.update": self._tools.on_update,
            "turn": self._on_turn,
            **self._compaction.listeners(),
        }
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._hold_engine)
            tasks.start_soon(self._warm_up)
            tasks.start_soon(self._compaction.follow)
            await self._peer.run(methods, listeners)
            tasks.cancel_scope.cancel()

    async def _initialize(self, params: JsonObject, _call: InboundCall) -> Json:
        hello = convert("initialize", params, Hello)
        if hello.protocol != PROTOCOL:
            mismatch = f"the extension speaks protocol {hello.protocol}, this Python package {PROTOCOL}"
            raise InvalidArguments("initialize", [f"{mismatch}; run `pi-fabric pi install` again"])
        environ = os.environ | {"PI_CODING_AGENT_DIR": hello.agent_dir}
        settings = await anyio.to_thread.run_sync(
            self._load_settings, Path(hello.cwd), environ, hello.is_trusted
        )
        self._settings = settings
        self._hello = hello
        self._is_wanted.set()
        return {
            "protocol": PROTOCOL,
            "version": __version__,
            "python": sys.executable,
            "pid": os.getpid(),
            "fullCodeMode": settings.config.full_code_mode,
            "compactionEngine": settings.config.compaction.engine,
            "notices": list(settings.notices),
        }

    async def _hold_engine(self) -> None:
        # The engine is entered and left in this one task; handlers only borrow it.
        await self._is_wanted.wait()
        hello, settings = self._greeted()
        ports = HostPorts(
            tools=self._tools,
            approvals=PiApprovals(self._peer),
            models=PiModels(self._peer),
            compaction=self._compaction.requests,
            session=PiLiveSession(self._peer),
        )
        try:
            async with self._open_fabric(ports, settings, Path(hello.cwd)) as fabric:
                self._fabric = fabric
                self._is_open.set()
                await anyio.sleep_forever()
        except Exception as error:
            self._failure = error
            self._fabric = None
            self._is_open.set()
            await self._peer.notify("engine.failed", {"text": f"Fabric's engine did not start: {error}"})

    def _on_turn(self, _params: JsonObject) -> None:
        self._turn.set()

    async def _warm_up(self) -> None:
        # The empty program starts the checker and a worker while the model still thinks; the first real
        # one would otherwise wait for both. An idle session starts neither.
        while True:
            await self._turn.wait()
            await self._is_open.wait()
            if self._fabric is None:
                return
            try:
                await self._fabric.execute({"code": "return 0"})
            except Exception:
                traceback.print_exc()
            await anyio.sleep(WARM_S)
            self._turn = anyio.Event()

    async def _engine(self) -> Fabric:
        self._greeted()
        await self._is_open.wait()
        if self._fabric is None:
            raise Unavailable(
                f"Fabric's engine did not start: {self._failure}", "`pi-fabric doctor` finds the cause"
            )
        return self._fabric

    async def _execute(self, params: JsonObject, call: InboundCall) -> Json:
        request = convert("execute", params, Execute)
        fabric = await self._engine()
        CURRENT.set(request.execution)
        HAS_UI.set(request.has_ui)
        progress = Progress()

        async def show(snapshot: JsonObject) -> None:
            await self._peer.notify("execute.update", {"execution": request.execution} | snapshot)

        _, settings = self._greeted()
        interval_s = settings.config.ui.nested_tool_debounce_ms / 1000
        async with progress.shown(show, interval_s=interval_s):
            result = await fabric.execute(request.arguments, sink=progress.sink, abort=call.cancelled)
        return tool_result(result)

    async def _status(self, _params: JsonObject, _call: InboundCall) -> Json:
        hello, settings = self._greeted()
        uptime_s = round(time.monotonic() - self._started_s)
        engine = "ready" if self._fabric else f"failed: {self._failure}" if self._failure else "starting"
        lines = [
            f"pi-fabric {__version__} on Pi {hello.pi_version} ({hello.mode})",
            f"python: {sys.executable}, up {uptime_s} s",
            f"engine: {engine}",
            f"compaction: {self._compaction.status}",
            f"full code mode: {'on' if settings.config.full_code_mode else 'off'}",
            f"project: {hello.cwd} (trust: {settings.trust})",
            *(f"notice: {notice}" for notice in settings.notices),
        ]
        if self._peer.strays:
            lines.append(f"{self._peer.strays} lines from Pi were no messages")
        return {"text": "\n".join(lines)}

    async def _providers(self, _params: JsonObject, _call: InboundCall) -> Json:
        providers = await (await self._engine()).describe_providers()
        width = max((len(str(provider["name"])) for provider in providers), default=0)
        lines = [f"{provider['name']:<{width}}  {provider['description']}" for provider in providers]
        return {"text": "\n".join(lines) or "No provider is there."}

    def _greeted(self) -> tuple[Hello, Settings]:
        if self._hello is None or self._settings is None:
            raise InvalidArguments("initialize", ["must be the first call on the line"])
        return self._hello, self._settings


def tool_result(result: ExecResult) -> JsonObject:
    """One finished execution in the shape of Pi's tool results; `details` is what Pi keeps.

    Images beyond 20 million characters are left out, and the text says so.
    """
    images = _affordable(result.images)
    text = result.text
    if left_out := len(result.images) - len(images):
        text += (
            f"\n[{left_out} of {len(result.images)} images left out: a result carries at most"
            f" {MAX_IMAGE_CHARS:,} characters of them; read fewer in one program]"
        )
    answer: JsonObject = {
        "content": [
            {"type": "text", "text": text},
            *({"type": "image", "data": i.data, "mimeType": i.mime_type} for i in images),
        ],
        "details": result.details,
    }
    if result.terminate:
        answer["terminate"] = True
    return answer


def _affordable(images: Sequence[ImageBlock]) -> Sequence[ImageBlock]:
    total = 0
    for count, image in enumerate(images):
        total += len(image.data)
        if total > MAX_IMAGE_CHARS:
            return images[:count]
    return images


async def _ping(_params: JsonObject, _call: InboundCall) -> Json:
    return None
