"""What becomes of a certification when Pi's process fails, and what its driver really sees."""

import functools
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.resources import files
from pathlib import Path

import psutil
import pytest

from pi_fabric.base.errors import Unavailable
from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.base.process import PIPE, child_process
from pi_fabric.certify import endurance, pi_driver
from pi_fabric.certify.context import PHASES
from pi_fabric.certify.messages import Clock, assistant, user
from pi_fabric.certify.pi_driver import DriverFailed, PiDriver, drive_pi
from pi_fabric.certify.summary import verdict
from pi_fabric.host.pi.program import PiProgram
from tests.certify.recorded_pi import (
    CONTINUATION,
    PROBLEM,
    SATURATION,
    certify,
    failures,
    played,
    player,
    program,
    recorded,
)
from tools import install_pi

pytestmark = [
    pytest.mark.pi,
    pytest.mark.skipif(not install_pi.is_installed(install_pi.TARGET), reason="it is not installed"),
]


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def pi() -> PiProgram:
    return program(install_pi.TARGET)


class Killed(PiDriver):
    """A recorded Pi up to some phase, then a real one, whose process is killed during that phase."""

    def __init__(
        self, real: PiDriver, before: PiDriver, begins: tuple[str, int], dies: tuple[str, int]
    ) -> None:
        super().__init__(real._process, real.environ)
        self.pid = self._process.pid
        self._before, self._begins, self._dies = before, begins, dies
        self._asked: dict[str, int] = {}
        self._is_real = False

    async def _ask(self, method: str, params: JsonObject) -> Json:
        count = self._asked[method] = self._asked.get(method, -1) + 1
        self._is_real = self._is_real or (method, count) == self._begins
        if not self._is_real:
            return await self._before._ask(method, params)
        if (method, count) == self._dies:
            os.kill(self.pid, signal.SIGKILL)
        return await super()._ask(method, params)


@pytest.mark.requirement("certify:context:rejected", "certify:context:private")
@pytest.mark.parametrize(
    ("phase", "begins", "dies"),
    [
        ("driver", ("info", 0), ("info", 0)),
        ("endurance", ("open", 0), ("compact", 3)),
        ("closures", ("open", 1), ("append", 9 + 1 + 1 + 2)),
        ("saturation", ("open", 7), ("compact", SATURATION)),
        ("memory", ("create", 0), ("create", 0)),
        ("continuation", ("open", 8), ("compact", CONTINUATION[1])),
    ],
)
def test_a_pi_that_is_killed_fails_the_phase_and_those_after_it_and_leaves_nothing(
    temporary: Path, phase: str, begins: tuple[str, int], dies: tuple[str, int]
) -> None:
    pids: list[int] = []
    _, tape = recorded(install_pi.TARGET)

    @asynccontextmanager
    async def drive(
        pi: PiProgram, node: Path, agent_dir: Path, environ: Mapping[str, str]
    ) -> AsyncGenerator[PiDriver]:
        async with drive_pi(pi, node, agent_dir, environ) as real:
            killed = Killed(real, played(tape, agent_dir), begins, dies)
            pids.append(killed.pid)
            yield killed

    report = certify(program(install_pi.TARGET), drive=drive)

    phases = report.versions[0].phases
    assert [one.name for one in phases] == list(PHASES)
    at = PHASES.index(phase)
    assert all(one.holds for one in phases[:at])
    assert phases[at].problem.startswith(f"DriverFailed: driving Pi failed at {dies[0]}: ")
    assert all(one.problem and not one.holds for one in phases[at + 1 :])
    assert not report.holds
    assert report.to_json()["passed"] is False
    assert verdict(report).startswith(f"NOT CERTIFIED against Pi {install_pi.TARGET}: ")
    assert list(temporary.iterdir()) == []
    assert not any(psutil.pid_exists(pid) for pid in pids)


@pytest.mark.requirement("certify:context:rejected")
def test_a_pi_without_its_modules_is_told_in_the_report(tmp_path: Path, temporary: Path) -> None:
    pi = PiProgram(executable=tmp_path / "pi", folder=tmp_path, version="1.6.0", parts={})
    report = certify(pi)
    assert ("driver", PROBLEM) in failures(report)
    assert "ERR_MODULE_NOT_FOUND" in report.versions[0].phases[0].problem
    assert list(temporary.iterdir()) == []


@pytest.mark.requirement("certify:context:real-pi", "certify:context:rejected")
def test_a_version_that_fails_does_not_keep_the_other_from_being_certified(tmp_path: Path) -> None:
    broken = PiProgram(executable=tmp_path / "pi", folder=tmp_path, version="0.0.1", parts={})
    good = program(install_pi.TARGET)
    recorded_drive = player(good.version)

    def drive(
        pi: PiProgram, node: Path, agent_dir: Path, environ: Mapping[str, str]
    ) -> AbstractAsyncContextManager[PiDriver]:
        return (drive_pi if pi is broken else recorded_drive)(pi, node, agent_dir, environ)

    report = certify(broken, good, drive=drive)
    assert [version.holds for version in report.versions] == [False, True]
    assert not report.holds
    assert verdict(report).startswith(f"NOT CERTIFIED against Pi 0.0.1 and {good.version}: ")


@pytest.mark.requirement("certify:context:rejected")
def test_a_node_that_does_not_start_is_told_in_the_report(tmp_path: Path, temporary: Path) -> None:
    (tmp_path / "node").write_text("no program")
    for node in (tmp_path / "none", tmp_path / "node"):
        report = certify(program(install_pi.TARGET), node=node)
        assert failures(report) == {("driver", PROBLEM)}
        assert not report.holds
        assert verdict(report) == f"NOT CERTIFIED against Pi {install_pi.TARGET}: 1 phase could not be ended."
    assert list(temporary.iterdir()) == []


@pytest.mark.anyio
async def test_a_program_that_cannot_be_started_is_unavailable(pi: PiProgram, tmp_path: Path) -> None:
    with pytest.raises(Unavailable):
        async with drive_pi(pi, tmp_path / "none", tmp_path, {}):
            pass


LATE = """
process.stdin.once("data", () => {
  console.log('{"id": 0, "result": "of an earlier question"}');
  console.log('{"id": 1, "result": {"version": "1"}}');
});
"""


@pytest.mark.anyio
async def test_an_answer_to_an_earlier_question_is_passed_over() -> None:
    async with child_process([str(install_pi.node()), "-e", LATE], stderr=PIPE) as process:
        assert await PiDriver(process, {}).info() == {"version": "1"}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("script", "words"),
    [
        (
            "process.stderr.write('no memory'); process.stdin.once('data', () => process.exit(1));",
            "no memory",
        ),
        ("process.stdin.once('data', () => process.exit(1));", "it ended without a word"),
        ('process.stdin.once(\'data\', () => console.log(\'{"id": 1, "error": "no such"}\'));', "no such"),
    ],
)
async def test_a_driver_that_fails_says_what_it_said(script: str, words: str) -> None:
    async with child_process([str(install_pi.node()), "-e", script], stderr=PIPE) as process:
        with pytest.raises(DriverFailed, match=f"driving Pi failed at info: {words}"):
            await PiDriver(process, {}).info()


@pytest.mark.anyio
@pytest.mark.parametrize("line", ["no json", "[1]"])
async def test_an_answer_that_is_none_is_an_error_of_the_phase(line: str) -> None:
    script = f"process.stdin.once('data', () => console.log({line!r}));"
    async with child_process([str(install_pi.node()), "-e", script], stderr=PIPE) as process:
        with pytest.raises(ValueError):  # noqa: PT011 - the phase catches every one of them
            await PiDriver(process, {}).info()


@pytest.mark.anyio
async def test_a_driver_that_hangs_is_waited_for_within_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pi_driver, "ANSWER_TIMEOUT_S", 0.1)
    argv = [str(install_pi.node()), "-e", "process.stdin.resume()"]
    async with child_process(argv, stderr=PIPE) as process:
        with pytest.raises(DriverFailed, match="no answer within"):
            await PiDriver(process, {}).info()


# Does what the instructions say, so that one process serves for many handlers.
HANDLER = """
const AsyncFunction = (async () => {}).constructor;
export default function (pi) {
  pi.on("session_before_compact", async ({ preparation, customInstructions }) => {
    const done = await new AsyncFunction("preparation", customInstructions)(preparation);
    if (done === "nothing") return undefined;
    if (done === "cancel") return { cancel: true };
    return { compaction: { summary: done ?? "s", firstKeptEntryId: "", tokensBefore: 1, details: {} } };
  });
}
"""


@asynccontextmanager
async def handled(pi: PiProgram, folder: Path) -> AsyncGenerator[PiDriver]:
    """A real Pi with a handler of ours, in a session with a summary that somebody stored."""
    extension, agent_dir, work = folder / "extension.mjs", folder / "agent", folder / "work"
    extension.write_text(HANDLER)
    for made in (agent_dir, work):
        made.mkdir()
    clock = Clock()
    async with drive_pi(pi, install_pi.node(), agent_dir, {}, extension=extension) as driver:
        await driver.open(work, folder / "sessions")
        turns = [
            user(clock, "Begin."),
            assistant(clock, "Begun."),
            user(clock, "Go on."),
            assistant(clock, "Gone."),
        ]
        [first, *_] = await driver.append(turns)
        await driver.store_compaction("the one before", first["id"])
        yield driver


async def compacted(driver: PiDriver, instructions: str) -> JsonObject:
    """What the driver tells of one more compaction."""
    clock = Clock()
    await driver.append([user(clock, "More."), assistant(clock, "Done.")])
    return await driver.compact(instructions=instructions)


@pytest.mark.anyio
@pytest.mark.requirement("certify:context:poison-unread")
async def test_however_the_summary_before_is_read_it_is_recorded(pi: PiProgram, tmp_path: Path) -> None:
    previous = "the one before"
    async with handled(pi, tmp_path) as driver:
        for statement in (
            "void preparation.previousSummary;",
            "const { previousSummary } = preparation;",
            "const all = { ...preparation };",
            "Object.entries(preparation);",
            "JSON.stringify(preparation);",
            "await Promise.resolve(); void preparation['previous' + 'Summary'];",
            "Object.getOwnPropertyDescriptor(preparation, 'previousSummary').value;",
            "Reflect.get(preparation, 'previousSummary');",
        ):
            facts = await compacted(driver, statement)
            assert facts["previousSummary"] == previous
            assert "previousSummary" in facts["reads"], statement
            previous = "s"
        names = "void preparation.settings; 'previousSummary' in preparation; Reflect.ownKeys(preparation);"
        facts = await compacted(driver, names)
        assert facts["reads"] == ["settings"]


@pytest.mark.anyio
@pytest.mark.requirement("certify:context:size")
async def test_half_a_character_of_a_summary_is_noticed(pi: PiProgram, tmp_path: Path) -> None:
    summaries = {'"鯨 🜁"': True, '"\\ufeffs"': True, '"\\ud83d"': False, '"a\\udf01b"': False}
    async with handled(pi, tmp_path) as driver:
        for summary, is_text in summaries.items():
            facts = await compacted(driver, f"return {summary};")
            assert facts["isText"] is is_text, summary


@pytest.mark.anyio
@pytest.mark.requirement("certify:context:handler")
async def test_a_handler_that_cancels_or_says_nothing_is_told_apart(pi: PiProgram, tmp_path: Path) -> None:
    async with handled(pi, tmp_path) as driver:
        assert (await compacted(driver, "return 'cancel';"))["kind"] == "cancel"
        assert (await compacted(driver, "return 'nothing';"))["kind"] == "none"
        assert (await compacted(driver, "return 's';"))["kind"] == "compaction"


@pytest.mark.requirement("certify:context:poison-unread", "certify:context:rejected")
def test_our_own_extension_fails_once_it_reads_the_summary_before(tmp_path: Path) -> None:
    shipped = Path(str(files("pi_fabric.host.pi"))) / "extension"
    patched = shutil.copytree(shipped, tmp_path / "extension")
    handler = patched / "compaction.js"
    text = handler.read_text("utf-8")
    asked = "tokensBefore: preparation.tokensBefore,\n"
    assert asked in text
    handler.write_text(text.replace(asked, f"{asked}      summary: preparation.previousSummary,\n"), "utf-8")
    drive = functools.partial(drive_pi, extension=patched / "index.js")
    report = certify(program(install_pi.TARGET), drive=drive)
    assert failures(report) == {("endurance", endurance.CHECKS[4])}
    check = report.versions[0].phases[1].checks[endurance.CHECKS[4]]
    assert (check.passed, check.failed) == (0, 10)
    assert len(check.failures) == 5
