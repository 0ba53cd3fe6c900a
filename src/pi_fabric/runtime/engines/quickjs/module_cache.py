"""Compiled modules kept on disk, so that a worker starts in milliseconds instead of seconds.

A compiled module is machine code that the loader believes, so it is only taken from a folder and a file that
nobody but this user can write. Anything doubtful means compiling in memory.
"""

import hashlib
import os
import platform
import stat
from contextlib import suppress
from pathlib import Path

import wasmtime

from pi_fabric.runtime.engines.quickjs.binding import installed_version


def cache_folder() -> Path:
    """Where compiled modules are kept: below XDG_CACHE_HOME, else ~/.cache."""
    root = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(root) if Path(root).is_absolute() else Path.home() / ".cache"
    return base / "pi-fabric" / "quickjs"


def load_module(engine: wasmtime.Engine, wasm: Path) -> wasmtime.Module:
    """Load the compiled form of `wasm`, or compile it and keep the result when that is safe.

    Raises:
        OSError: If `wasm` cannot be read.
        wasmtime.WasmtimeError: If it is not WebAssembly.
    """
    source = wasm.read_bytes()
    folder = _private_folder()
    if folder is None:
        return wasmtime.Module(engine, source)
    compiled = folder / _name(source)
    return _load(engine, compiled) or _compile(engine, source, compiled)


def _private_folder() -> Path | None:
    try:
        folder = cache_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder if _is_private(folder) else None
    except (OSError, RuntimeError):  # RuntimeError: there is no home
        return None


def _name(source: bytes) -> str:
    digest = hashlib.sha256(source).hexdigest()[:16]
    return f"module-{installed_version()}-{platform.machine()}-{digest}.bin"


def _is_private(path: Path) -> bool:
    status = path.lstat()
    others_write = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return status.st_uid == os.getuid() and not others_write and not stat.S_ISLNK(status.st_mode)


def _load(engine: wasmtime.Engine, compiled: Path) -> wasmtime.Module | None:
    try:
        if not _is_private(compiled):
            return None
        return wasmtime.Module.deserialize_file(engine, str(compiled))
    except (OSError, wasmtime.WasmtimeError):
        # Absent, or made for another CPU or other settings.
        return None


def _compile(engine: wasmtime.Engine, source: bytes, compiled: Path) -> wasmtime.Module:
    # Only the first start on a machine comes here; the others need not load what an atomic write needs.
    from pi_fabric.base.files import write_atomic  # noqa: PLC0415

    module = wasmtime.Module(engine, source)
    # Renamed into place: another worker may have the old file mapped.
    with suppress(OSError):
        write_atomic(compiled, bytes(module.serialize()), mode=0o600)
    return module
