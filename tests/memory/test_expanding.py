from pathlib import Path

import pytest
from session_files import (
    Home,
    calls,
    carries,
    envelope,
    fact,
    found_ids,
    message,
    note,
    operation,
    operation_fact,
    path,
    ran,
    returns,
    says,
    shell,
    thinks,
    user,
)

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.memory import Current
from pi_fabric.memory.lineage import LiveBranch

pytestmark = pytest.mark.anyio


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def ids(answer: JsonObject) -> list[Json]:
    assert "error" not in answer, answer["error"]
    return [entry["entryId"] for entry in answer["expanded"]]


@pytest.mark.requirement("memory:expand:full-text", "memory:expand:binding")
async def test_expansion_reads_the_whole_source_and_binds_the_answer_to_it(home: Home) -> None:
    long = "x" * 50_000
    file = home.session("x", path(user("a"), returns("read", long)))
    await home.recall("x", memory=home.memory(max_entry_chars=100))
    [(_, record)] = home.records()

    answer = await home.expand(file, indices=[1])

    assert answer == {
        "session": file,
        "sourceHash": record["sourceHash"],
        "branches": "active",
        "lineageFingerprint": record["lineageFingerprint"],
        "expanded": [
            {"index": 1, "entryId": "e2", "text": f"toolResult(read): {long}", "toolName": "read"},
        ],
    }


@pytest.mark.requirement("memory:expand:everything")
async def test_expansion_shows_thinking_and_output_whatever_the_index_may_hold(home: Home) -> None:
    file = home.session(
        "x", path(thinks("hmm"), returns("read", "body"), ran(operation("a.b", result="deep")))
    )
    memory = home.memory(index_tool_output=False, index_thinking=False)

    answer = await memory.expand({"session": file, "indices": [0, 1, 3]}, cwd=Path("/"))

    texts = [entry["text"] for entry in answer["expanded"]]
    assert texts[:2] == ["hmm", "toolResult(read): body"]
    assert '"result":"deep"' in texts[2]


@pytest.mark.requirement("memory:expand:addresses")
async def test_indices_ids_addresses_and_ranges_together_give_each_entry_once_in_order(home: Home) -> None:
    file = home.session("x", path(user("a"), ran(operation("a.b"), operation("c.d")), says("c"), says("d")))

    answer = await home.expand(
        file,
        indices=[4, 0, 4.0],
        entryIds=["e4", "e2/1", "e4"],
        operationAddresses=["e2/0"],
        entryRange={"first": 2, "last": 3},
    )

    assert [(entry["index"], entry["entryId"]) for entry in answer["expanded"]] == [
        (0, "e1"),
        (2, "e2/0"),
        (3, "e2/1"),
        (4, "e3"),
        (5, "e4"),
    ]


@pytest.mark.requirement("memory:expand:addresses")
async def test_nothing_asked_opens_nothing_and_odd_ids_are_passed_over(home: Home) -> None:
    file = home.session("x", path(user("a")))

    assert ids(await home.expand(file)) == []
    assert ids(await home.expand(file, entryIds=["", 5, None, "e1"], operationAddresses=[{}])) == ["e1"]


@pytest.mark.requirement("memory:expand:operation")
async def test_an_operation_is_told_with_everything_typed(home: Home) -> None:
    done = operation("pi.edit", "failed", error="no", args={"path": "a.py"}, result="r")
    file = home.session("x", path(ran(done)))

    [entry] = (await home.expand(file, operationAddresses=["e1/0"]))["expanded"]

    assert entry.pop("text").startswith("fabricOperation ref pi.edit\n")
    assert entry == {
        "index": 1,
        "entryId": "e1/0",
        "toolName": "edit",
        "parentEntryId": "e1",
        "operationAddress": "e1/0",
        "ref": "pi.edit",
        "provider": "pi",
        "action": "edit",
        "outcome": "failed",
        "filesTouched": ["a.py"],
        "operation": {
            "address": "e1/0",
            "parentEntryId": "e1",
            "sequence": 0,
            "tool": "edit",
            "ref": "pi.edit",
            "provider": "pi",
            "action": "edit",
            "args": {"path": "a.py"},
            "outcome": "failed",
            "error": "no",
            "result": "r",
        },
    }


@pytest.mark.requirement("memory:expand:facts")
async def test_a_fact_opens_by_its_original_address(home: Home) -> None:
    told = envelope(
        fact("user", "b1", "user", text="please"),
        fact("phase", "b2", "phase:0", phase="plan"),
        operation_fact("b3"),
    )
    file = home.session("x", path(user("a"), carries(told)))

    by_id = await home.expand(file, entryIds=["b1/user", "b2/phase:0"])
    by_address = await home.expand(file, operationAddresses=["b3/0"])

    assert [(one["text"], one["factAddress"], one["carrierEntryId"]) for one in by_id["expanded"]] == [
        ("please", "b1/user", "e2"),
        ("fabricPhase phase plan", "b2/phase:0", "e2"),
    ]
    [one] = by_address["expanded"]
    assert (one["operationAddress"], one["carrierParentId"], one["carrierFromId"]) == ("b3/0", "e1", "b9")
    assert one["branchFact"]["address"] == "b3/0"


@pytest.mark.requirement("memory:expand:printed")
@pytest.mark.parametrize(
    ("address", "entry_id"),
    [
        ("e2/call:c1", "e2"),
        ("e2/call:anything", "e2"),
        ("e3/call:c1", "e3"),
        ("e4/phase:0", "e4"),
        ("e4/0", "e4/0"),
        ("e5/bash", "e5"),
        ("e1/user", "e1"),
        ("e6/custom-message", "e6"),
    ],
)
@pytest.mark.parametrize("kind", ["entryIds", "operationAddresses"])
async def test_an_address_that_a_summary_prints_opens_the_entry_that_tells_of_it(
    home: Home, address: str, entry_id: str, kind: str
) -> None:
    file = home.session(
        "x",
        path(
            user("a"), calls("read", path="a"), returns("read"), ran(operation("a.b"), phases=["p"]),
            shell("ls"), note("ext", "n"),
        ),
    )  # fmt: skip

    assert ids(await home.memory().expand({"session": file, kind: [address]}, cwd=Path("/"))) == [entry_id]


@pytest.mark.requirement("memory:expand:not-found")
@pytest.mark.parametrize("address", ["none", "e1/bash", "e1/phase:0", "e2/9", "e1/", "/bash", "e1"])
async def test_an_address_that_no_entry_has_opens_nothing(home: Home, address: str) -> None:
    file = home.session("x", path(user("a"), ran(operation("a.b"))))

    answer = await home.expand(file, indices=[0], operationAddresses=[address])

    assert answer["expanded"] == []
    error = answer["error"]
    assert (error["code"], error["matches"]) == ("address_not_found", 0)
    assert (error["addressType"], error["address"]) == ("operation_address", address)
    assert len(answer["sourceHash"]) == 64


@pytest.mark.requirement("memory:expand:ambiguous")
async def test_an_address_that_two_entries_have_opens_neither(home: Home) -> None:
    one, two, three = path(user("a"), ran(operation("a.b")), ran(operation("c.d")))
    file = home.session("x", [one, two, three | {"id": "e2", "parentId": "e2"}, user("b") | {"id": "e1"}])

    by_id = await home.expand(file, branches="all", entryIds=["e1"])
    by_address = await home.expand(file, branches="all", operationAddresses=["e2/0"])

    for answer, kind in ((by_id, "entry_id"), (by_address, "operation_address")):
        assert answer["expanded"] == []
        error = answer["error"]
        assert (error["code"], error["matches"], error["addressType"]) == ("ambiguous_address", 2, kind)
    everything = await home.recall("a", branches="all")
    assert everything["coverage"]["reasons"] == ["duplicate_entry_id", "duplicate_operation_address"]


@pytest.mark.requirement("memory:expand:bounds")
@pytest.mark.parametrize(
    ("indices", "count"),
    [([2], 2), ([0, -1], None), ([0.5], None), (["0"], None), ([True], None), ([None], None)],
)
async def test_an_index_that_is_none_is_an_error_and_opens_nothing(
    home: Home, indices: list[Json], count: int | None
) -> None:
    file = home.session("x", path(user("a"), user("b")))

    answer = await home.expand(file, indices=indices)

    assert (answer["error"]["code"], answer["expanded"]) == ("index_out_of_bounds", [])
    assert answer["error"].get("entryCount") == count


@pytest.mark.requirement("memory:expand:branches", "memory:branches:active")
async def test_what_lies_off_the_active_branch_is_opened_and_found_only_where_all_are_asked(
    home: Home,
) -> None:
    one, left, right = path(user("cat"), ran(operation("cat.left")), says("right"))
    file = home.session("x", [one, left, right | {"parentId": "e1"}])

    for address in ("e2", "e2/0"):
        refused = await home.expand(file, entryIds=[address])
        assert refused["error"]["code"] == "address_not_found"
        assert ids(await home.expand(file, entryIds=[address], branches="all")) == [address]
    for scope in ("global", "project", "session", f"session:{file}"):
        active = await home.recall("left", scope=scope)
        every = await home.recall("left", scope=scope, branches="all")
        assert (found_ids(active), active["branches"]) == ([], "active")
        assert (found_ids(every), every["branches"]) == (["e2/0"], "all")
        assert every["segments"][0]["branches"] == "all"
    for hot in (0, 1):
        cold = await home.recall("left", memory=home.memory(hot_sessions=hot))
        assert (cold["totalItems"], cold["text"].startswith("No matches")) == (0, True)


@pytest.mark.requirement("memory:branches:live")
async def test_the_live_branch_decides_what_is_active(home: Home) -> None:
    one, left, right = path(user("cat"), user("left"), user("right"))
    file = home.session("x", [one, left, right | {"parentId": "e1"}])
    there = Current(file=file, branch=LiveBranch(ids=("e1", "e2"), leaf_id="e2"))
    memory = home.memory()
    asked: JsonObject = {"query": "left right", "scope": "global", "detail": "full"}

    async def found(current: Current | None, **args: Json) -> list[Json]:
        return [*found_ids(await memory.recall(asked | args, cwd=Path("/work/proj"), current=current))]

    assert await found(None) == ["e3"]
    assert await found(there) == ["e2"]
    assert await found(there, scope="session") == ["e2"]
    assert await found(there, scope=f"session:{file}") == ["e2"]
    assert sorted(map(str, await found(there, branches="all"))) == ["e2", "e3"]
    assert await found(None) == ["e3"]
    assert ids(await home.expand(file, current=there, indices=[1])) == ["e2"]


@pytest.mark.requirement("memory:expand:unavailable")
async def test_a_source_that_is_gone_or_no_file_is_told(home: Home) -> None:
    folder = home.sessions / "folder.jsonl"
    folder.mkdir(parents=True)

    answer = await home.expand(str(folder), indices=[0])

    assert (answer["error"]["code"], answer["expanded"]) == ("source_unavailable", [])
    assert str(folder) in answer["error"]["message"]


@pytest.mark.requirement("memory:expand:deterministic")
async def test_addresses_stay_while_the_session_grows(home: Home) -> None:
    entries = path(user("a"), ran(operation("a.b")), message("user", content="c"))
    before = await home.expand(home.session("x", entries[:2]), indices=[0, 1, 2])

    after = await home.expand(home.session("x", entries), indices=[0, 1, 2])

    assert after["expanded"] == before["expanded"]
