import pytest
from session_files import operation, path, ran, read_all, returns, trace

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.memory.entries import EntryReader
from pi_fabric.memory.model import Privacy
from pi_fabric.memory.operations import MAX_RESULT_BYTES

NO_TRACES: list[Json] = [
    {"audits": [{"ref": "pi.read", "args": {}, "success": True}]},
    {"trace": {"kind": "pi-fabric.execution", "version": 2}},
    {"trace": None},
    {"trace": trace([operation("pi.read")]) | {"extra": 1}},
    None,
    [],
]


@pytest.mark.requirement("memory:operation:children")
def test_each_operation_is_an_entry_behind_the_result_that_tells_it() -> None:
    done = operation("pi.read", args={"path": " a.py "}, result="body")
    failed = operation("mcp.x.y", "timed_out", error="late", action=None, sequence=7)
    del failed["action"]

    outer, one, two = read_all(*path(ran(done, failed, phases=["p"])))

    assert [entry.index for entry in (outer, one, two)] == [0, 1, 2]
    assert (outer.entry_id, outer.address) == ("e1", None)
    assert (one.entry_id, one.address, one.parent_entry_id, one.parent_id) == ("e1/0", "e1/0", "e1", None)
    assert (one.type, one.role, one.tool_name, one.ref) == (
        "fabric_operation",
        "fabricOperation",
        "read",
        "pi.read",
    )
    assert (one.provider, one.action, one.outcome, one.is_error) == ("pi", "read", "succeeded", False)
    assert one.files == ["a.py"]
    assert one.operation == {
        "address": "e1/0",
        "parentEntryId": "e1",
        "sequence": 0,
        "tool": "read",
        "ref": "pi.read",
        "provider": "pi",
        "action": "read",
        "args": {"path": " a.py "},
        "outcome": "succeeded",
        "result": "body",
    }
    assert (two.address, two.action, two.outcome, two.is_error) == ("e1/7", "x.y", "timed_out", True)
    assert two.timestamp == outer.timestamp
    assert isinstance(two.operation, dict)
    assert two.operation["error"] == "late"


@pytest.mark.requirement("memory:operation:text")
def test_the_text_of_an_operation_is_the_whole_record() -> None:
    [_, one] = read_all(*path(ran(operation("pi.bash", args={"command": "make all"}, result={"ok": True}))))

    assert one.text.startswith("fabricOperation ref pi.bash\n{")
    assert '"args":{"command":"make all"}' in one.text
    assert '"result":{"ok":true}' in one.text


@pytest.mark.requirement("memory:operation:large-result")
def test_a_result_beyond_96_kib_is_left_out_and_said_to_be() -> None:
    fits = operation("a.b", result="x" * (MAX_RESULT_BYTES - 2))
    large = operation("a.b", result="x" * (MAX_RESULT_BYTES - 1))

    [_, one, two] = read_all(*path(ran(fits, large)))

    assert isinstance(one.operation, dict)
    assert isinstance(two.operation, dict)
    assert len(one.operation["result"]) == MAX_RESULT_BYTES - 2
    assert "result" not in two.operation
    assert two.operation["resultOmitted"] is True


@pytest.mark.requirement("memory:operation:source")
@pytest.mark.parametrize("details", NO_TRACES)
def test_nothing_but_a_valid_trace_tells_of_operations(details: Json) -> None:
    assert len(read_all(*path(returns("fabric_exec", "x", details=details)))) == 1


@pytest.mark.requirement("memory:operation:source")
def test_only_a_result_of_the_program_tool_with_an_id_tells_of_operations() -> None:
    details = {"trace": trace([operation("pi.read")])}
    result = returns("fabric_exec", details=details)
    without_id: list[JsonObject] = [result, result | {"id": 5}]

    assert len(read_all(result | {"id": "a"})) == 2
    assert len(read_all(*without_id)) == 2
    assert len(read_all(returns("other", details=details) | {"id": "a"})) == 1


@pytest.mark.requirement("memory:coverage:duplicates")
def test_two_results_with_one_id_give_an_address_twice_and_this_is_told() -> None:
    reader = EntryReader(session_file="/s", privacy=Privacy())
    for raw in (ran(operation("pi.read")) | {"id": "a"},) * 2:
        reader.read("s", raw)

    assert reader.reasons == {"duplicate_entry_id", "duplicate_operation_address"}
