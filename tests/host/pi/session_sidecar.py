"""The stub sidecar, whose programs return the live session, whatever their code is.

`/fabric providers` tells it too, and that appends nothing to the session.
"""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.cli.sidecar import load_settings
from pi_fabric.execution.model import ExecResult
from pi_fabric.history.trace import TraceRecorder
from pi_fabric.host.pi.channel import claim_stdio
from pi_fabric.host.pi.settings import Settings
from pi_fabric.host.pi.sidecar import Sidecar
from pi_fabric.protocol.events import EventSink
from pi_fabric.protocol.host import HostPorts, SessionPort


class TellingFabric:
    def __init__(self, port: SessionPort) -> None:
        self._port = port

    async def execute(
        self, arguments: Json, *, sink: EventSink | None = None, abort: anyio.Event | None = None
    ) -> ExecResult:
        del arguments, sink, abort
        text = await self._told()
        return ExecResult(outcome="succeeded", text=text, trace=TraceRecorder().seal("succeeded"))

    async def describe_providers(self) -> Sequence[JsonObject]:
        return [{"name": "session", "description": await self._told()}]

    async def _told(self) -> str:
        live = await self._port.current()
        if live is None:
            return "null"
        file = None if live.file is None else str(live.file)
        return json.dumps({"file": file, "ids": live.branch_ids, "leaf": live.leaf_id})


@asynccontextmanager
async def open_telling(ports: HostPorts, _settings: Settings, _cwd: Path) -> AsyncGenerator[TellingFabric]:
    assert ports.session is not None
    yield TellingFabric(ports.session)


if __name__ == "__main__":
    anyio.run(Sidecar(claim_stdio(), open_fabric=open_telling, load_settings=load_settings).run)
