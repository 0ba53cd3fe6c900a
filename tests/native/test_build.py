"""The module's recipe, and a wheel that needs no compiler."""

import importlib.util
import os
import subprocess  # noqa: TID251 - builds and installs are other programs
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys, anyio, pi_fabric
from pi_fabric.base.clock import Deadline, SystemClock
from pi_fabric.runtime.engine import Program
from pi_fabric.runtime.engines.quickjs import QuickJsEngine
class Host:
    async def call(self, ref, args): return args
    def notify(self, kind, payload): ...
async def main():
    async with QuickJsEngine(spare=False) as engine:
        program = Program(javascript="async function program() { return 6 * 7 }")
        deadline = Deadline(30, SystemClock())
        print((await engine.run(program, Host(), deadline=deadline, memory_bytes=2**26)).value)
assert pi_fabric.__file__.startswith(sys.prefix), pi_fabric.__file__
anyio.run(main)
"""


@pytest.fixture
def recipe() -> ModuleType:
    """native/quickjs/build.py."""
    spec = importlib.util.spec_from_file_location("quickjs_build", ROOT / "native" / "quickjs" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(argv: list[str], cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        argv, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_cached_module_asks_for_no_compiler(recipe: ModuleType) -> None:
    if not recipe.is_cached():
        pytest.skip("the module is not in this user's cache; `make setup` builds it")
    assert recipe.build_requirements() == []


def test_without_a_cached_module_the_compiler_and_pip_are_asked_for(
    recipe: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert [name.split("=")[0].rstrip(">") for name in recipe.build_requirements()] == ["ziglang", "pip"]


def test_a_cached_file_that_is_not_the_pinned_module_does_not_count(
    recipe: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    module: Path = recipe.cached_module()
    module.parent.mkdir(parents=True)
    module.write_bytes(b"something else")
    assert not recipe.is_cached()


@pytest.mark.parametrize("changed", ["SHIM", "REQUIREMENTS", "FLAGS", "ZIG_VERSION"])
def test_every_input_is_part_of_the_cache_key(
    recipe: ModuleType, changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = recipe.cached_module()
    other = tmp_path / "input"
    other.write_bytes(b"other")
    value = {"FLAGS": ("-O0",), "ZIG_VERSION": "0"}.get(changed, other)
    monkeypatch.setattr(recipe, changed, value)
    assert recipe.cached_module() != before


def test_a_different_result_is_refused_with_what_to_do(
    recipe: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch_nothing(folder: Path) -> Path:
        return folder

    def compile_something_else(folder: Path, _source: Path) -> Path:
        (folder / "quickjs.wasm").write_bytes(b"something else")
        return folder / "quickjs.wasm"

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(recipe, "_fetch", fetch_nothing)
    monkeypatch.setattr(recipe, "_compile", compile_something_else)
    with pytest.raises(recipe.BuildError, match="put the new hash into native"):
        recipe.build_module()
    assert not recipe.cached_module().exists()


@pytest.mark.timeout(180)
@pytest.mark.requirement("engine:wheel:no-compiler")
def test_a_wheel_carries_the_module_and_runs_a_program_where_it_is_installed(
    recipe: ModuleType, tmp_path: Path
) -> None:
    if not recipe.is_cached():
        pytest.skip("the module is not in this user's cache; `make setup` builds it")
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    run(build, tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "pi_fabric/runtime/engines/quickjs/quickjs.wasm" in names
    assert "pi_fabric/runtime/guest/kernel.js" in names
    venv = tmp_path / "venv"
    run([sys.executable, "-m", "venv", "--without-pip", str(venv)], tmp_path)
    # Dependencies come from this environment: the test needs no network, and no compiler is in the path.
    site = next(venv.glob("lib/python*/site-packages"))
    zipfile.ZipFile(wheel).extractall(site)
    (site / "dependencies.pth").write_text(next(p for p in sys.path if p.endswith("site-packages")))
    python = str(venv / "bin" / "python")
    assert run([python, "-c", PROGRAM], tmp_path, PATH="/nowhere", PYTHONPATH="").strip() == "42"
