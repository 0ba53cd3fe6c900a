"""Tells of the session that Pi is in, by asking Pi each time.

Owns nothing: the file of a session does not say where in its tree Pi is, for a move there appends nothing.
"""

from pathlib import Path

import anyio
import msgspec

from pi_fabric.base.errors import HostError, InvalidArguments, Unavailable
from pi_fabric.base.jsonvalue import Json
from pi_fabric.host.pi.rpc import Peer
from pi_fabric.host.pi.wire import convert
from pi_fabric.protocol.host import LiveSession

# Pi answers a branch of 50,000 entries in milliseconds; its one thread may be busy for seconds with a
# compaction, and nobody wants to wait longer for a look into a session.
ANSWER_S = 10.0


class Answer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Result of `host.session`; null stands for no session."""

    file: str | None
    """None for a session that Pi keeps in memory."""
    leaf_id: Json
    ids: list[Json]
    """Root first. What a session file calls an id may be any JSON."""


class PiLiveSession:
    """A `SessionPort` on Pi's session manager.

    Pi names a new session's file before it writes it, so the file may not be there yet.
    """

    def __init__(self, peer: Peer, *, answer_s: float = ANSWER_S) -> None:
        self._peer = peer
        self._answer_s = answer_s

    async def current(self) -> LiveSession | None:
        """The session with its active branch; ids that are not strings are left out.

        None while Pi is between two sessions.

        Raises:
            Unavailable: If Pi is gone, does not answer in time, or answers with something else.
        """
        answer = await self._ask()
        if answer is None:
            return None
        try:
            session = convert("host.session", answer, Answer)
        except InvalidArguments as error:
            raise Unavailable(
                f"Pi's answer tells of no session: {error.message}",
                "Run `pi-fabric pi install` again and restart Pi",
            ) from None
        return LiveSession(
            file=Path(session.file) if session.file else None,
            branch_ids=tuple(entry_id for entry_id in session.ids if isinstance(entry_id, str)),
            leaf_id=session.leaf_id if isinstance(session.leaf_id, str) else None,
        )

    async def _ask(self) -> Json:
        try:
            with anyio.fail_after(self._answer_s):
                return await self._peer.request("host.session", {})
        except TimeoutError:
            raise Unavailable(
                f"Pi did not tell where it is in its session within {self._answer_s:g} s",
                "It is busy or stopped; try again when it responds",
            ) from None
        except HostError as error:
            raise Unavailable(
                f"Pi's session is out of reach: {error.message}", "`/fabric status` says how Pi's side is"
            ) from None
