from dataclasses import dataclass, field

import anyio
import pytest

from pi_fabric.actions.approvals import Approvals, Policy
from pi_fabric.base.clock import Deadline, FakeClock
from pi_fabric.base.errors import Denied
from pi_fabric.protocol.actions import Action, Risk
from pi_fabric.protocol.host import ApprovalQuestion

READ = Action(name="read", description="", risk="read", input_schema={})
BASH = Action(name="bash", description="", risk="execute", input_schema={})
COMMIT = Action(
    name="commit", description="", risk="execute", input_schema={}, approval_risks=("write", "execute")
)


@dataclass
class Person:
    """Answers questions, and may take time over it."""

    answer: bool = True
    has_ui: bool = True
    clock: FakeClock | None = None
    questions: list[ApprovalQuestion] = field(default_factory=list[ApprovalQuestion])

    async def confirm(self, question: ApprovalQuestion) -> bool:
        self.questions.append(question)
        await anyio.lowlevel.checkpoint()
        if self.clock:
            self.clock.advance(60)
        return self.answer


def approvals(
    person: Person | None,
    *,
    clock: FakeClock | None = None,
    granted: frozenset[str] = frozenset(),
    **over: Policy,
) -> tuple[Approvals, Deadline]:
    policy: dict[Risk, Policy] = dict.fromkeys(("read", "write", "execute", "network", "agent"), "allow")
    policy.update(over)  # pyright: ignore[reportCallIssue, reportArgumentType] - names are risks
    deadline = Deadline(10, clock or FakeClock())
    return Approvals(policy=policy, port=person, deadline=deadline, granted=granted), deadline


@pytest.mark.anyio
@pytest.mark.requirement("approvals:default:allow")
async def test_everything_is_allowed_by_default() -> None:
    gate, _ = approvals(None)
    await gate.require(BASH, "pi.bash", {})


@pytest.mark.anyio
@pytest.mark.requirement("approvals:deny:refuses")
async def test_a_denied_class_is_refused_and_names_the_setting() -> None:
    gate, _ = approvals(Person(), execute="deny")
    with pytest.raises(Denied, match=r"approvals\.execute is deny"):
        await gate.require(BASH, "pi.bash", {})
    await gate.require(READ, "pi.read", {})


@pytest.mark.anyio
@pytest.mark.requirement("approvals:ask:no-ui")
@pytest.mark.parametrize("person", [None, Person(has_ui=False)])
async def test_ask_without_anyone_to_ask_is_refused(person: Person | None) -> None:
    gate, _ = approvals(person, execute="ask")
    with pytest.raises(Denied, match="no one to ask"):
        await gate.require(BASH, "pi.bash", {})


@pytest.mark.anyio
@pytest.mark.requirement("approvals:ask:once")
@pytest.mark.parametrize("answer", [True, False])
async def test_parallel_calls_of_a_class_share_one_question_and_its_answer(answer: bool) -> None:
    person = Person(answer=answer)
    gate, _ = approvals(person, execute="ask")
    refused: list[str] = []

    async def call(name: str) -> None:
        try:
            await gate.require(BASH, name, {"command": "ls"})
        except Denied:
            refused.append(name)

    async with anyio.create_task_group() as calls:
        for number in range(5):
            calls.start_soon(call, f"pi.bash{number}")
    await call("later")
    assert len(person.questions) == 1
    assert len(refused) == (0 if answer else 6)


@pytest.mark.anyio
@pytest.mark.requirement("approvals:ask:not-charged")
async def test_time_that_the_user_takes_is_not_charged_to_the_program() -> None:
    clock = FakeClock()
    gate, deadline = approvals(Person(clock=clock), clock=clock, execute="ask")
    await gate.require(BASH, "pi.bash", {})
    assert deadline.remaining_s == 10


@pytest.mark.anyio
@pytest.mark.requirement("approvals:granted:environment")
async def test_a_granted_class_is_not_asked_for() -> None:
    gate, _ = approvals(None, granted=frozenset({"execute"}), execute="ask", write="deny")
    await gate.require(BASH, "pi.bash", {})
    with pytest.raises(Denied):
        await gate.require(COMMIT, "schema.commit", {})


@pytest.mark.anyio
@pytest.mark.requirement("approvals:commit:two-classes")
async def test_an_action_with_two_classes_asks_for_each_in_order() -> None:
    person = Person()
    gate, _ = approvals(person, execute="ask", write="ask")
    await gate.require(COMMIT, "schema.commit", {})
    assert [question.risk for question in person.questions] == ["write", "execute"]
