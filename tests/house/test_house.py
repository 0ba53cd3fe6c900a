"""The house itself: pages that are generated, links, what importing costs, what packages show."""

import ast
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from pi_fabric.base.process import PIPE, child_process

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "pi_fabric"


async def run(argv: Sequence[str]) -> tuple[int, str]:
    with anyio.fail_after(60):
        async with child_process(argv, cwd=ROOT, stdout=PIPE, stderr=PIPE) as process:
            assert process.stdout is not None
            output = b"".join([chunk async for chunk in process.stdout])
            return await process.wait(), output.decode()


@pytest.mark.anyio
@pytest.mark.parametrize("tool", [["tools/links.py"], ["tools/reference.py", "--check"]])
async def test_generated_pages_and_links_are_up_to_date(tool: list[str]) -> None:
    code, output = await run([sys.executable, *tool])
    assert code == 0, output


@pytest.mark.anyio
@pytest.mark.requirement("house:imports:budget")
@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("pi_fabric.cli.sidecar", {"wasmtime", "typer", "rich", "jsonschema", "yaml"}),
        ("pi_fabric.runtime.engines.quickjs", {"wasmtime", "typer", "rich", "jsonschema"}),
        ("pi_fabric.compose", {"wasmtime", "typer", "rich", "jsonschema", "yaml"}),
        ("pi_fabric.cli", {"wasmtime", "typer", "rich", "jsonschema", "msgspec", "anyio"}),
    ],
)
async def test_an_import_brings_none_of_the_heavy_modules(module: str, heavy: set[str]) -> None:
    code, output = await run([sys.executable, "-c", f"import {module}, sys; print(*sys.modules, sep='\\n')"])
    assert code == 0, output
    assert heavy & set(output.splitlines()) == set()


def test_public_packages_name_what_they_show() -> None:
    for file in PACKAGE.rglob("__init__.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        assert ast.get_docstring(tree), f"{file} says nothing about the package"
        if any(isinstance(node, ast.ImportFrom) for node in tree.body):
            package = importlib.import_module(".".join(file.parent.relative_to(PACKAGE.parent).parts))
            assert package.__all__, f"{file} re-exports without __all__"
            assert all(hasattr(package, name) for name in package.__all__), file
            assert list(package.__all__) == sorted(package.__all__, key=_constants_first), file


def _constants_first(name: str) -> tuple[bool, bool, str]:
    return (not name.isupper(), not name[:1].isupper(), name)


@pytest.mark.requirement("house:paths:none")
def test_no_path_of_a_developers_machine_is_shipped() -> None:
    for file in PACKAGE.rglob("*"):
        if file.suffix in {".py", ".js", ".ts", ".json", ".md"}:
            text = file.read_text(encoding="utf-8")
            assert "/Users/" not in text, file
            assert "/home/" not in text, file
