"""The real sidecar, except that `/fabric providers` runs the program in MEMORY_PROGRAM and tells its result.

That appends nothing to the session, as a call by the model would.
"""

import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.cli.sidecar import load_settings
from pi_fabric.compose import Fabric, open_fabric
from pi_fabric.execution.model import ExecResult
from pi_fabric.host.pi.channel import claim_stdio
from pi_fabric.host.pi.settings import Settings
from pi_fabric.host.pi.sidecar import Sidecar
from pi_fabric.protocol.events import EventSink
from pi_fabric.protocol.host import HostPorts


class AskingFabric:
    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric

    async def execute(
        self, arguments: Json, *, sink: EventSink | None = None, abort: anyio.Event | None = None
    ) -> ExecResult:
        return await self._fabric.execute(arguments, sink=sink, abort=abort)

    async def describe_providers(self) -> Sequence[JsonObject]:
        result = await self._fabric.execute({"code": os.environ["MEMORY_PROGRAM"], "resultFormat": "text"})
        return [{"name": "result", "description": result.text}]


@asynccontextmanager
async def open_asking(ports: HostPorts, settings: Settings, cwd: Path) -> AsyncGenerator[AskingFabric]:
    async with open_fabric(ports=ports, config=settings.config, cwd=cwd, environ=settings.environ) as fabric:
        yield AskingFabric(fabric)


if __name__ == "__main__":
    anyio.run(Sidecar(claim_stdio(), open_fabric=open_asking, load_settings=load_settings).run)
