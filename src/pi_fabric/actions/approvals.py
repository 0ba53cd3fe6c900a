"""Who may do what: allow, ask or deny by risk class, asked once per class and execution."""

from collections.abc import Collection, Mapping
from typing import Literal

import anyio

from pi_fabric.base.bounds import clip_bytes
from pi_fabric.base.clock import Deadline
from pi_fabric.base.errors import Denied
from pi_fabric.base.jsonvalue import JsonObject, stringify
from pi_fabric.protocol.actions import Action, Risk
from pi_fabric.protocol.host import ApprovalPort, ApprovalQuestion

Policy = Literal["allow", "ask", "deny"]

GRANTED_VARIABLE = "PI_FABRIC_GRANTED_RISKS"
"""Comma-separated risk classes that a parent process has already been allowed."""
# A question is read in one line of a dialog.
MAX_DETAIL_BYTES = 200


class Approvals:
    """The answers of one execution; calls of the same class share the question.

    Time that the user takes is not charged to the program.
    """

    def __init__(
        self,
        *,
        policy: Mapping[Risk, Policy],
        port: ApprovalPort | None,
        deadline: Deadline,
        granted: Collection[str] = (),
    ) -> None:
        self._policy = policy
        self._port = port
        self._deadline = deadline
        self._granted = granted
        self._answers: dict[Risk, bool] = {}
        self._asking = {risk: anyio.Lock() for risk in policy}

    async def require(self, action: Action, ref: str, args: JsonObject) -> None:
        """Return when the call may go on.

        Raises:
            Denied: If policy or the user refuses, or nobody can be asked.
        """
        for risk in action.approval_risks or (action.risk,):
            await self._require(risk, ref, args)

    async def _require(self, risk: Risk, ref: str, args: JsonObject) -> None:
        policy = "allow" if risk in self._granted else self._policy[risk]
        if policy == "allow":
            return
        if policy == "deny":
            raise Denied(ref, risk, f"denied: approvals.{risk} is deny")
        if self._port is None or not self._port.has_ui:
            raise Denied(ref, risk, f"denied: approvals.{risk} is ask and there is no one to ask here")
        if not await self._ask(self._port, risk, ref, args):
            raise Denied(ref, risk, f"denied: the user refused {risk} calls for this run")

    async def _ask(self, port: ApprovalPort, risk: Risk, ref: str, args: JsonObject) -> bool:
        with self._deadline.paused():
            async with self._asking[risk]:
                if risk not in self._answers:
                    detail = clip_bytes(stringify(args), MAX_DETAIL_BYTES)
                    question = ApprovalQuestion(risk=risk, ref=ref, detail=detail)
                    self._answers[risk] = await port.confirm(question)
        return self._answers[risk]
