"""The public Fabric over a host in memory."""

from pathlib import Path

import pytest
from journey import Journey


@pytest.fixture
def journey(tmp_path: Path) -> Journey:
    return Journey(tmp_path)
