from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from session_branches import entry

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.history.session import Tree

NAMES = st.sampled_from(["a", "b", "c", "d", ""])


def node(entry_id: Json, parent: Json, **fields: Json) -> JsonObject:
    return {"type": "x", "id": entry_id, "parentId": parent, **fields}


def ids(entries: list[JsonObject]) -> list[str]:
    return [entry["id"] for entry in entries]


@pytest.mark.requirement("session:tree:path")
def test_a_branch_runs_from_the_root_to_its_leaf() -> None:
    tree = Tree([node("a", None), node("b", "a"), node("c", "a"), node("d", "c")])

    assert ids(tree.path_to("d")) == ["a", "c", "d"]
    assert ids(tree.path_to("b")) == ["a", "b"]


@pytest.mark.requirement("session:tree:leaf")
def test_the_leaf_is_the_last_node_in_the_file_of_whatever_type() -> None:
    tree = Tree([entry(1, "message"), entry(2, "label"), {"type": "message", "id": "no parent"}])

    assert tree.leaf_id == "e2"


@pytest.mark.requirement("session:tree:leaf")
@pytest.mark.parametrize(
    "entry",
    [{"id": "a"}, {"parentId": None}, node(5, None), node("a", 5), node(None, None), node("a", ["b"])],
)
def test_an_entry_without_an_id_and_a_parent_is_no_node(entry: JsonObject) -> None:
    tree = Tree([entry])

    assert (tree.leaf_id, tree.by_id, tree.children(None)) == (None, {}, [])


@pytest.mark.requirement("session:tree:path")
@pytest.mark.parametrize("leaf_id", [None, "", "unknown"])
def test_no_leaf_and_an_unknown_one_have_an_empty_branch(leaf_id: str | None) -> None:
    assert Tree([node("a", None)]).path_to(leaf_id) == []


@pytest.mark.requirement("session:tree:path")
@pytest.mark.parametrize("root", ["", "gone"])
def test_a_parent_that_is_not_there_ends_the_branch(root: str) -> None:
    tree = Tree([node("a", root), node("b", "a")])

    assert ids(tree.path_to("b")) == ["a", "b"]


@pytest.mark.requirement("session:tree:path")
def test_a_cycle_ends_the_branch() -> None:
    tree = Tree([node("a", "c"), node("b", "a"), node("c", "b"), node("d", "c"), node("s", "s")])

    assert ids(tree.path_to("d")) == ["a", "b", "c", "d"]
    assert ids(tree.path_to("s")) == ["s"]


@pytest.mark.requirement("session:tree:path")
def test_of_entries_with_one_id_the_last_counts() -> None:
    tree = Tree([node("a", None, n=1), node("b", "a"), node("a", None, n=2)])

    assert [found.get("n") for found in tree.path_to("b")] == [2, None]
    assert tree.leaf_id == "a"


@pytest.mark.requirement("session:tree:children")
def test_children_are_given_in_order_of_the_file() -> None:
    tree = Tree([node("a", None), node("b", "a"), node("c", "")])
    before = ids(tree.children("a"))
    tree.add(node("d", "a"))

    assert (before, ids(tree.children("a")), ids(tree.children(None))) == (["b"], ["b", "d"], ["a", "c"])
    assert tree.children("unknown") == []


@pytest.mark.requirement("session:tree:path")
@given(links=st.lists(st.tuples(NAMES, NAMES | st.none()), max_size=8))
def test_every_walk_ends_and_visits_nothing_twice(links: list[tuple[str, str | None]]) -> None:
    tree = Tree(node(name, parent) for name, parent in links)

    for name in tree.by_id:
        path = ids(tree.path_to(name))
        assert len(path) == len(set(path))
        for parent, child in pairwise(path):
            assert tree.by_id[child]["parentId"] == parent


@pytest.mark.requirement("session:tree:faults")
@given(links=st.lists(st.tuples(NAMES, NAMES), max_size=8))
def test_there_is_a_cycle_exactly_where_a_walk_would_not_end(links: list[tuple[str, str]]) -> None:
    tree = Tree(node(name, parent) for name, parent in links)

    in_cycles: set[str] = set()
    for name in tree.by_id:
        at, steps = tree.by_id[name]["parentId"], 0
        while at and at in tree.by_id and at != name and steps < 10:
            at, steps = tree.by_id[at]["parentId"], steps + 1
        in_cycles |= {name} if at and at == name else set()

    found = ids(tree.cycle_entries())
    assert set(found) <= in_cycles
    covered = {entry["id"] for start in found for entry in tree.path_to(start)}
    assert in_cycles <= covered
