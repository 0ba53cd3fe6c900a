"""Kind `exec_programs`: a whole program against stub providers, compared in everything but words."""

from dataclasses import replace
from pathlib import Path

import anyio

from kinds.stub_host import PROVIDERS, Journal, StubApprovals, StubProvider
from pi_fabric.base.jsonvalue import UNDEFINED, Json, JsonObject, is_object
from pi_fabric.compose import open_fabric
from pi_fabric.config import FabricConfig, normalize
from pi_fabric.execution.model import ExecResult
from pi_fabric.protocol.host import HostPorts

COMPOSED_FACTS = ("containsTask", "containsReports", "namesRole")
TRUNCATION_MARKER = "<TRUNCATION-MARKER>"
LIMITS = {"maxNested": "max_nested_result_chars", "maxOutput": "max_output_chars"}


async def check(case: JsonObject) -> list[str]:
    """Run the case's program and list what differs from the recording."""
    given: JsonObject = case["input"]
    journal = Journal()
    config = _config(given)
    ports = HostPorts(
        approvals=StubApprovals(has_ui=given.get("hasUI") is True, answer=given.get("confirm") is True)
    )
    providers = [StubProvider(name, journal) for name in PROVIDERS]
    arguments = {key: given[key] for key in ("code", "strings", "tokenBudget", "agentBudget") if key in given}
    async with open_fabric(ports=ports, config=config, cwd=Path.cwd(), providers=providers) as fabric:
        abort = anyio.Event()
        result: ExecResult | None = None
        async with anyio.create_task_group() as tasks:
            if "abortAfterMs" in given:
                # The recording was aborted in the middle of its call; a first program warms everything up.
                await fabric.execute("")
                tasks.start_soon(_abort_after, given["abortAfterMs"] / 1000, abort)
            result = await fabric.execute(arguments, abort=abort, timeout_ms=given.get("timeoutMs"))
            tasks.cancel_scope.cancel()
    assert result is not None
    return _differences(case["output"], result, journal)


async def _abort_after(delay_s: float, abort: anyio.Event) -> None:
    await anyio.sleep(delay_s)
    abort.set()


def _config(given: JsonObject) -> FabricConfig:
    """The case's configuration; a limit of the case may lie below what a file may say."""
    config = normalize(given.get("config", {})).config
    limits = {field: given[name] for name, field in LIMITS.items() if name in given}
    return replace(config, executor=replace(config.executor, **limits))


def _differences(expected: JsonObject, result: ExecResult, journal: Journal) -> list[str]:
    actual = _facts(result, journal)
    found: list[str] = []
    for key, value in actual.items():
        if key not in expected:
            continue
        if not _agrees(key, expected[key], value):
            found.append(f"{key}: expected {expected[key]!r}, got {value!r}")
    return found


def _agrees(key: str, expected: Json, actual: Json) -> bool:
    if key == "logs":
        return len(expected) == len(actual) and all(
            wanted in (TRUNCATION_MARKER, got) for wanted, got in zip(expected, actual, strict=True)
        )
    if key == "calls":
        return len(expected) == len(actual) and all(
            _same_call(wanted, got) for wanted, got in zip(expected, actual, strict=True)
        )
    return expected == actual


def _same_call(expected: JsonObject, actual: JsonObject) -> bool:
    """Equal, where a prompt that a helper composed is only held to what it must mention."""
    if expected["ref"] != actual["ref"] or set(expected["args"]) != set(actual["args"]):
        return False
    return all(
        _mentions(value, actual["args"][name]) if _is_reduced(value) else value == actual["args"][name]
        for name, value in expected["args"].items()
    )


def _is_reduced(value: Json) -> bool:
    return (
        is_object(value)
        and len(value) == len(COMPOSED_FACTS)
        and all(isinstance(item, bool) for item in value.values())
    )


def _mentions(facts: JsonObject, prompt: Json) -> bool:
    # Only presence can be checked here: what the recording's task and roles were is not in the case.
    return isinstance(prompt, str) and ("text:" in prompt) == any(
        flag for name, flag in facts.items() if "report" in name.lower()
    )


def _facts(result: ExecResult, journal: Journal) -> JsonObject:
    trace = result.trace
    is_defined = result.value is not UNDEFINED
    logs = list(result.logs)
    return {
        "success": result.success,
        "value": result.value if is_defined else None,
        "valueDefined": is_defined,
        "logs": logs,
        "phases": list(result.phases),
        "calls": journal.calls,
        "typeErrors": [[problem.line, problem.column] for problem in result.type_problems] or None,
        "hasError": result.error is not None and not result.type_problems,
        "outcome": trace["outcome"],
        "operations": [_operation(operation) for operation in trace["operations"]],
        "counts": trace["counts"],
    }


def _operation(operation: JsonObject) -> JsonObject:
    return {
        "sequence": operation["sequence"],
        "ref": operation["ref"],
        "provider": operation.get("provider"),
        "action": operation.get("action"),
        "args": operation["args"],
        "outcome": operation["outcome"],
        "failureStage": operation.get("failureStage"),
        "hasResult": "result" in operation,
    }
