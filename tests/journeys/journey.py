"""The public Fabric over a host in memory."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.compose import Fabric, open_fabric
from pi_fabric.config import normalize
from pi_fabric.execution.model import ExecResult
from pi_fabric.host.memory import MemoryHost
from pi_fabric.protocol.events import EventSink

# Far longer than any program here takes: a guard against a hang, not a measure.
GUARD_S = 50.0


@dataclass
class Journey:
    """Opens Fabric as a host would and runs programs in it."""

    cwd: Path

    @asynccontextmanager
    async def open(self, host: MemoryHost | None = None, **config: Json) -> AsyncGenerator[Fabric]:
        settings = normalize(config).config
        ports = (host or MemoryHost()).ports
        with anyio.fail_after(GUARD_S):
            async with open_fabric(ports=ports, config=settings, cwd=self.cwd) as fabric:
                yield fabric

    async def run(
        self,
        code: Json,
        *,
        files: Mapping[str, str] | None = None,
        host: MemoryHost | None = None,
        answers: Sequence[bool] | None = None,
        timeout_ms: int | None = None,
        sink: EventSink | None = None,
        strings: Mapping[str, str] | None = None,
        config: JsonObject | None = None,
        **arguments: Json,
    ) -> ExecResult:
        """Run one program in a Fabric of its own."""
        host = host or MemoryHost(files, answers=answers)
        result: ExecResult | None = None
        async with self.open(host, **(config or {})) as fabric:
            request = {"code": code, **arguments} | ({"strings": dict(strings)} if strings else {})
            result = await fabric.execute(request, sink=sink, timeout_ms=timeout_ms)
        assert result is not None
        return result
