"""One run: a compaction in one Pi, the resume in a fresh one, and the score.

Whatever happens in it is the run's own failure, with its reason; only a cancellation gets out.
"""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from pi_fabric.base.clock import Clock
from pi_fabric.base.errors import FabricError, HostError
from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.base.process import inherited_environment
from pi_fabric.certify.resume.arms import ARMS, Author
from pi_fabric.certify.resume.fixture import Fixture
from pi_fabric.certify.resume.gate import Gate
from pi_fabric.certify.resume.observed import NOTHING, Observed, known_ids, observe
from pi_fabric.certify.resume.oracle import score
from pi_fabric.certify.resume.pi_line import PI_GONE, PI_REFUSED, PiLine, open_pi
from pi_fabric.certify.resume.results import Ending, Run
from pi_fabric.certify.resume.schedule import Slot
from pi_fabric.certify.resume.scrub import Scrubber
from pi_fabric.certify.resume.workplace import Workplace, furnish

RESUME_PROMPT: Final = "Resume and complete the task."
"""All that the resumed process is told."""

# One line of a report; the longest reasons quote a line of a file twice.
MAX_REASON_BYTES: Final = 300
_AUTHORS: Final[Mapping[Author, str]] = {
    "fabric": "Fabric",
    "extension": "another extension",
    "model": "Pi's own model",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What all runs share."""

    gate: Gate
    pi: tuple[str, ...]
    """Command line that starts Pi, without arguments."""
    node: Path
    environ: Mapping[str, str] = field(repr=False)
    """Our own; what of it Pi gets is decided elsewhere."""
    timeout_s: float
    """Of one run, scoring not counted."""
    scrub: Scrubber
    clock: Clock


class OneRun:
    """One arm on one fixture in a folder of its own, which must not be there or be empty."""

    def __init__(self, bench: Bench, slot: Slot, fixture: Fixture, folder: Path) -> None:
        self._bench = bench
        self._slot = slot
        self._arm = ARMS[slot.arm]
        self._fixture = fixture
        self._folder = folder
        self._place: Workplace | None = None
        self._known: frozenset[str] = frozenset()

    async def make(self) -> Run:
        """Make the run and score it; never raises for what Pi, a model or an oracle does."""
        started_s = self._bench.clock.monotonic()
        ending, reasons = await self._bounded()
        wall_ms = round((self._bench.clock.monotonic() - started_s) * 1000)
        seen = await self.observed()
        if ending == "settled" and (failure := _failure_of(seen)):
            ending = "refused"
            reasons.append(failure)
        reasons += await self._score()
        return Run(
            slot=self._slot,
            ending=ending,
            reasons=tuple(self._bench.scrub.line(reason, MAX_REASON_BYTES) for reason in reasons),
            tokens=seen.tokens,
            usd=seen.usd,
            is_cost_complete=seen.is_cost_complete,
            tool_calls=seen.tool_calls,
            nested_calls=seen.nested_calls,
            recall_calls=seen.recall_calls,
            wall_ms=wall_ms,
            summary_bytes=None if seen.summary is None else seen.summary.size_bytes,
        )

    async def observed(self) -> Observed:
        """What the run has done so far, as far as its session tells."""
        if self._place is None:
            return NOTHING
        try:
            return await anyio.to_thread.run_sync(observe, self._place.session, self._known)
        except FabricError:
            # A session that cannot be read has told nothing; why the run failed is known without it.
            return NOTHING

    async def _bounded(self) -> tuple[Ending, list[str]]:
        try:
            with anyio.move_on_after(self._bench.timeout_s):
                await self._furnish()
                await self._compact()
                await self._resume()
                return "settled", []
        except HostError as error:
            return ("crashed" if error.rpc_code == PI_GONE else "refused"), [error.reason]
        except (FabricError, OSError) as error:
            return "refused", [str(error)]
        return "timed-out", [f"it took longer than {self._bench.timeout_s:g} s"]

    async def _furnish(self) -> None:
        bench = self._bench
        self._place = await anyio.to_thread.run_sync(
            lambda: furnish(
                self._folder, fixture=self._fixture, arm=self._arm, gate=bench.gate, environ=bench.environ
            )
        )
        self._known = await anyio.to_thread.run_sync(known_ids, self._place.session)

    async def _compact(self) -> None:
        if self._arm.author is None:
            return
        instructions = self._arm.instructions
        fields: JsonObject = {} if instructions is None else {"customInstructions": instructions}
        async with self._pi() as pi:
            await pi.command("compact", **fields)
        summary = (await self.observed()).summary
        if summary is None:
            raise HostError(PI_REFUSED, "Pi said that it had compacted, and its session holds no summary")
        if summary.author != self._arm.author:
            found, wanted = _AUTHORS[summary.author], _AUTHORS[self._arm.author]
            raise HostError(PI_REFUSED, f"the summary was written by {found} and not by {wanted}")

    async def _resume(self) -> None:
        async with self._pi() as pi:
            await pi.prompt(RESUME_PROMPT)

    def _pi(self) -> AbstractAsyncContextManager[PiLine]:
        place = self._place
        assert place is not None
        argv = (*self._bench.pi, *place.argv)
        return open_pi(argv, cwd=place.repo, env=place.environment, scrub=self._bench.scrub)

    async def _score(self) -> tuple[str, ...]:
        if self._place is None:
            return ()
        environment = inherited_environment({"HOME": str(self._folder)})
        repo = self._place.repo
        return await score(self._fixture, repo, node=self._bench.node, environment=environment)


def _failure_of(seen: Observed) -> str:
    if seen.failure:
        return f"the model's last answer failed: {seen.failure}"
    return "" if seen.has_answer else "the model gave no answer"
