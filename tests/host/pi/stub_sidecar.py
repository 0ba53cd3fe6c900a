"""A sidecar with the real line and a toy engine: `code` is JSON, a list of steps done in order.

Steps: `{"tool": name, "args": {...}}`, `{"try": name, "args": {...}}` (read; its text, or that of the
failure), `{"parallel": [steps]}`, `{"confirm": risk}`, `{"models": true}`,
`{"phase": name}`, `{"wait": true}` (until aborted), `{"crash": true}` (an exception),
`{"die": code}`, `{"freeze": true}`, `{"print": text}` (to stdout, behind the line's back),
`{"fail": text}`, `{"terminate": true}`, `{"env": name}`, `{"ask": {...}}` (for a compaction),
`{"asked": true}` (what has come of it).
"""

import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from pi_fabric.base.errors import HostError
from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.cli.sidecar import load_settings
from pi_fabric.execution.model import ExecResult
from pi_fabric.history.trace import TraceRecorder
from pi_fabric.host.pi.channel import claim_stdio
from pi_fabric.host.pi.settings import Settings
from pi_fabric.host.pi.sidecar import Sidecar
from pi_fabric.protocol.actions import ImageBlock
from pi_fabric.protocol.events import CallEnded, CallStarted, EventSink, PhaseStarted
from pi_fabric.protocol.host import ApprovalQuestion, HostPorts


class Run:
    def __init__(self, ports: HostPorts, cwd: Path, sink: EventSink, abort: anyio.Event) -> None:
        self._ports, self._cwd, self._sink, self._abort = ports, cwd, sink, abort
        self._count = 0
        self.images: list[ImageBlock] = []
        self.error: str | None = None
        self.terminate = False

    async def do(self, step: JsonObject) -> Json:
        (kind,) = [key for key in step if key != "args"]
        return await getattr(self, f"_{kind}")(step[kind], step.get("args", {}))

    async def _tool(self, name: str, args: JsonObject) -> Json:
        number = self._count
        self._count += 1
        call_id = f"fabric_{number}"
        self._sink(CallStarted(sequence=number, call_id=call_id, ref=f"pi.{name}", args=args))
        updates: list[Json] = []
        assert self._ports.tools is not None
        result = await self._ports.tools.run(
            name, args, call_id=call_id, cwd=self._cwd, update=updates.append
        )
        self.images += result.images
        self._sink(
            CallEnded(
                sequence=number, outcome="succeeded", stage=None, cause=None, error=None, result=result.text
            )
        )
        return {
            "text": result.text,
            "isError": result.is_error,
            "details": result.details,
            "executed": result.executed_args,
            "updates": len(updates),
        }

    async def _try(self, _value: Json, args: JsonObject) -> Json:
        try:
            return (await self._tool("read", args))["text"]
        except HostError as error:
            return error.message

    async def _parallel(self, steps: Sequence[JsonObject], _args: JsonObject) -> Json:
        results: dict[int, Json] = {}

        async def one(index: int, step: JsonObject) -> None:
            results[index] = await self.do(step)

        async with anyio.create_task_group() as tasks:
            for index, step in enumerate(steps):
                tasks.start_soon(one, index, step)
        return [results[index] for index in sorted(results)]

    async def _confirm(self, risk: str, _args: JsonObject) -> Json:
        port = self._ports.approvals
        assert port is not None
        if not port.has_ui:
            return "nobody to ask"
        question = ApprovalQuestion(risk=risk, ref="pi.bash", detail="ls")  # pyright: ignore[reportArgumentType] - a word from the test
        return await port.confirm(question)

    async def _models(self, _value: Json, _args: JsonObject) -> Json:
        assert self._ports.models is not None
        return list(await self._ports.models.list())

    async def _phase(self, name: str, _args: JsonObject) -> Json:
        self._sink(PhaseStarted(index=0, name=name))
        await anyio.sleep(0.15)
        return None

    async def _wait(self, _value: Json, _args: JsonObject) -> Json:
        await self._abort.wait()
        self.error = "aborted"
        return None

    async def _abortable(self, step: JsonObject, _args: JsonObject) -> Json:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._cancel_on_abort, tasks.cancel_scope)
            result = await self.do(step)
            tasks.cancel_scope.cancel()
            return result
        self.error = "aborted"
        return None

    async def _cancel_on_abort(self, scope: anyio.CancelScope) -> None:
        await self._abort.wait()
        scope.cancel()

    async def _crash(self, _value: Json, _args: JsonObject) -> Json:
        raise RuntimeError("a fault in Python")

    async def _die(self, code: int, _args: JsonObject) -> Json:
        os.write(2, b"last words\n")
        os._exit(code)

    async def _freeze(self, _value: Json, _args: JsonObject) -> Json:
        os.kill(os.getpid(), signal.SIGSTOP)
        return None

    async def _print(self, text: str, _args: JsonObject) -> Json:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
        return "printed"

    async def _fail(self, text: str, _args: JsonObject) -> Json:
        self.error = text
        return None

    async def _terminate(self, _value: Json, _args: JsonObject) -> Json:
        self.terminate = True
        return None

    async def _ask(self, request: JsonObject, _args: JsonObject) -> Json:
        assert self._ports.compaction is not None
        return self._ports.compaction.request(**request)

    async def _asked(self, _value: Json, _args: JsonObject) -> Json:
        assert self._ports.compaction is not None
        return self._ports.compaction.status()

    async def _env(self, name: str, _args: JsonObject) -> Json:
        return os.environ.get(name)


class StubFabric:
    def __init__(self, ports: HostPorts, cwd: Path) -> None:
        self._ports, self._cwd = ports, cwd

    async def execute(
        self, arguments: Json, *, sink: EventSink | None = None, abort: anyio.Event | None = None
    ) -> ExecResult:
        run = Run(self._ports, self._cwd, sink or (lambda _event: None), abort or anyio.Event())
        steps = (
            json.loads(arguments["code"])
            if arguments["code"].startswith("[")
            else [{"fail": arguments["code"]}]
        )
        results = [await run.do(step) for step in steps]
        text = json.dumps(results) if run.error is None else f"error: {run.error}"
        return ExecResult(
            outcome="succeeded" if run.error is None else "failed",
            text=text,
            trace=TraceRecorder().seal("succeeded" if run.error is None else "failed"),
            images=tuple(run.images),
            terminate=run.terminate,
        )

    async def describe_providers(self) -> Sequence[JsonObject]:
        return [{"name": "pi", "description": "Core tools."}, {"name": "tools", "description": "Discovery."}]


@asynccontextmanager
async def open_stub(ports: HostPorts, _settings: Settings, cwd: Path) -> AsyncGenerator[StubFabric]:
    if os.environ.get("STUB_DIES_WHEN_READY"):
        await anyio.sleep(0.05)  # the greeting is answered first
        os._exit(5)
    yield StubFabric(ports, cwd)


if __name__ == "__main__":
    anyio.run(Sidecar(claim_stdio(), open_fabric=open_stub, load_settings=load_settings).run)
