"""Compaction on the line: Pi's questions, where its session is, and what programs have asked for.

An exception is an error of that call alone; the extension then leaves the summary to Pi.
"""

import traceback
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import anyio

from pi_fabric.base.clock import SystemClock
from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.config.model import CompactionConfig
from pi_fabric.host.pi.rpc import InboundCall, Listener, Method

if TYPE_CHECKING:
    from pi_fabric.compaction.requests import CompactRequests
    from pi_fabric.host.pi.summaries import Summaries


class PiCompaction:
    """Serves the summaries of one Pi; `follow` must run for its file to be read in advance."""

    def __init__(self, config: Callable[[], CompactionConfig]) -> None:
        self._config = config
        self._summaries: Summaries | None = None
        # They follow a file, one caller at a time.
        self._lock = anyio.Lock()
        self._place: JsonObject = {}
        self._has_moved = anyio.Event()

    @cached_property
    def requests(self) -> "CompactRequests":
        """What programs ask for; lives as long as this process, which is one session of Pi."""
        from pi_fabric.compaction.requests import CompactRequests  # noqa: PLC0415 - as below

        return CompactRequests(clock=SystemClock())

    @property
    def status(self) -> str:
        """One line for the person: who compacts, and how much of the session has been read for it."""
        engine = self._config().engine
        if engine != "fabric":
            return engine
        count = 0 if self._summaries is None else self._summaries.followed_entries
        return f"{engine}, {count} entries of the session read"

    def methods(self) -> Mapping[str, Method]:
        """What Pi may ask."""
        return {
            "compact": Method(handler=self._compact),
            "summarizeBranch": Method(handler=self._summarize_branch),
            "compact.take": Method(handler=self._take),
        }

    def listeners(self) -> Mapping[str, Listener]:
        """What Pi tells without waiting."""
        return {"session": self._on_session, "compact.finished": self._on_finished}

    async def follow(self) -> None:
        """Read the session on whenever Pi has told where it is; runs until it is cancelled."""
        while True:
            await self._has_moved.wait()
            self._has_moved = anyio.Event()
            try:
                await self._in_thread(lambda summaries: summaries.follow(self._place))
            except Exception:
                # Whoever asks for a summary is told; nobody waits here.
                traceback.print_exc()

    def _on_finished(self, params: JsonObject) -> None:
        self.requests.finished(params)

    def _on_session(self, params: JsonObject) -> None:
        self._place = params
        self._has_moved.set()

    async def _compact(self, params: JsonObject, _call: InboundCall) -> Json:
        return await self._in_thread(lambda summaries: summaries.compact(params))

    async def _summarize_branch(self, params: JsonObject, _call: InboundCall) -> Json:
        return await self._in_thread(lambda summaries: summaries.summarize_branch(params))

    async def _take(self, _params: JsonObject, _call: InboundCall) -> Json:
        intent = self.requests.take()
        return None if intent is None else {"customInstructions": intent.custom_instructions}

    async def _in_thread(self, work: "Callable[[Summaries], Json]") -> Json:
        config = self._config()
        async with self._lock:
            return await anyio.to_thread.run_sync(lambda: work(self._loaded(config)))

    def _loaded(self, config: CompactionConfig) -> "Summaries":
        if self._summaries is None:
            # The first answer on the line must not wait for this import.
            from pi_fabric.host.pi.summaries import Summaries  # noqa: PLC0415

            self._summaries = Summaries(config)
        return self._summaries
