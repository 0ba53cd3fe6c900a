"""Fixtures that every test may use."""

import os
from collections.abc import Iterator

import pytest
from blockbuster import BlockBuster, blockbuster_ctx
from hypothesis import settings

from tools import install_pi

# Speed is measured in bench/, never asserted here. CI takes the same examples each time, so that a run
# says something about the change and nothing about chance; elsewhere they are new each time.
settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


@pytest.fixture
def anyio_backend() -> str:
    """The one backend that is supported."""
    return "asyncio"


@pytest.fixture(autouse=True)
def never_block_the_loop() -> Iterator[BlockBuster]:
    """Fail a test whose library code blocks the event loop."""
    with blockbuster_ctx("pi_fabric") as blockbuster:
        yield blockbuster


@pytest.fixture(params=install_pi.VERSIONS)
def pi_version(request: pytest.FixtureRequest) -> str:
    """Each pinned Pi in turn."""
    name: str = request.param
    if not install_pi.is_installed(name):
        pytest.skip(f"Pi {name} is not installed; run `python tools/install_pi.py {name}`")
    return name
