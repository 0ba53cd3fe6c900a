"""Asks the user through Pi's own dialog."""

from contextvars import ContextVar

from pi_fabric.host.pi.execution import current_execution
from pi_fabric.host.pi.rpc import Peer
from pi_fabric.protocol.host import ApprovalQuestion

HAS_UI: ContextVar[bool] = ContextVar("pi_fabric_has_ui", default=False)
"""Whether the running call of `fabric_exec` can ask anybody: Pi says so with each call."""

_VERBS = {
    "read": "read",
    "write": "change files",
    "execute": "run a command",
    "network": "use the network",
    "agent": "start an agent",
}


class PiApprovals:
    """An `ApprovalPort` on Pi's confirm dialog."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    @property
    def has_ui(self) -> bool:
        """False in print and json modes: every question is then refused."""
        return HAS_UI.get()

    async def confirm(self, question: ApprovalQuestion) -> bool:
        """Show the question; a dialog that is closed or aborted is a no."""
        lines = [f"{question.ref} wants to {_VERBS[question.risk]}."]
        if question.detail:
            lines.append(question.detail)
        lines.append(f"Yes allows every {question.risk} call of this program.")
        answer = await self._peer.request(
            "host.confirm",
            {
                "execution": current_execution(),
                "title": f"Fabric: allow {question.risk}?",
                "message": "\n".join(lines),
            },
        )
        return answer is True
