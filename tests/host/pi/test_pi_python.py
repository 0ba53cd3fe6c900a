"""Which interpreter the extension picks."""

import json
from pathlib import Path

import anyio
import pytest

from pi_fabric.base.process import DEVNULL, child_process
from pi_fabric.host.pi.manifest import EXTENSION_DIR
from tools import install_pi

pytestmark = pytest.mark.anyio
SCRIPT = """
const [, module, agentDir, extensionDir] = process.argv;
const { findPython } = await import(module);
console.log(JSON.stringify(findPython(agentDir, extensionDir)));
"""


async def pick(agent_dir: Path, extension_dir: Path, **variables: str) -> dict[str, str]:
    module = str(EXTENSION_DIR / "python.js")
    node = [str(install_pi.node()), "--input-type=module", "-e", SCRIPT]
    argv = [*node, module, str(agent_dir), str(extension_dir)]
    with anyio.fail_after(20):
        async with child_process(argv, env=variables, stdin=DEVNULL) as process:
            assert process.stdout is not None
            output = b"".join([chunk async for chunk in process.stdout])
    picked: dict[str, str] = json.loads(output)
    return picked


def interpreter(folder: Path) -> str:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python3").touch()
    return str(folder / "bin" / "python3")


@pytest.mark.requirement("pi:python:choice")
async def test_the_interpreter_is_the_users_the_installers_or_the_packages_own(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout" / "src" / "pi_fabric" / "host" / "pi" / "extension"
    assert (await pick(tmp_path, checkout))["python"] == "python3"
    own = interpreter(tmp_path / "checkout" / ".venv")
    assert (await pick(tmp_path, checkout))["python"] == own

    environment = tmp_path / "environment"
    site = environment / "lib" / "python3.11" / "site-packages"
    installed = site / "pi_fabric" / "host" / "pi" / "extension"
    its = interpreter(environment)
    assert (await pick(tmp_path, installed))["python"] == its

    (tmp_path / "fabric").mkdir()
    (tmp_path / "fabric" / "python.json").write_text('{"python": "/written/down"}')
    assert (await pick(tmp_path, installed))["python"] == "/written/down"
    assert (await pick(tmp_path, installed, PI_FABRIC_PYTHON="/chosen"))["python"] == "/chosen"
