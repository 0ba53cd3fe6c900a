"""`certify context`: all deterministic phases against one or more installed versions of Pi."""

import shutil
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from pi_fabric import __version__
from pi_fabric.base.errors import FabricError
from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.certify.checks import Phase
from pi_fabric.certify.closures import close_pairs
from pi_fabric.certify.continuation import continue_work
from pi_fabric.certify.cross_layer import SESSIONS, Archive, remember
from pi_fabric.certify.endurance import CYCLES, Endurance, endure
from pi_fabric.certify.functions import know_functions
from pi_fabric.certify.pi_driver import PiDriver, drive_pi
from pi_fabric.certify.recollection import Recollection
from pi_fabric.certify.saturation import saturate
from pi_fabric.host.pi.program import PiProgram
from pi_fabric.memory.discovery import project_folder

SHORT_CYCLES: Final = 10
SHORT_SESSIONS: Final = 50
PHASES: Final = ("driver", "endurance", "closures", "saturation", "memory", "continuation")

Tell = Callable[[str, int, int], None]
"""Told of the phase at hand: its name, what is done, and of how much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much is done; the certification proper is the default."""

    cycles: int = CYCLES
    sessions: int = SESSIONS

    @classmethod
    def short(cls) -> "Size":
        """Enough to see that everything holds together; certifies nothing."""
        return cls(cycles=SHORT_CYCLES, sessions=SHORT_SESSIONS)

    @property
    def is_whole(self) -> bool:
        """True for the certification proper."""
        return self.cycles >= CYCLES and self.sessions >= SESSIONS


@dataclass(slots=True)
class VersionReport:
    """What one version of Pi came to."""

    pi: PiProgram
    exports: JsonObject = field(default_factory=dict[str, Json])
    node: str = ""
    phases: list[Phase] = field(default_factory=list[Phase])

    @property
    def holds(self) -> bool:
        """True when every phase was carried out and holds."""
        return [phase.name for phase in self.phases] == list(PHASES) and all(
            phase.holds for phase in self.phases
        )

    def to_json(self) -> JsonObject:
        """The version as it is reported."""
        prepares = self.exports.get("prepareCompaction", {})
        return {
            "piVersion": self.pi.version,
            "node": self.node,
            "piFunctions": self.exports,
            "prepareCompactionPubliclyExported": prepares.get("isPublic") is True,
            "passed": self.holds,
            "seconds": round(sum(phase.seconds for phase in self.phases), 3),
            "phases": [phase.to_json() for phase in self.phases],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The whole certification."""

    size: Size
    versions: Sequence[VersionReport]

    @property
    def holds(self) -> bool:
        """True when every version holds; without a version nothing does."""
        return bool(self.versions) and all(version.holds for version in self.versions)

    def to_json(self) -> JsonObject:
        """The report as it is written."""
        return {
            "kind": "pi-fabric.certification",
            "version": 1,
            "piFabric": __version__,
            "passed": self.holds,
            "isWhole": self.size.is_whole,
            "compactions": self.size.cycles,
            "sessions": self.size.sessions,
            "versions": [version.to_json() for version in self.versions],
        }


DriverMaker = Callable[[PiProgram, Path, Path, Mapping[str, str]], AbstractAsyncContextManager[PiDriver]]
"""Starts Pi's functions; tests put something between."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Certification:
    """How to certify.

    Everything happens in a temporary folder that is gone afterwards.
    """

    node: Path
    environ: Mapping[str, str]
    size: Size = Size()
    drive: DriverMaker = drive_pi
    recollect: Callable[[Mapping[str, str], Path], Recollection] = Recollection

    async def run(self, programs: Sequence[PiProgram], tell: Tell) -> Report:
        """Certify each version; what fails in one is reported and does not keep the others from it."""
        versions = [await self._version(pi, tell) for pi in programs]
        return Report(size=self.size, versions=versions)

    async def _version(self, pi: PiProgram, tell: Tell) -> VersionReport:
        report = VersionReport(pi)
        async with _places() as places:
            try:
                async with self.drive(pi, self.node, places.agent_dir, self.environ) as driver:
                    await self._phases(report, driver, places, tell)
            except FabricError as error:
                report.phases.append(Phase("driver", problem=error.message))
        return report

    async def _phases(self, report: VersionReport, driver: PiDriver, places: "_Places", tell: Tell) -> None:
        cwd, sessions = places.project, places.session_dir
        endured: list[Endurance] = []

        def progress(name: str) -> Callable[[int, int], None]:
            return lambda done, of: tell(f"Pi {report.pi.version}: {name}", done, of)

        async def functions(phase: Phase) -> None:
            info = await driver.info()
            report.exports, report.node = info["exports"], info["node"]
            know_functions(phase, info, report.pi.version)

        async def endurance(phase: Phase) -> None:
            endured.append(
                await endure(
                    driver,
                    phase,
                    cwd=cwd,
                    session_dir=sessions,
                    cycles=self.size.cycles,
                    progress=progress("compactions"),
                )
            )

        async def memory(phase: Phase) -> None:
            if not endured:
                raise FabricError("endurance left no session whose addresses could be opened")
            archive = Archive(cwd=cwd, session_dir=sessions, sessions=self.size.sessions)
            recollection = self.recollect(driver.environ, cwd)
            await remember(driver, phase, endured[0], recollection, archive, progress("sessions"))

        async def continuation(phase: Phase) -> None:
            await continue_work(
                driver,
                phase,
                folder=places.folder,
                session_dir=sessions,
                node=self.node,
                recollect=self.recollect,
            )

        # Each fixture and the maximal source lie beside the sessions that are counted.
        aside = places.folder / "aside"
        steps: dict[str, Callable[[Phase], Awaitable[object]]] = {
            "driver": functions,
            "endurance": endurance,
            "closures": lambda phase: close_pairs(driver, phase, cwd=cwd, session_dir=aside),
            "saturation": lambda phase: saturate(driver, phase, cwd=cwd, session_dir=aside),
            "memory": memory,
            "continuation": continuation,
        }
        for name, step in steps.items():
            report.phases.append(await _carried_out(name, step))


async def _carried_out(name: str, step: Callable[[Phase], Awaitable[object]]) -> Phase:
    """A phase with everything it saw; what stops it is told in it."""
    phase = Phase(name)
    began_s = time.monotonic()
    try:
        await step(phase)
    except (FabricError, OSError, LookupError, TypeError, ValueError, AttributeError) as error:
        # Whatever a faulty answer leads to is a failure of the phase, never of the report.
        phase.problem = f"{type(error).__name__}: {error}"
    phase.seconds = time.monotonic() - began_s
    return phase


@dataclass(frozen=True, slots=True)
class _Places:
    """Where everything of one version lies."""

    folder: Path

    @property
    def project(self) -> Path:
        """Where the sessions work."""
        return self.folder / "project"

    @property
    def agent_dir(self) -> Path:
        """Pi's agent folder."""
        return self.folder / "agent"

    @property
    def session_dir(self) -> Path:
        """Where Pi keeps the sessions of the project."""
        return self.agent_dir / "sessions" / project_folder(str(self.project))


@asynccontextmanager
async def _places() -> AsyncGenerator[_Places]:
    """Folders that are gone when the block is left, however that comes about."""

    def make() -> _Places:
        places = _Places(Path(tempfile.mkdtemp(prefix="pi-fabric-certify-")))
        places.project.mkdir()
        places.agent_dir.mkdir()
        return places

    places = await anyio.to_thread.run_sync(make)
    try:
        yield places
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(lambda: shutil.rmtree(places.folder, ignore_errors=True))
