"""One `fabric_exec`: check, run, collect, seal. Whatever happens inside, there is one result."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

import anyio
import anyio.to_thread

from pi_fabric.actions.approvals import GRANTED_VARIABLE, Approvals
from pi_fabric.actions.discovery import Discovery
from pi_fabric.actions.pipeline import Internal, Pipeline, PipelineContext
from pi_fabric.actions.registry import Catalogue, Registry
from pi_fabric.base.clock import Clock, Deadline, SystemClock
from pi_fabric.base.errors import SandboxLost
from pi_fabric.base.groups import sole_exception
from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.config import FabricConfig
from pi_fabric.execution.bridge import GuestBridge
from pi_fabric.execution.deadlines import extend_for, start_deadline
from pi_fabric.execution.guards import ChildCapGuard, FullCodeGuard
from pi_fabric.execution.log_buffer import LogBuffer
from pi_fabric.execution.model import ExecRequest, ExecResult
from pi_fabric.execution.nested_result import truncate_nested
from pi_fabric.execution.report import Report
from pi_fabric.execution.request import parse_request
from pi_fabric.execution.workflow import Workflow
from pi_fabric.history.trace import TraceRecorder
from pi_fabric.protocol.actions import ImageBlock
from pi_fabric.protocol.events import EventSink, ExecutionEvent, LogWritten
from pi_fabric.protocol.host import HostPorts
from pi_fabric.runtime.engine import Engine, EngineResult, Program
from pi_fabric.runtime.typescript import Prepared, Refused, TypeScript, generate_declarations


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionServices:
    """What executions share for as long as Fabric is open."""

    registry: Registry
    engine: Engine
    typescript: TypeScript
    config: FabricConfig
    ports: HostPorts
    cwd: Path
    environ: Mapping[str, str]
    clock: Clock = field(default_factory=SystemClock)


async def execute(
    services: ExecutionServices,
    arguments: Json,
    *,
    sink: EventSink | None = None,
    abort: anyio.Event | None = None,
    timeout_ms: int | None = None,
) -> ExecResult:
    """Run one program to its result.

    Args:
        services: What executions share.
        arguments: Of `fabric_exec`, as the model sent them.
        sink: Told everything that happens, as it happens.
        abort: Set to end the run; its result then says aborted.
        timeout_ms: The caller's own limit; None takes the configured one.

    Raises:
        InvalidArguments: If the request itself cannot be read.
        SandboxError: If the sandbox broke before the program ran; later it is the result that says so.
    """
    request = await anyio.to_thread.run_sync(parse_request, arguments)
    catalogue = await services.registry.catalogue()
    run = _Run(services, request, catalogue, sink=sink or _ignore, timeout_ms=timeout_ms)
    with sole_exception(), anyio.CancelScope() as scope:
        async with anyio.create_task_group() as watchers:
            if abort is not None:
                watchers.start_soon(_cancel_on, abort, scope)
            result = await run.carry_out()
            watchers.cancel_scope.cancel()
            return result
    return await run.aborted()


async def _off_the_loop(report: Callable[[], ExecResult]) -> ExecResult:
    # A large value takes long to format, and a cut one is written to a file. An abort comes too late.
    with anyio.CancelScope(shield=True):
        return await anyio.to_thread.run_sync(report)
    raise AssertionError("a shielded scope is not cancelled")


async def _cancel_on(abort: anyio.Event, scope: anyio.CancelScope) -> None:
    await abort.wait()
    scope.cancel()


def _ignore(event: ExecutionEvent) -> None:
    del event


class _Run:
    """The state of one execution."""

    def __init__(
        self,
        services: ExecutionServices,
        request: ExecRequest,
        catalogue: Catalogue,
        *,
        sink: EventSink,
        timeout_ms: int | None,
    ) -> None:
        config = services.config
        self._services = services
        self._request = request
        self._catalogue = catalogue
        self._outer_sink = sink
        self._recorder = TraceRecorder()
        self._logs = LogBuffer(config.executor.max_output_chars)
        self._images: list[ImageBlock] = []
        self._workflow = Workflow(self._tell)
        self._timeout_ms = timeout_ms
        self._full_code = FullCodeGuard(full_code_mode=config.full_code_mode)
        self._undeclared = {
            name: absence.reason for name, absence in catalogue.absent.items() if not absence.is_declared
        }
        self._report = Report(
            request,
            config,
            recorder=self._recorder,
            logs=self._logs,
            images=self._images,
            shut=self._full_code.shut | self._undeclared,
        )

    async def carry_out(self) -> ExecResult:
        declarations = await anyio.to_thread.run_sync(self._declarations)
        prepared = await self._services.typescript.prepare(self._request.code, declarations)
        if isinstance(prepared, Refused):
            return await _off_the_loop(partial(self._report.refused, prepared))
        try:
            ended = await self._run(prepared)
        except SandboxLost as lost:
            return await _off_the_loop(partial(self._report.lost, lost, phases=self._workflow.phases))
        phases = self._workflow.phases
        return await _off_the_loop(partial(self._report.finished, ended, prepared, phases=phases))

    async def aborted(self) -> ExecResult:
        return await _off_the_loop(partial(self._report.aborted, phases=self._workflow.phases))

    def _declarations(self) -> str:
        return generate_declarations(
            {name: self._catalogue.actions_of(name) for name in self._catalogue.providers},
            full_code_mode=self._services.config.full_code_mode,
            disabled=self._undeclared,
        )

    async def _run(self, prepared: Prepared) -> EngineResult:
        config = self._services.config
        deadline = start_deadline(
            self._request.code, config, self._services.clock, timeout_ms=self._timeout_ms
        )
        pipeline = Pipeline(self._pipeline_context(deadline))
        budget = self._request.token_budget
        surface: JsonObject = {} if budget is None else {"tokenBudget": budget}
        return await self._services.engine.run(
            Program(javascript=prepared.javascript, strings=self._request.strings, surface=surface),
            GuestBridge(pipeline, self._catalogue, self._tell, self._log),
            deadline=deadline,
            memory_bytes=config.executor.memory_limit_bytes,
        )

    def _pipeline_context(self, deadline: Deadline) -> PipelineContext:
        config = self._services.config
        requested = self._request.agent_budget or config.subagents.max_per_execution
        granted = self._services.environ.get(GRANTED_VARIABLE, "")
        approvals = Approvals(
            policy={
                "read": config.approvals.read,
                "write": config.approvals.write,
                "execute": config.approvals.execute,
                "network": config.approvals.network,
                "agent": config.approvals.agent,
            },
            port=self._services.ports.approvals,
            deadline=deadline,
            granted=frozenset(risk.strip() for risk in granted.split(",")),
        )

        def interruption() -> Literal["aborted", "timed_out"]:
            return "timed_out" if deadline.is_expired else "aborted"

        return PipelineContext(
            catalogue=self._catalogue,
            approvals=approvals,
            deadline=deadline,
            cwd=self._services.cwd,
            sink=self._tell,
            guards=(
                self._full_code,
                ChildCapGuard(min(requested, config.subagents.max_per_execution)),
                lambda ref, args: extend_for(ref, args, deadline, config),
            ),
            internal=self._internal(),
            bound=lambda value: truncate_nested(value, config.executor.max_nested_result_chars),
            attach=self._images.append,
            interruption=interruption,
        )

    def _internal(self) -> Mapping[str, Internal]:
        discovery = Discovery(self._catalogue, hidden=self._full_code.hidden)
        workflow = self._workflow
        return {
            "fabric.discovery.providers": _answer(lambda _: discovery.providers()),
            "fabric.discovery.list": _answer(discovery.list),
            "fabric.discovery.search": _answer(discovery.search),
            "fabric.discovery.describe": _answer(discovery.describe),
            "fabric.discovery.models": self._models,
            "fabric.workflow.phase": workflow.phase,
            "fabric.workflow.configure": workflow.configure,
            "fabric.workflow.item": workflow.item,
            "fabric.workflow.event": workflow.event,
            "fabric.workflow.progress": workflow.progress,
        }

    async def _models(self, args: JsonObject) -> Json:
        del args
        port = self._services.ports.models
        return [] if port is None else list(await port.list())

    def _log(self, line: str) -> None:
        self._logs.add(line)
        self._tell(LogWritten(text=line))

    def _tell(self, event: ExecutionEvent) -> None:
        self._recorder(event)
        self._outer_sink(event)


def _answer(function: Callable[[JsonObject], Json]) -> Callable[[JsonObject], Awaitable[Json]]:
    async def answer(args: JsonObject) -> Json:
        return function(args)

    return answer
