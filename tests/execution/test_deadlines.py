import pytest

from pi_fabric.base.clock import FakeClock
from pi_fabric.config import normalize
from pi_fabric.execution.deadlines import extend_for, start_deadline

CONFIG = normalize({}).config


@pytest.mark.requirement("exec:deadline:agents")
@pytest.mark.parametrize(
    ("code", "limit_s"),
    [
        ("return 1", 120),
        ("await agent('x')", 3600),
        ("await workflow.agent('x')", 3600),
        ("await agents . run({task: 'x'})", 3600),
        ("await Promise.all([agents.wait({id})])", 3600),
        ("council.run({})", 3600),
        ("rlm\n.query({})", 3600),
        ("agents.spawn({})", 120),
        ("myagent('x'); user.agent('x'); my_agents.run()", 120),
    ],
)
def test_a_program_that_waits_for_agents_gets_their_time(code: str, limit_s: float) -> None:
    assert start_deadline(code, CONFIG, FakeClock(), timeout_ms=None).limit_s == limit_s


@pytest.mark.requirement("exec:deadline:caller")
def test_the_callers_own_limit_wins() -> None:
    assert start_deadline("await agent('x')", CONFIG, FakeClock(), timeout_ms=500).limit_s == 0.5


@pytest.mark.requirement("exec:deadline:dynamic")
@pytest.mark.parametrize(
    ("ref", "args", "remaining_s"),
    [
        ("agents.run", {}, 3600),
        ("agents.ask", {"timeoutMs": 9_000_000}, 3600),
        ("agents.run", {"timeoutMs": 9_000_000}, 9000),
        ("agents.run", {"timeoutMs": 1000}, 3600),
        ("agents.run", {"timeoutMs": 10**12}, 86_400),
        ("agents.spawn", {}, 20),
        ("pi.bash", {"timeout": 900}, 20),
    ],
)
def test_a_call_that_waits_for_an_agent_extends_the_running_deadline(
    ref: str, args: dict[str, object], remaining_s: float
) -> None:
    clock = FakeClock()
    deadline = start_deadline("", CONFIG, clock, timeout_ms=None)
    clock.advance(100)
    extend_for(ref, args, deadline, CONFIG)
    assert deadline.remaining_s == remaining_s
