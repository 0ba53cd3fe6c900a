"""A folder that looks like an installed Pi."""

import json
from pathlib import Path


def make_pi(folder: Path, version: str, **parts: str) -> Path:
    """A folder with a `pi` on it, laid out as npm does."""
    modules = folder / "lib" / "node_modules" / "@earendil-works"
    for name, found in {"pi-coding-agent": version, **parts}.items():
        package = modules / name
        package.mkdir(parents=True)
        content = {"name": f"@earendil-works/{name}", "version": found}
        (package / "package.json").write_text(json.dumps(content))
    entry = modules / "pi-coding-agent" / "dist" / "cli.js"
    entry.parent.mkdir()
    entry.write_text("#!/usr/bin/env node\n")
    entry.chmod(0o755)
    (folder / "bin").mkdir()
    (folder / "bin" / "pi").symlink_to(entry)
    return folder / "bin"
