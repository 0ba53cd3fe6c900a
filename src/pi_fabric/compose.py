"""The only place that builds everything: providers, engine, checker, and Fabric over them."""

import importlib
import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from pi_fabric import __version__
from pi_fabric.actions.registry import Absence, Registry
from pi_fabric.base.errors import Unavailable
from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.config import FabricConfig
from pi_fabric.execution.executor import ExecutionServices, execute
from pi_fabric.execution.model import ExecResult
from pi_fabric.protocol.actions import Provider
from pi_fabric.protocol.events import EventSink
from pi_fabric.protocol.host import HostPorts
from pi_fabric.providers import BUILTIN
from pi_fabric.providers.surroundings import Surroundings
from pi_fabric.runtime.engine import Engine
from pi_fabric.runtime.engines import ENGINES
from pi_fabric.runtime.regex import SandboxRegex
from pi_fabric.runtime.typescript import TypeScript

NOT_YET = ("extensions", "agents", "mesh", "state", "schema", "mcp")
"""Namespaces that a program finds and that no provider answers for in this version."""


class Fabric:
    """Runs programs against one host. Executions may overlap."""

    def __init__(self, services: ExecutionServices) -> None:
        self._services = services
        self._is_open = True

    def close(self) -> None:
        """Refuse programs from now on; called when the context is left."""
        self._is_open = False

    async def execute(
        self,
        arguments: Json,
        *,
        sink: EventSink | None = None,
        abort: anyio.Event | None = None,
        timeout_ms: int | None = None,
    ) -> ExecResult:
        """Run one `fabric_exec`; see `execution.executor.execute`.

        Raises:
            Unavailable: If Fabric has been closed.
        """
        if not self._is_open:
            raise Unavailable("Fabric is closed", "Open it again to run programs.")
        return await execute(self._services, arguments, sink=sink, abort=abort, timeout_ms=timeout_ms)

    async def describe_providers(self) -> Sequence[JsonObject]:
        """Each namespace: `{name, description, available, actions}`; a missing one says why."""
        catalogue = await self._services.registry.catalogue()
        present: list[JsonObject] = [
            {
                "name": provider.name,
                "description": provider.description,
                "available": True,
                "actions": [action.name for action in catalogue.actions_of(provider.name)],
            }
            for provider in catalogue.providers.values()
        ]
        absent: list[JsonObject] = [
            {"name": name, "description": absence.reason, "available": False, "actions": []}
            for name, absence in catalogue.absent.items()
        ]
        return present + absent


@asynccontextmanager
async def open_fabric(
    *,
    ports: HostPorts,
    config: FabricConfig,
    cwd: Path,
    environ: Mapping[str, str] | None = None,
    providers: Sequence[Provider] | None = None,
    is_trusted: bool = False,
) -> AsyncGenerator[Fabric]:
    """Build Fabric over a host and keep it open for the block; everything it started ends with it.

    Args:
        ports: What the host offers.
        config: Settings in force.
        cwd: Working folder of the programs' calls.
        environ: Environment that tells the home and agent folders; None takes the process's own.
        providers: Providers instead of the built-in ones.
        is_trusted: True when the user trusts the project; a compiler in its node_modules may then run.

    Raises:
        Unavailable: If the configured engine is not one of this version's.
    """
    environ = os.environ if environ is None else environ
    async with AsyncExitStack() as stack:
        engine = await stack.enter_async_context(_engine(config))
        typescript = await stack.enter_async_context(
            TypeScript(environ=environ, cwd=cwd if is_trusted else None)
        )
        around = Surroundings(
            ports=ports, config=config, environ=environ, cwd=cwd, regex=SandboxRegex(engine)
        )
        fabric = Fabric(
            ExecutionServices(
                registry=_registry(around) if providers is None else Registry(providers),
                engine=engine,
                typescript=typescript,
                config=config,
                ports=ports,
                cwd=cwd,
                environ=environ,
            )
        )
        stack.callback(fabric.close)
        yield fabric


def _engine(config: FabricConfig) -> Engine:
    runtime = config.executor.runtime
    if runtime not in ENGINES:
        raise Unavailable(
            f"executor.runtime is {runtime!r}, which pi-fabric {__version__} does not have",
            f"Set it to {' or '.join(ENGINES)}.",
        )
    engine: type[Engine] = _load(ENGINES[runtime])
    return engine()


def _registry(around: Surroundings) -> Registry:
    offers: list[Callable[[Surroundings], Provider | None]] = [_load(target) for target in BUILTIN.values()]
    providers = [provider for offer in offers if (provider := offer(around)) is not None]
    return Registry(providers, absent=_absences(around.config, around.ports))


def _load(target: str) -> Any:
    """What `module:name` names."""
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


def _absences(config: FabricConfig, ports: HostPorts) -> dict[str, Absence]:
    absences = {
        name: Absence(reason=f"{name}.* is not part of pi-fabric {__version__} yet", hint="See the README.")
        for name in NOT_YET
    }
    if ports.compaction is None:
        absences["compact"] = Absence(
            reason="compact.* needs a host whose session can be compacted",
            hint="Run the program inside Pi; `pi-fabric compact` looks at any session from the shell.",
        )
    switches = {
        "agents": ("subagents.enabled", config.subagents.enabled),
        "mesh": ("mesh.enabled", config.mesh.enabled),
        "memory": ("memory.enabled", config.memory.enabled),
        "mcp": ("mcp.enabled", config.mcp.enabled),
    }
    for name, (setting, is_on) in switches.items():
        if not is_on:
            absences[name] = Absence(
                reason=f"{name}.* is switched off: {setting} is false",
                hint=f"Set {setting} to true to use it.",
                is_declared=False,
            )
    return absences
