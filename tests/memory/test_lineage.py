import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from session_files import JSON_VALUES, header, path, user

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.memory.lineage import Lineage, Lines, LiveBranch, fingerprint


def lines_of(*values: Json) -> Lines:
    taken = Lines()
    for value in values:
        taken.add(value)
    return taken


def node(entry_id: Json, parent_id: Json) -> JsonObject:
    return {"type": "message", "id": entry_id, "parentId": parent_id}


def active(*values: Json) -> Lineage:
    return lines_of(*values).lineage("active")


@pytest.mark.requirement("memory:lineage:leaf")
def test_the_active_branch_leads_from_the_last_node_to_a_root() -> None:
    found = active(node("a", None), node("b", "a"), node("c", "a"), node("d", "b"))

    assert (found.leaf_id, found.ordinals, found.reasons) == ("d", (0, 1, 3), frozenset())


@pytest.mark.requirement("memory:lineage:leaf")
def test_a_last_line_that_is_no_node_is_no_leaf() -> None:
    assert active(node("a", None), node("b", "a"), node("c", 5), {"type": "x"}).leaf_id == "b"


@pytest.mark.requirement("memory:lineage:duplicates")
def test_of_two_lines_with_one_id_the_last_counts() -> None:
    found = active(node("a", None), node("b", "a"), node("a", None), node("c", "b"))

    assert found.ordinals == (2, 1, 3)


@pytest.mark.requirement("memory:lineage:ordinals")
def test_every_line_but_headers_has_an_ordinal() -> None:
    taken = Lines()
    values: list[Json] = [header("s"), 5, "text", [], True, None, node("a", None), header("t"), {"x": 1}]

    assert [taken.add(value) for value in values] == [None, 0, 1, 2, 3, 4, 5, None, 6]
    assert taken.lineage("active").ordinals == (5,)


@pytest.mark.requirement("memory:lineage:missing-parent")
def test_a_parent_that_is_not_there_ends_the_path_and_is_no_fault() -> None:
    found = active(node("b", "gone"), node("c", "b"))

    assert (found.ordinals, found.reasons) == ((0, 1), frozenset())


@pytest.mark.requirement("memory:lineage:cycle")
@pytest.mark.parametrize("values", [[node("a", "a")], [node("a", "c"), node("b", "a"), node("c", "b")]])
def test_a_cycle_of_parents_is_stopped_and_told(values: list[JsonObject]) -> None:
    found = active(*values)

    assert found.ordinals == tuple(range(len(values)))
    assert found.reasons == {"invalid_parent_graph"}


@pytest.mark.requirement("memory:lineage:fingerprint")
def test_the_fingerprint_is_the_hash_of_mode_leaf_and_ids() -> None:
    text = '{"branches":"active","leafId":"b","ids":["a","b"]}'

    assert active(node("a", None), node("b", "a")).fingerprint == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.requirement("memory:lineage:fingerprint")
def test_all_branches_are_every_line_under_one_fingerprint() -> None:
    found = lines_of(node("a", None), node("b", None)).lineage("all", LiveBranch(ids=("a",), leaf_id="a"))
    text = '{"branches":"all","leafId":null,"ids":[]}'

    assert (found.leaf_id, found.ordinals) == (None, None)
    assert found.fingerprint == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.requirement("memory:lineage:live")
def test_a_live_branch_goes_before_what_the_file_says() -> None:
    lines = lines_of(node("a", None), node("b", "a"), node("c", "a"))
    live = LiveBranch(ids=("a", "not yet written", "b"), leaf_id="b")

    found = lines.lineage("active", live)

    assert (found.leaf_id, found.ordinals) == ("b", (0, 1))
    assert found.fingerprint == fingerprint("active", "b", ("a", "not yet written", "b"))


def test_a_file_without_nodes_has_an_empty_branch() -> None:
    found = active(header("s"), {"x": 1})

    assert (found.leaf_id, found.ordinals, found.reasons) == (None, (), frozenset())


IDS = st.sampled_from(["a", "b", "c", "d", ""])


@given(st.lists(st.builds(node, IDS | JSON_VALUES, IDS | st.none() | JSON_VALUES) | JSON_VALUES, max_size=12))
@pytest.mark.requirement("memory:lineage:cycle")
def test_a_walk_ends_whatever_the_parents_say(values: list[Json]) -> None:
    lines = lines_of(*values)

    found = lines.lineage("active")

    assert found.ordinals is not None
    assert len(set(found.ordinals)) == len(found.ordinals)
    assert all(0 <= ordinal < lines.count for ordinal in found.ordinals)


@given(st.lists(IDS, max_size=6), st.none() | IDS)
def test_two_branches_have_one_fingerprint_only_when_they_are_one(ids: list[str], leaf: str | None) -> None:
    chosen = {"branches": "active", "leafId": leaf, "ids": ids}
    written = json.dumps(chosen, separators=(",", ":"))

    assert fingerprint("active", leaf, ids) == hashlib.sha256(written.encode()).hexdigest()


def test_a_path_of_the_builder_is_one_branch() -> None:
    assert active(*path(user("a"), user("b"))).ordinals == (0, 1)
