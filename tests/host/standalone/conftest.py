"""The tools, open, in an empty folder."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pi_fabric.host.standalone import StandaloneTools
from tests.host.standalone.calling import Caller


@pytest.fixture
async def caller(tmp_path: Path) -> AsyncIterator[Caller]:
    folder = tmp_path / "project"
    folder.mkdir()
    async with StandaloneTools() as tools:
        yield Caller(tools, folder)
