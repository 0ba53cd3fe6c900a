"""`pi-fabric certify context` against both pinned versions of Pi, as a person starts it."""

import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.rows import Row
from bench.shell import COMMAND
from tools.install_pi import VERSIONS, entry

_reports: list[dict[str, Any]] = []


def certify() -> float:
    """Seconds of one whole certification."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        argv = [COMMAND, "certify", "context", "--json", str(report)]
        for version in VERSIONS:
            argv += ["--pi", str(entry(version))]
        start = time.perf_counter()
        subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, capture_output=True)
        seconds = time.perf_counter() - start
        _reports.append(json.loads(report.read_bytes()))
    return seconds


def phases() -> str:
    """Seconds of each phase of the last one, for each version."""
    versions: list[dict[str, Any]] = _reports[-1]["versions"]
    return "; ".join(
        f"Pi {one['piVersion']}: "
        + ", ".join(f"{phase['name']} {phase['seconds']:.1f}" for phase in one["phases"])
        for one in versions
    )


ROWS = {
    row.name: row
    for row in (
        Row(
            name="certify-context",
            target="<= 60 s",
            limit=60,
            unit="s",
            measure=certify,
            breakdown=phases,
            samples=3,
        ),
    )
}
