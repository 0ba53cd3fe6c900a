"""One scripted model and an isolated Pi per test."""

import os
import shlex
import sys
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pi_fabric.host.pi.manifest import EXTENSION_DIR
from tools import install_pi
from tools.pi_rpc import Dialog, PiSession, pi_environment, pi_session, write_agent_dir
from tools.scripted_model import ScriptedModel

STUB = Path(__file__).with_name("stub_sidecar.py")
SOURCES = str(Path(__file__).parents[3] / "src")


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as served:
        yield served


@pytest.fixture(params=install_pi.VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if not install_pi.is_installed(name):
        pytest.skip(f"Pi {name} is not installed; run `python tools/install_pi.py {name}`")
    return name


def sidecar_command(folder: Path, *argv: str) -> Path:
    """An executable that stands in for Python: it starts `argv` whatever it is asked to run."""
    command = folder / "stand-in-python"
    command.write_text(f"#!/bin/sh\nexec {shlex.join(argv)}\n", encoding="utf-8")
    command.chmod(0o755)
    return command


class Lab:
    """Starts Pi with our extension and the stub engine; everything lives in one folder."""

    def __init__(self, folder: Path, model: ScriptedModel, version: str) -> None:
        self.folder = folder
        self.model = model
        self.version = version
        self.project = folder / "project"
        self.project.mkdir()
        self.agent_dir = folder / "agent"
        self.log = folder / "pi.log"
        self.settings: dict[str, Any] = {}
        self.python = sidecar_command(folder, sys.executable, str(STUB))
        self.variables: dict[str, str] = {}

    @property
    def environment(self) -> dict[str, str]:
        ours = {"PI_FABRIC_PYTHON": str(self.python), "PYTHONPATH": SOURCES}
        return pi_environment(self.agent_dir, ours | self.variables)

    @asynccontextmanager
    async def pi(
        self,
        *arguments: str,
        extensions: Sequence[Path] = (EXTENSION_DIR,),
        dialog: Dialog | None = None,
    ) -> AsyncGenerator[PiSession]:
        """A running Pi in RPC mode."""
        write_agent_dir(self.agent_dir, self.model, **self.settings)
        flags = [flag for path in extensions for flag in ("-e", str(path))]
        options: dict[str, Any] = {"dialog": dialog} if dialog else {}
        async with pi_session(
            self.version,
            cwd=self.project,
            env=self.environment,
            arguments=[*flags, *arguments],
            stderr=self.log,
            **options,
        ) as session:
            yield session


@pytest.fixture
def lab(tmp_path: Path, model: ScriptedModel, version: str) -> Lab:
    return Lab(tmp_path, model, version)
