"""Finding Pi without running it."""

from pathlib import Path

import pytest

from pi_fabric.host.pi.program import find_pi
from tests.host.pi.fake_pi import make_pi


def test_the_version_is_read_through_the_link_on_the_path(tmp_path: Path) -> None:
    program = find_pi(str(make_pi(tmp_path, "1.6.0")))
    assert program is not None
    assert (program.version, program.number, program.strays) == ("1.6.0", (1, 6, 0), [])


@pytest.mark.requirement("pi:doctor:parts")
def test_parts_of_another_version_are_strays_before_version_one(tmp_path: Path) -> None:
    newer = {"pi-ai": "0.80.10", "pi-agent-core": "0.80.6"}
    program = find_pi(str(make_pi(tmp_path, "0.80.6", **newer)))
    assert program is not None
    assert program.strays == ["pi-ai 0.80.10"]


@pytest.mark.parametrize("content", ["", "[]", '{"name": "pi"}', "{"])
def test_another_program_of_that_name_is_not_pi(tmp_path: Path, content: str) -> None:
    (tmp_path / "package.json").write_text(content)
    other = tmp_path / "pi"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    assert find_pi(str(tmp_path)) is None


def test_no_pi_is_none(tmp_path: Path) -> None:
    assert find_pi(str(tmp_path)) is None
