"""The requirement manifest: every behaviour sentence that is implemented, and the tests that prove it.

Tests are read as source, not imported, so the check works when a test cannot be collected.
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pi_fabric.base.jsonvalue import Json, is_object

ID = re.compile(r"[a-z0-9_-]+:[a-z0-9_-]+:[a-z0-9_-]+")
REQUIRED = ("source", "behaviour")
OPTIONAL = ("divergence", "deferred")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One behaviour sentence."""

    id: str
    """`area:feature:variant`."""
    fields: dict[str, Json]
    file: Path

    def problems(self) -> Iterator[str]:
        """What is wrong with the row itself."""
        where = f"{self.file.name}: {self.id}"
        if ID.fullmatch(self.id) is None:
            yield f"{where}: the id is not area:feature:variant in lower case"
        for name in REQUIRED:
            if name not in self.fields:
                yield f"{where}: has no {name}"
        for name, value in self.fields.items():
            if name not in REQUIRED + OPTIONAL:
                yield f"{where}: has an unknown field {name}"
            elif not isinstance(value, str) or not value.strip():
                yield f"{where}: {name} is not a sentence"


def load_rows(folder: Path) -> list[Row]:
    """Every row of every file in `folder`, in order.

    Raises:
        ValueError: If a file is not TOML, or has something else than tables; the message names the file.
    """
    rows: list[Row] = []
    for file in sorted(folder.glob("*.toml")):
        try:
            tables = tomllib.loads(file.read_text("utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{file}: {error}") from error
        for id_, fields in tables.items():
            if not is_object(fields):
                raise ValueError(f"{file}: {id_} is not a table")
            rows.append(Row(id=id_, fields=fields, file=file))
    return rows


def worn_ids(tests: Path) -> Iterator[tuple[str | None, str]]:
    """Every id that a test wears, with `file:line`; None for one that is not written out as a string."""
    for file in sorted(tests.rglob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"), filename=str(file))):
            if isinstance(node, ast.Call) and _is_requirement(node.func):
                place = f"{file.relative_to(tests)}:{node.lineno}"
                for argument in node.args:
                    yield _string(argument), place


def problems(folder: Path, tests: Path) -> list[str]:
    """Everything that is wrong between the manifest and the tests, as lines; empty when all is well."""
    rows = load_rows(folder)
    lines = [line for row in rows for line in row.problems()]
    known: dict[str, Row] = {}
    for row in rows:
        if row.id in known:
            lines.append(f"{row.file.name}: {row.id}: is also in {known[row.id].file.name}")
        known[row.id] = row
    worn: set[str] = set()
    for id_, place in worn_ids(tests):
        if id_ is None:
            lines.append(f"{place}: the id is not a plain string")
        elif id_ not in known:
            lines.append(f"{place}: wears {id_}, which no row names")
        else:
            worn.add(id_)
    lines += [f"{row.file.name}: {row.id}: no test wears it" for row in rows if row.id not in worn]
    return lines


def _is_requirement(func: ast.expr) -> bool:
    return (
        isinstance(func, ast.Attribute)
        and func.attr == "requirement"
        and isinstance(func.value, ast.Attribute)
        and func.value.attr == "mark"
    )


def _string(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
