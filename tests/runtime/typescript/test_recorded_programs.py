import json
from pathlib import Path

import anyio
import pytest
from stubs import stub_actions

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.runtime.typescript import Refused, TypeScript, generate_declarations

HERE = Path(__file__).parent
COPIED = HERE / "data" / "recorded_programs.jsonl"
GOLDENS = HERE.parents[3] / "shared" / "goldens" / "exec_programs.jsonl"


def cases_of(path: Path) -> list[JsonObject]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


async def positions_of(typescript: TypeScript, code: str, *, full_code_mode: bool) -> list[list[int]] | None:
    declarations = generate_declarations(stub_actions(), full_code_mode=full_code_mode)
    prepared = await typescript.prepare(code, declarations)
    if isinstance(prepared, Refused):
        return [[problem.line, problem.column] for problem in prepared.problems]
    assert prepared.is_checked
    return None


@pytest.mark.anyio
@pytest.mark.parametrize("case", cases_of(COPIED), ids=lambda case: case["name"])
@pytest.mark.requirement("typescript:goldens:positions")
async def test_a_recorded_program_is_refused_where_it_was(typescript: TypeScript, case: JsonObject) -> None:
    found = await positions_of(typescript, case["code"], full_code_mode=case["fullCodeMode"])

    assert found == case["typeErrors"]


@pytest.mark.anyio
@pytest.mark.skipif(not GOLDENS.exists(), reason="the recorded behaviour is not beside this project")
@pytest.mark.requirement("typescript:goldens:positions")
async def test_every_recorded_program_is_refused_where_it_was(typescript: TypeScript) -> None:
    differing: list[tuple[str, object, object]] = []
    for case in await anyio.to_thread.run_sync(cases_of, GOLDENS):
        config: JsonObject = case["input"].get("config") or {}
        found = await positions_of(
            typescript, case["input"]["code"], full_code_mode=config.get("fullCodeMode", True)
        )
        if found != case["output"]["typeErrors"]:
            differing.append((case["name"], found, case["output"]["typeErrors"]))

    assert differing == []
