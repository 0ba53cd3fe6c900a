from pathlib import Path

import anyio
import pytest

from pi_fabric.base.clock import FakeClock
from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.compaction.requests import CompactRequests
from pi_fabric.compose import open_fabric
from pi_fabric.config import FabricConfig
from pi_fabric.execution.model import ExecResult
from pi_fabric.protocol.events import EntityUpdated, ExecutionEvent
from pi_fabric.protocol.host import HostPorts
from pi_fabric.providers.compact import ACTIONS

pytestmark = pytest.mark.anyio


class Session:
    """Programs in a host whose session can be compacted."""

    def __init__(self, cwd: Path) -> None:
        self.cwd = cwd
        self.requests = CompactRequests(clock=FakeClock(wall_ms=7))
        self.events: list[ExecutionEvent] = []

    async def run(self, code: str, *, can_compact: bool = True) -> ExecResult:
        """Run one program."""
        ports = HostPorts(compaction=self.requests if can_compact else None)
        result: ExecResult | None = None
        with anyio.fail_after(50):
            async with open_fabric(ports=ports, config=FabricConfig(), cwd=self.cwd) as fabric:
                result = await fabric.execute({"code": code}, sink=self.events.append)
        assert result is not None
        return result

    @property
    def entities(self) -> list[JsonObject]:
        return [event.entity for event in self.events if isinstance(event, EntityUpdated)]


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


@pytest.mark.requirement("compact-request:provider:actions")
async def test_a_program_asks_looks_and_takes_back(session: Session) -> None:
    result = await session.run(
        """
        const asked = await compact.request({ reason: "tests are green", preserve: ["tests/auth.test.ts"] });
        const before = await compact.status();
        const cancelled = await compact.cancel();
        return { asked, same: before.pending?.requestedAt === asked.intent.requestedAt,
                 cancelled, after: await compact.status() };
        """
    )
    assert result.success, result.text
    assert result.value == {
        "asked": {
            "requested": True,
            "intent": {
                "reason": "tests are green",
                "preserve": ["tests/auth.test.ts"],
                "requestedBy": "model",
                "requestedAt": 7,
            },
        },
        "same": True,
        "cancelled": {"cancelled": True},
        "after": {},
    }


@pytest.mark.requirement("compact-request:provider:risks")
async def test_only_asking_is_a_write() -> None:
    assert {action.name: action.risk for action in ACTIONS} == {
        "request": "write",
        "status": "read",
        "cancel": "read",
    }


@pytest.mark.requirement("compact-request:provider:bounds")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("{ instructions: 'x'.repeat(8193) }", "instructions"),
        ("{ instructions: 'é'.repeat(4097) }", "over 8 KiB"),
        ("{ preserve: Array(17).fill('x') }", "preserve"),
        ("{ preserve: ['x'.repeat(2049)] }", "preserve"),
        ("{ reason: 'x'.repeat(1025) }", "reason"),
        ("{ requestedBy: 'x'.repeat(257) }", "requestedBy"),
        ("{ keep: ['x'] } as any", "keep"),
    ],
)
async def test_a_request_out_of_bounds_is_refused_and_leaves_the_slot_alone(
    session: Session, arguments: str, words: str
) -> None:
    result = await session.run(f"await compact.request({arguments});")
    assert not result.success
    assert words in result.text
    assert session.requests.status() == {}


@pytest.mark.requirement("compact-request:provider:activity")
async def test_asking_and_taking_back_is_told_as_activity_within_the_run(session: Session) -> None:
    await session.run("await compact.request({ reason: 'done', instructions: 'x' }); await compact.cancel();")
    assert session.entities == [
        {
            "kind": "compaction",
            "id": "compact",
            "label": "Compaction",
            "progress": "requested",
            "reason": "done",
            "requestedBy": "model",
        },
        {"kind": "compaction", "id": "compact", "label": "Compaction", "progress": "cancelled"},
    ]


@pytest.mark.requirement("compact-request:provider:life")
async def test_the_slot_outlives_the_program_that_filled_it(session: Session) -> None:
    await session.run("await compact.request({ reason: 'later' });")
    assert session.requests.take() is not None
    session.requests.finished({"summary": "s"})
    result = await session.run("return (await compact.status()).last?.status;")
    assert result.value == "committed"


@pytest.mark.requirement("compact-request:provider:absent")
async def test_a_host_without_a_session_says_where_to_run_it(session: Session) -> None:
    result = await session.run("return await compact.request();", can_compact=False)
    assert not result.success
    assert "compact.* needs a host whose session can be compacted" in result.text
    assert "inside Pi" in result.text
