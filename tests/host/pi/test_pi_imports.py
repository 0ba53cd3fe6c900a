"""The sidecar's first answer must not pay for what it does not need."""

import sys

import pytest

from pi_fabric.base.process import DEVNULL, child_process

HEAVY = (
    "wasmtime", "typer", "rich", "jsonschema", "yaml", "hypothesis", "pygments", "textual", "mcp",
    "pi_fabric.compose", "pi_fabric.runtime.typescript",
)  # fmt: skip


@pytest.mark.anyio
@pytest.mark.requirement("pi:start:imports")
async def test_importing_the_sidecar_loads_nothing_heavy() -> None:
    code = f"import sys, pi_fabric.cli.sidecar; print([m for m in {HEAVY!r} if m in sys.modules])"
    async with child_process([sys.executable, "-P", "-c", code], stdin=DEVNULL) as process:
        assert process.stdout is not None
        output = b"".join([chunk async for chunk in process.stdout])
    assert output == b"[]\n"
