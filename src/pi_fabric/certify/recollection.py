"""Memory as a program has it: through the provider, and nothing beside it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from pi_fabric.base.clock import Deadline, SystemClock
from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.config import FabricConfig
from pi_fabric.config.model import MemoryConfig
from pi_fabric.protocol.actions import CallContext
from pi_fabric.protocol.host import HostPorts
from pi_fabric.providers.memory import MemoryProvider
from pi_fabric.providers.surroundings import Surroundings

HOT_SESSIONS: Final = 8
# A stored summary is an entry like any other; cut to the default it would leave the index incomplete.
MAX_ENTRY_CHARS: Final = 64 * 1024
_CALL_LIMIT_S: Final = 120.0


class Recollection:
    """Asks a memory provider of its own, made anew for each of these."""

    def __init__(self, environ: Mapping[str, str], cwd: Path) -> None:
        memory = MemoryConfig(hot_sessions=HOT_SESSIONS, max_entry_chars=MAX_ENTRY_CHARS)
        self._cwd = cwd
        self._provider = MemoryProvider(
            Surroundings(ports=HostPorts(), config=FabricConfig(memory=memory), environ=environ, cwd=cwd)
        )

    async def recall(self, **args: Json) -> JsonObject:
        """`memory.recall`, in full."""
        return await self._call("recall", {"detail": "full", **args})

    async def expand(self, session: str, entry_ids: Sequence[str], **args: Json) -> JsonObject:
        """`memory.expand` of entries by their addresses."""
        return await self._call("expand", {"session": session, "entryIds": list(entry_ids), **args})

    async def _call(self, name: str, args: JsonObject) -> JsonObject:
        context = CallContext(
            call_id="certification",
            ref=f"memory.{name}",
            cwd=self._cwd,
            deadline=Deadline(_CALL_LIMIT_S, SystemClock()),
            update=_nothing,
            attach=_nothing,
            executed=_nothing,
            activity=_nothing,
        )
        return await self._provider.invoke(name, args, context)


def _nothing(_told: object) -> None:
    """Nobody watches a certification's calls."""
