"""One scripted model and an isolated Pi per test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.host.pi.pi_lab import Lab
from tools.scripted_model import ScriptedModel


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as served:
        yield served


@pytest.fixture
def lab(tmp_path: Path, model: ScriptedModel, pi_version: str) -> Lab:
    return Lab(tmp_path, model, pi_version)
