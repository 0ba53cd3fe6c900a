"""One scripted model and an isolated Pi per test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.host.pi.pi_lab import Lab
from tools import install_pi
from tools.scripted_model import ScriptedModel


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as served:
        yield served


@pytest.fixture(params=install_pi.VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if not install_pi.is_installed(name):
        pytest.skip(f"Pi {name} is not installed; run `python tools/install_pi.py {name}`")
    return name


@pytest.fixture
def lab(tmp_path: Path, model: ScriptedModel, version: str) -> Lab:
    return Lab(tmp_path, model, version)
