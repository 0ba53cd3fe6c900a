"""Build quickjs.wasm: QuickJS-NG and shim.c, compiled by zig's C compiler.

Everything that goes in is pinned, and so is what comes out. The result is kept in the user's cache folder, so
that only the first build on a machine compiles (some 40 s). Run by hand, or by hatch_build.py:

    python -m pip install ziglang==0.15.2
    python native/quickjs/build.py

Runs before the package exists, so it uses nothing but the standard library.
"""

import hashlib
import os
import subprocess  # noqa: TID251 - the package that owns processes is what is being built
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SHIM = HERE / "shim.c"
REQUIREMENTS = HERE / "requirements.txt"
ZIG_VERSION = "0.15.2"
# SHA-256 of what these inputs compile to, on every machine it was tried on.
MODULE_SHA256 = "7c8f5a44c83ac8f77fb4e952879808eea49bc78b4f0b7fc7aa692594a615d73f"
# Compiled on their own; shim.c includes quickjs.c.
SOURCES = ("libregexp.c", "libunicode.c", "dtoa.c")
FLAGS = (
    "-target",
    "wasm32-wasi",
    "-mexec-model=reactor",
    "-O2",
    "-D_GNU_SOURCE",
    "-D_WASI_EMULATED_SIGNAL",
    "-DNDEBUG",
    "-fno-sanitize=undefined",
    "-w",
    # Of this the engine lets programs use 1.5 MiB; see sandbox.py.
    "-Wl,-z,stack-size=2097152",
    "-Wl,--strip-all",
    # A program's start restores the stack pointer together with the memory.
    "-Wl,--export=__stack_pointer",
)


class BuildError(Exception):
    """The module cannot be built; the message says what to do."""


def cached_module() -> Path:
    """Where the module for these inputs is kept, whether it is there or not."""
    root = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(root) if Path(root).is_absolute() else Path.home() / ".cache"
    inputs = (REQUIREMENTS.read_bytes(), SHIM.read_bytes(), "\0".join(FLAGS).encode(), ZIG_VERSION.encode())
    key = hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in inputs)).hexdigest()[:16]
    return base / "pi-fabric" / "quickjs" / f"quickjs-{key}.wasm"


def is_cached() -> bool:
    """True when the module is there and is the right one."""
    module = cached_module()
    return module.is_file() and _sha256(module) == MODULE_SHA256


def build_requirements() -> list[str]:
    """What an isolated build environment needs now: nothing when the module is cached."""
    return [] if is_cached() else [f"ziglang=={ZIG_VERSION}", "pip>=24"]


def build_module() -> Path:
    """Return the cached module, compiled first if need be.

    Raises:
        BuildError: If the source cannot be fetched or compiled, or the result is not the pinned one.
    """
    module = cached_module()
    if is_cached():
        return module
    module.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Next to its final place, so that it can be renamed into it.
    with tempfile.TemporaryDirectory(dir=module.parent) as name:
        folder = Path(name)
        compiled = _compile(folder, _fetch(folder))
        found = _sha256(compiled)
        if found != MODULE_SHA256:
            raise BuildError(
                f"quickjs.wasm came out different: SHA-256 is {found}, pinned is {MODULE_SHA256}. "
                "If shim.c, the flags or the versions were changed on purpose, run the tests and put "
                "the new hash into native/quickjs/build.py; if not, do not use this compiler."
            )
        compiled.replace(module)
    return module


def _fetch(folder: Path) -> Path:
    """Download and unpack the source; pip checks its hash."""
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    only_the_source = [
        "--no-deps",
        "--no-binary",
        ":all:",
        "--require-hashes",
        "--requirement",
        str(REQUIREMENTS),
    ]
    _run(
        folder,
        [*pip, "download", *only_the_source, "--dest", "."],
        "the source of QuickJS-NG cannot be downloaded; check the network and pip's index",
    )
    archive = next(folder.glob("*.tar.gz"))
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz") / "upstream-quickjs"


def _compile(folder: Path, source: Path) -> Path:
    inputs = [str(SHIM), *(str(source / name) for name in SOURCES)]
    _run(
        folder,
        [sys.executable, "-m", "ziglang", "cc", *FLAGS, f"-I{source}", "-o", "quickjs.wasm", *inputs],
        f"QuickJS-NG cannot be compiled; `python -m pip install ziglang=={ZIG_VERSION}` gives the compiler",
    )
    return folder / "quickjs.wasm"


def _run(folder: Path, argv: list[str], what_failed: str) -> None:
    # Caches inside the temporary folder: nothing but the module stays behind.
    zig = {"ZIG_GLOBAL_CACHE_DIR": str(folder / "zig"), "ZIG_LOCAL_CACHE_DIR": str(folder / "zig")}
    done = subprocess.run(argv, cwd=folder, env=os.environ | zig, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        raise BuildError(f"{what_failed}\n{done.stderr[-4000:]}")


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{build_module()}\n")
    except BuildError as error:
        sys.exit(str(error))
