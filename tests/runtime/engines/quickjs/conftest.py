"""The engine of these tests."""

from collections.abc import AsyncGenerator

import pytest
from engine_lab import PROBE, Lab

from pi_fabric.runtime.engines.quickjs import QuickJsEngine


@pytest.fixture
async def lab(anyio_backend: str) -> AsyncGenerator[Lab]:
    """An engine without a spare worker: each test starts one process."""
    assert anyio_backend == "asyncio"
    async with QuickJsEngine(spare=False, library=PROBE) as engine:
        yield Lab(engine)
