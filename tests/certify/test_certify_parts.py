"""What checks, phases, slopes, cuts, addresses and operations come to, each by itself."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.certify.checks import Phase, slope
from pi_fabric.certify.closure import context_after, first_kept_is_known, split_pairs
from pi_fabric.certify.continuation import HandoffFailed, apply_operations, read_files, write_files
from pi_fabric.certify.cross_layer import emitted_addresses


@pytest.mark.requirement("certify:context:tail")
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], 0.0),
        ([7], 0.0),
        ([1, 3], 2.0),
        ([5, 5, 5, 5], 0.0),
        ([9, 6, 3, 0], -3.0),
        # Places from their middle: -1.5, -0.5, 0.5, 1.5, of squares 5; (-1.5*1 - 0.5*2 + 0.5*4 + 1.5*3) / 5.
        ([1, 2, 4, 3], 0.8),
        # One leap in the middle leans to neither side.
        ([0, 0, 100, 0, 0], 0.0),
        ([0, 0, 0, 0, 100], 20.0),
    ],
)
def test_the_slope_is_that_of_the_least_squares(values: Sequence[float], expected: float) -> None:
    assert slope(values) == pytest.approx(expected)


@given(st.floats(-100, 100), st.floats(-1e6, 1e6), st.integers(2, 60))
def test_the_slope_of_a_line_is_the_lines(growth: float, start: float, count: int) -> None:
    assert slope([start + growth * place for place in range(count)]) == pytest.approx(growth, abs=1e-6)


@pytest.mark.requirement("certify:context:rejected")
def test_a_check_holds_only_when_it_was_looked_at_and_never_failed() -> None:
    phase = Phase("p")
    assert not phase.holds
    phase.require("seen", "unseen")
    assert phase.see("seen", True)
    assert not phase.holds
    phase.see("unseen", True)
    assert phase.holds
    for number in range(7):
        assert not phase.see("seen", False, f"failure {number}")
    assert not phase.holds
    assert phase.to_json()["checks"][0] == {
        "name": "seen",
        "passed": 1,
        "failed": 7,
        "failures": [f"failure {number}" for number in range(5)],
    }


@pytest.mark.requirement("certify:context:rejected")
def test_a_phase_with_a_problem_does_not_hold_and_tells_it() -> None:
    phase = Phase("p", problem="it broke")
    phase.see("seen", True)
    assert not phase.holds
    assert phase.to_json()["problem"] == "it broke"


def entry(entry_id: str, *, calls: Sequence[str] = (), answers: str | None = None) -> JsonObject:
    return {"id": entry_id, "type": "message", "calls": list(calls), "answers": answers}


# Each step calls or answers one of a few ids, in any order.
STEPS = st.lists(st.tuples(st.booleans(), st.sampled_from("abcd")), max_size=12)


@pytest.mark.requirement("certify:context:closure")
@given(STEPS, st.integers(0, 12))
def test_a_pair_is_split_exactly_when_its_id_is_on_both_sides(
    steps: list[tuple[bool, str]], cut: int
) -> None:
    branch = [
        entry(str(at), calls=[name]) if is_call else entry(str(at), answers=name)
        for at, (is_call, name) in enumerate(steps)
    ]
    names = [name for _, name in steps]
    kept_id = str(cut) if cut < len(branch) else ""
    both = set(names[:cut]) & set(names[cut:]) if kept_id else set[str]()
    assert split_pairs(kept_id, branch) == sorted(both)


@given(STEPS)
def test_a_cut_at_the_first_entry_splits_nothing(steps: list[tuple[bool, str]]) -> None:
    branch = [entry(str(at), calls=[name]) for at, (_, name) in enumerate(steps)]
    assert split_pairs("0", branch) == []


def test_one_message_may_call_several_and_each_is_told() -> None:
    branch = [
        entry("0", calls=["a", "b", "c"]),
        entry("1", answers="b"),
        entry("2", answers="a"),
        entry("3", answers="c"),
    ]
    assert split_pairs("2", branch) == ["a", "c"]
    assert split_pairs("1", branch) == ["a", "b", "c"]


@pytest.mark.requirement("certify:context:boundary-known", "certify:context:exact")
def test_a_boundary_is_known_when_it_is_empty_or_on_the_branch() -> None:
    branch = [entry("0"), entry("1") | {"type": "compaction"}, entry("2"), entry("3")]
    assert first_kept_is_known("", branch)
    assert first_kept_is_known("2", branch)
    assert not first_kept_is_known("9", branch)
    facts = {"branch": branch, "compactionId": "new"}
    assert context_after(facts | {"firstKeptEntryId": ""}) == ["new"]
    assert context_after(facts | {"firstKeptEntryId": "9"}) == ["new"]
    assert context_after(facts | {"firstKeptEntryId": "2"}) == ["new", "2", "3"]
    # An older compaction is not part of what is kept.
    assert context_after(facts | {"firstKeptEntryId": "0"}) == ["new", "0", "2", "3"]


@pytest.mark.requirement("certify:memory:every-address")
def test_addresses_are_found_in_texts_and_in_records_at_any_depth() -> None:
    summary = (
        "- [0a1b2c3d] src/a.py\n"
        "resolved in 11111111, from 22222222 to 33333333. (44444444/3) [55555555/phase:2], 0a1b2c3d again\n"
        # None of these is an id of an entry.
        "0a1b2c3 0a1b2c3d4 x0a1b2c3d 2026-0a1b2c3d 0A1B2C3D deadbeef-1 abcdefgh\n"
    )
    details = {
        "first": "66666666",
        "more": [{"deep": ["77777777", "no id", 88888888, "aaaaaaaa to bbbbbbbb"]}],
        "99999999": "key",
    }
    hash_ = "f" * 64
    assert set(emitted_addresses([summary, ""], [details, {"hash": hash_}])) == {
        "0a1b2c3d", "11111111", "22222222", "33333333", "44444444/3", "55555555/phase:2",
        "66666666", "77777777", "aaaaaaaa", "bbbbbbbb",
    }  # fmt: skip


@given(st.lists(st.integers(0, 16**8 - 1), unique=True, max_size=20), st.randoms())
def test_every_address_in_brackets_is_found(numbers: list[int], chance: random.Random) -> None:
    ids = [f"{number:08x}" for number in numbers]
    words = [f"- [{one}] text" for one in ids] + ["words", "#1", "größe"]
    chance.shuffle(words)
    assert set(emitted_addresses(["\n".join(words)], [])) == set(ids)


FILES = {"a.txt": "eins zwei eins\n", "deep/b.txt": "鯨\r\n"}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    write_files(tmp_path / "repository", FILES)
    return tmp_path / "repository"


def test_operations_replace_every_place_and_write_exact_bytes(repository: Path) -> None:
    apply_operations(
        repository,
        [
            {"op": "replace", "path": "a.txt", "old": "eins", "new": "größer"},
            {"op": "replace", "path": "deep/b.txt", "old": "鯨", "new": "🜁"},
            {"op": "write", "path": "deep/c.txt", "content": "neu\r\n"},
            {"op": "replace", "path": "deep/c.txt", "old": "neu", "new": "alt"},
        ],
    )
    assert read_files(repository) == {
        "a.txt": "größer zwei größer\n".encode(),
        "deep/b.txt": "🜁\r\n".encode(),
        "deep/c.txt": b"alt\r\n",
    }


@pytest.mark.requirement("certify:continuation:unavailable")
@pytest.mark.parametrize(
    "operation",
    [
        {"op": "replace", "path": "a.txt", "old": "drei", "new": "x"},
        {"op": "replace", "path": "none.txt", "old": "eins", "new": "x"},
        {"op": "replace", "path": "a.txt", "old": "eins"},
        {"op": "write", "path": "a.txt"},
        {"op": "write", "path": "a.txt", "content": None},
        {"op": "write", "path": "deep", "content": "x"},
        {"op": "write", "path": "/etc/none", "content": "x"},
        {"op": "write", "path": "../none", "content": "x"},
        {"op": "remove", "path": "a.txt"},
        {"path": "a.txt"},
        {},
        "write",
    ],
)
def test_an_operation_that_is_not_exactly_possible_changes_nothing(
    repository: Path, operation: JsonObject
) -> None:
    with pytest.raises(HandoffFailed):
        apply_operations(repository, [operation])
    assert read_files(repository) == {name: text.encode() for name, text in FILES.items()}
