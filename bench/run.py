"""Measure: `bench/run.py [ROW...] [--json]`. Exits 1 when a row misses its target, 2 for an unknown one.

A name that several rows begin with, as `memory`, means all of them.
"""

import argparse
import importlib
import importlib.util
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.rows import Outcome, Row, run_row

# Modules with a table `ROWS: dict[str, Row]`, in the order of the report.
MODULES = (
    "bench.engine",
    "bench.typescript",
    "bench.compaction",
    "bench.shell",
    "bench.pi",
    "bench.memory",
    "bench.certification",
)


def collect() -> dict[str, Row]:
    """Every row by name."""
    rows: dict[str, Row] = {}
    for name in MODULES:
        if importlib.util.find_spec(name) is not None:
            rows |= importlib.import_module(name).ROWS
    return rows


def as_json(outcome: Outcome) -> dict[str, object]:
    """One row of `--json`."""
    return {
        "row": outcome.row.name,
        "median": outcome.median,
        "min": min(outcome.samples),
        "max": max(outcome.samples),
        "unit": outcome.row.unit,
        "target": outcome.row.target,
        "limit": outcome.row.limit,
        "ok": outcome.is_ok,
    }


def as_line(outcome: Outcome) -> str:
    """One row for people."""
    low, high = min(outcome.samples), max(outcome.samples)
    figures = f"{outcome.median:.1f} ({low:.1f}-{high:.1f}) {outcome.row.unit}"
    verdict = "ok" if outcome.is_ok else "MISSED"
    return f"{outcome.row.name:<22} {verdict:<6} {figures:<24} {outcome.row.target}"


def main() -> int:
    """Run the rows that were named, or all."""
    parser = argparse.ArgumentParser(description="Measure speed and memory against their targets.")
    parser.add_argument("rows", nargs="*", metavar="ROW")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    arguments = parser.parse_args()
    rows = collect()
    named = {
        name: [row for row in rows if row == name or row.startswith(f"{name}-")] for name in arguments.rows
    }
    unknown = [name for name, meant in named.items() if not meant]
    if unknown:
        print(f"no such row: {', '.join(unknown)}; there are: {', '.join(rows)}", file=sys.stderr)
        return 2
    load = os.getloadavg()[0]
    outcomes: list[Outcome] = []
    for name in dict.fromkeys(name for meant in named.values() for name in meant) or rows:
        outcomes.append(run_row(rows[name]))
        if not arguments.json:
            report(outcomes[-1])
    if arguments.json:
        print(json.dumps({"load": load, "cores": os.cpu_count(), "rows": [as_json(o) for o in outcomes]}))
    else:
        print(f"load before the run {load:.2f} on {os.cpu_count()} cores; median (min-max);")
        print("in brackets: the same figure of the reference implementation")
    return 0 if all(outcome.is_ok for outcome in outcomes) else 1


def report(outcome: Outcome) -> None:
    """Print one row, with where it goes."""
    print(as_line(outcome), flush=True)
    if outcome.row.breakdown is not None:
        for line in outcome.row.breakdown().splitlines():
            print(f"    {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
