"""A real engine with a library that shows the kernel, and a host that records what it is told."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import anyio

from pi_fabric.base.clock import Deadline, SystemClock
from pi_fabric.base.errors import Denied
from pi_fabric.base.jsonvalue import UNDEFINED, Json, Undefined
from pi_fabric.runtime.engine import EngineResult, Program
from pi_fabric.runtime.engines.quickjs import QuickJsEngine

PROBE = Path(__file__).with_name("probe.js")
MEMORY_BYTES = 64 * 2**20
# Longer than any of these programs takes; a hang ends as a failure of the test.
LIMIT_S = 30.0

Behaviour: TypeAlias = Callable[[Json], Awaitable[Json | Undefined]]


async def never_ends(_args: Json) -> Json:
    """A call that waits for its cancellation."""
    await anyio.sleep_forever()


async def ignores_cancellation(_args: Json) -> Json:
    """A call that nothing short of force ends."""
    with anyio.CancelScope(shield=True):
        await anyio.sleep_forever()


async def refuses(_args: Json) -> Json:
    """A call that policy refuses."""
    raise Denied("pi.bash", "execute", "not here")


async def breaks(_args: Json) -> Json:
    """A call with a fault of its own."""
    raise ValueError("no such file: /a")


async def answers_nothing(_args: Json) -> Undefined:
    """A call without a result."""
    return UNDEFINED


@dataclass
class RecordingHost:
    """Answers with the arguments unless told otherwise."""

    behaviours: dict[str, Behaviour] = field(
        default_factory=lambda: {
            "never": never_ends,
            "ignore": ignores_cancellation,
            "refuse": refuses,
            "break": breaks,
            "nothing": answers_nothing,
        }
    )
    events: list[tuple[str, Json]] = field(default_factory=list[tuple[str, Json]])
    """Calls as (ref, args) and notices as (kind, payload), in the order in which they arrived."""
    cancelled: list[str] = field(default_factory=list[str])
    called: anyio.Event = field(default_factory=anyio.Event)

    async def call(self, ref: str, args: Json) -> Json | Undefined:
        """Do what the table says."""
        self.events.append((ref, args))
        self.called.set()
        try:
            behaviour = self.behaviours.get(ref)
            return args if behaviour is None else await behaviour(args)
        except anyio.get_cancelled_exc_class():
            self.cancelled.append(ref)
            raise

    def notify(self, kind: str, payload: list[Json]) -> None:
        """Record."""
        self.events.append((kind, payload))


@dataclass
class Lab:
    """An engine and the host of the next run."""

    engine: QuickJsEngine
    host: RecordingHost = field(default_factory=RecordingHost)

    async def run(
        self, body: str, *, limit_s: float = LIMIT_S, memory_bytes: int = MEMORY_BYTES
    ) -> EngineResult:
        """Run the body of a program; its first line is line 1."""
        return await self.run_script(
            f"async function program() {{{body}\n}}", limit_s=limit_s, memory_bytes=memory_bytes
        )

    async def run_script(
        self, javascript: str, *, limit_s: float = LIMIT_S, memory_bytes: int = MEMORY_BYTES
    ) -> EngineResult:
        """Run a whole script."""
        with anyio.fail_after(LIMIT_S + 10):
            return await self.engine.run(
                Program(javascript=javascript, strings={"a": "b"}, surface={"c": 1}),
                self.host,
                deadline=Deadline(limit_s, SystemClock()),
                memory_bytes=memory_bytes,
            )

    async def value_of(self, body: str, *, memory_bytes: int = MEMORY_BYTES) -> Json:
        """What a program returns that must complete."""
        result = await self.run(body, memory_bytes=memory_bytes)
        assert result.termination == "completed", result.error
        return result.value

    async def error_of(self, body: str) -> tuple[str, str]:
        """Name and message of the error of a program that must fail."""
        result = await self.run(body)
        assert result.termination == "runtime_error"
        assert result.error is not None
        assert result.value is UNDEFINED
        return result.error.name, result.error.message
