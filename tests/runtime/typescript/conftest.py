"""A compiler, and declarations as a catalogue of stubs gives them."""

import os
from collections.abc import AsyncIterator

import pytest
from stubs import stub_actions

from pi_fabric.runtime.typescript import Compiler, TypeScript, find_compiler, generate_declarations


@pytest.fixture
def declarations() -> str:
    """Everything is on offer."""
    return generate_declarations(stub_actions(), full_code_mode=True)


@pytest.fixture
async def compiler() -> Compiler:
    """The compiler that the package installs."""
    found = await find_compiler({})
    assert found is not None
    return found


@pytest.fixture
async def typescript() -> AsyncIterator[TypeScript]:
    """A service that is open for one test."""
    async with TypeScript(environ={"PATH": os.environ["PATH"]}) as service:
        yield service
