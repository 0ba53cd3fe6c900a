"""Fixtures that every test may use."""

from collections.abc import Iterator

import pytest
from blockbuster import BlockBuster, blockbuster_ctx


@pytest.fixture
def anyio_backend() -> str:
    """The one backend that is supported."""
    return "asyncio"


@pytest.fixture(autouse=True)
def never_block_the_loop() -> Iterator[BlockBuster]:
    """Fail a test whose library code blocks the event loop."""
    with blockbuster_ctx("pi_fabric") as blockbuster:
        yield blockbuster
