"""The short form against each pinned Pi: everything holds, and the report says what it must."""

from collections.abc import Mapping

import pytest

from pi_fabric import __version__
from pi_fabric.base.jsonvalue import JsonObject, decode
from pi_fabric.certify import cross_layer, endurance
from pi_fabric.certify.context import PHASES, Certification, Report, Size
from pi_fabric.certify.summary import verdict
from tests.certify.recorded_pi import SHORT, certify, failures, play, program, recorded
from tools import install_pi

pytestmark = pytest.mark.pi


@pytest.fixture
def report(pi_version: str) -> Report:
    return recorded(pi_version)[0]


@pytest.fixture
def figures(report: Report) -> Mapping[str, JsonObject]:
    return {phase.name: phase.figures for phase in report.versions[0].phases}


def counts(report: Report) -> dict[tuple[str, str], int]:
    [version] = report.versions
    return {
        (phase.name, check.name): check.passed for phase in version.phases for check in phase.checks.values()
    }


@pytest.mark.requirement("certify:context:real-pi")
def test_everything_holds_against_the_installed_pi(report: Report) -> None:
    assert failures(report) == set()
    assert report.holds


def test_the_report_names_the_whole(report: Report, pi_version: str) -> None:
    told = report.to_json()
    [version] = told.pop("versions")
    assert told == {
        "kind": "pi-fabric.certification",
        "version": 1,
        "piFabric": __version__,
        "passed": True,
        "isWhole": False,
        "compactions": SHORT.cycles,
        "sessions": SHORT.sessions,
    }
    assert version["piVersion"] == pi_version
    assert version["node"].startswith("v2")
    assert version["passed"] is True
    assert version["seconds"] >= 0
    assert [phase["name"] for phase in version["phases"]] == list(PHASES)
    for phase in version["phases"]:
        assert phase.keys() == {"name", "passed", "seconds", "figures", "checks"}
        for check in phase["checks"]:
            assert check.keys() == {"name", "passed", "failed"}
            assert check["failed"] == 0


@pytest.mark.requirement("certify:context:prepare-not-public")
def test_the_report_says_which_functions_of_pi_are_public(report: Report) -> None:
    told = report.versions[0].to_json()
    functions = told["piFunctions"]
    assert told["prepareCompactionPubliclyExported"] is False
    assert functions["prepareCompaction"] == {"isPublic": False, "isFound": True, "parameters": 2}
    public = {name for name, shape in functions.items() if shape["isPublic"]}
    assert public == {"SessionManager", "buildContextEntries", "buildSessionContext", "shouldCompact"}


@pytest.mark.requirement("certify:context:cycles", "certify:context:appends")
def test_every_compaction_and_every_append_is_looked_at(report: Report) -> None:
    seen = counts(report)
    each = {name: seen["endurance", name] for name in endurance.CHECKS[:14]}
    # Before the first there is no summary; of each later turn every message is followed up.
    turns = sum(9 + 2 * (cycle % 2) for cycle in range(1, SHORT.cycles))
    assert each.pop(endurance.CHECKS[3]) == SHORT.cycles - 1
    assert each.pop(endurance.CHECKS[12]) == SHORT.cycles + turns
    assert set(each.values()) == {SHORT.cycles}


@pytest.mark.requirement("certify:context:figures")
def test_endurance_tells_sizes_and_how_they_grow(figures: Mapping[str, JsonObject]) -> None:
    told = figures["endurance"]
    assert told["compactions"] == SHORT.cycles
    assert 0 < told["summaryBytesFirst"] < told["summaryBytesLast"] <= told["summaryBytesMax"] <= 32 * 1024
    assert told["tailRangeBytes"] == told["summaryBytesMax"] - told["summaryBytesFirst"]
    assert told["tailSlopeBytesPerCycle"] > 0
    assert 0 < told["cutsThatKeepEntries"] < SHORT.cycles


@pytest.mark.requirement("certify:context:saturation")
def test_a_source_of_330_kib_gives_24_to_32_kib(figures: Mapping[str, JsonObject]) -> None:
    told = figures["saturation"]
    assert 330 * 1024 <= told["sourceBytes"] <= 363 * 1024
    assert 24 * 1024 <= told["summaryBytes"] <= 32 * 1024


@pytest.mark.requirement("certify:memory:figures")
def test_memory_tells_sessions_addresses_and_sizes(report: Report, figures: Mapping[str, JsonObject]) -> None:
    told = figures["memory"]
    coverage = told["coverage"]
    assert coverage["complete"] is True
    # The session of the compactions is one more; the fixtures' lie elsewhere.
    assert coverage["eligibleSessions"] == coverage["indexedSessions"] == SHORT.sessions + 1
    assert coverage["staleSessions"] == 0
    assert told["hotSessions"] == 8
    assert told["sourceBytes"] > 0
    assert told["cacheBytes"] > 0
    # More than one for each compaction, and each was opened and compared.
    assert told["emittedAddresses"] == told["expandedAddresses"] > 4 * SHORT.cycles
    seen = counts(report)
    assert seen["memory", cross_layer.CHECKS[6]] == told["emittedAddresses"]
    assert seen["memory", cross_layer.CHECKS[7]] == told["emittedAddresses"]
    # A recall and an expansion of the cold session, and an expansion of the compacted one.
    assert seen["memory", cross_layer.CHECKS[8]] == 3


@pytest.mark.requirement("certify:memory:every-address")
def test_the_addresses_are_entries_of_the_compacted_session_and_no_compaction_is_left_out(
    pi_version: str,
) -> None:
    report, tape = recorded(pi_version)
    told = next(phase.figures for phase in report.versions[0].phases if phase.name == "memory")
    answers = [decode(one.answer) for one in tape.exchanges if one.method == "compact"][: SHORT.cycles]
    emitted = [
        set(cross_layer.emitted_addresses([answer["summary"]], [answer["details"]])) for answer in answers
    ]
    messages = {one["id"] for answer in answers for one in answer["branch"] if one["type"] == "message"}
    assert all(emitted)
    assert set[str]().union(*emitted) <= messages
    assert told["emittedAddresses"] == len(set[str]().union(*emitted))


@pytest.mark.requirement("certify:context:deterministic")
def test_a_second_run_tells_the_same_figures() -> None:
    version = install_pi.TARGET
    if not install_pi.is_installed(version):
        pytest.skip("it is not installed")
    again, first = certify(program(version)), recorded(version)[0]
    assert without_chance(again) == without_chance(first)


def without_chance(report: Report) -> JsonObject:
    told = report.to_json()
    for version in told["versions"]:
        del version["seconds"]
        for phase in version["phases"]:
            del phase["seconds"]
            # Ids are words of the index, and no two runs have the same ones.
            phase["figures"].pop("cacheBytes", None)
    return told


def test_a_recording_is_as_good_as_the_real_one(pi_version: str) -> None:
    assert without_chance(play(pi_version)) == without_chance(recorded(pi_version)[0])


def test_the_short_form_certifies_nothing_and_a_report_without_a_version_does_not_hold(
    report: Report, pi_version: str
) -> None:
    assert verdict(report) == (
        f"Everything holds in the short form against Pi {pi_version}; this certifies nothing."
    )
    assert not Report(size=Size(), versions=[]).holds


@pytest.mark.requirement("certify:context:cycles", "certify:memory:sessions")
def test_the_certification_proper_is_100_compactions_and_1000_sessions() -> None:
    assert Size() == Size(cycles=100, sessions=1_000)
    assert Size().is_whole
    assert not Size(cycles=99).is_whole
    assert not Size(sessions=999).is_whole
    assert Certification.__dataclass_fields__["size"].default == Size()
