"""Compiled modules on disk: taken only where nobody else can write."""

from pathlib import Path

import pytest
import wasmtime

from pi_fabric.runtime.engines.quickjs.binding import KNOWN_VERSION, bind_step, installed_version
from pi_fabric.runtime.engines.quickjs.module_cache import cache_folder, load_module

ADDER = '(module (func (export "add") (param i32 i32 i32) (result i32) local.get 0 local.get 1 i32.add))'


@pytest.fixture
def wasm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small module, and a cache folder of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "adder.wasm"
    path.write_bytes(wasmtime.wat2wasm(ADDER))
    return path


def compiled_files() -> list[Path]:
    return sorted(cache_folder().glob("module-*"))


@pytest.mark.requirement("engine:cache:private")
def test_a_compiled_module_is_kept_private_and_used_again(wasm: Path) -> None:
    engine = wasmtime.Engine()
    load_module(engine, wasm)
    (kept,) = compiled_files()
    assert cache_folder().stat().st_mode & 0o777 == 0o700
    assert kept.stat().st_mode & 0o777 == 0o600
    before = kept.stat().st_mtime_ns
    load_module(engine, wasm)
    assert kept.stat().st_mtime_ns == before


def test_a_module_in_a_folder_that_others_can_write_is_not_used(wasm: Path) -> None:
    cache_folder().mkdir(parents=True)
    cache_folder().chmod(0o777)
    load_module(wasmtime.Engine(), wasm)
    assert compiled_files() == []


def test_a_file_that_others_can_write_is_made_anew(wasm: Path) -> None:
    load_module(wasmtime.Engine(), wasm)
    (kept,) = compiled_files()
    kept.write_bytes(b"something else")
    kept.chmod(0o666)
    load_module(wasmtime.Engine(), wasm)
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.read_bytes() != b"something else"


def test_a_damaged_file_is_made_anew(wasm: Path) -> None:
    load_module(wasmtime.Engine(), wasm)
    (kept,) = compiled_files()
    kept.write_bytes(b"torn")
    load_module(wasmtime.Engine(), wasm)
    assert kept.read_bytes() != b"torn"


def test_without_a_place_to_keep_it_the_module_is_compiled_all_the_same(
    wasm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    assert load_module(wasmtime.Engine(), wasm).exports[0].name == "add"


@pytest.mark.parametrize("version", [KNOWN_VERSION, "some other"])
def test_both_ways_of_calling_agree(wasm: Path, version: str) -> None:
    store = wasmtime.Store()
    module = wasmtime.Module(store.engine, wasm.read_bytes())
    function = wasmtime.Instance(store, module, []).exports(store)["add"]
    assert isinstance(function, wasmtime.Func)
    step = bind_step(store, function, version=version)
    assert [step(1, 2, 0), step(-5, 2, 0)] == [3, -3]


def test_the_version_in_use_is_the_one_that_is_known() -> None:
    assert installed_version() == KNOWN_VERSION
