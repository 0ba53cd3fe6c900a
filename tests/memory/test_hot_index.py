from array import array
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from session_files import ANY_ENTRIES, compaction, path, read_all, returns, says, shell, user

from pi_fabric.base.jsonvalue import JsonObject, decode, encode, is_object
from pi_fabric.memory.hot_index import HotIndexBuilder, HotRows
from pi_fabric.memory.model import Entry
from pi_fabric.memory.termfile import TermFile
from pi_fabric.memory.tokenizer import tokenize


def built(entries: list[Entry], *, max_fold_bytes: int = 1 << 20) -> HotIndexBuilder:
    index = HotIndexBuilder(max_fold_bytes=max_fold_bytes)
    for entry in entries:
        index.add(entry)
    return index


def rows_of(index: HotIndexBuilder, folder: Path, ends: list[int] | None = None) -> HotRows:
    count = len(index.lengths)
    file = folder / "x.rows"
    file.write_bytes(index.rows_file(7, array("Q", ends or range(10, 10 + 10 * count, 10))))
    return HotRows(file)


@pytest.mark.requirement("memory:shard:ranges")
def test_rows_tell_where_entries_lie_and_what_filters_ask(tmp_path: Path) -> None:
    entries = read_all(
        *path(user("a b a"), returns("read", ""), shell("ls"), says("x") | {"timestamp": None})
    )
    rows = rows_of(built(entries), tmp_path, [10, 25, 40, 60])

    assert rows.count == 4
    assert (rows.byte_range(0, 0), rows.byte_range(1, 2), rows.byte_range(0, 3)) == (
        (7, 10),
        (11, 40),
        (7, 60),
    )
    assert list(rows.lengths) == [3, 2, 4, 1]
    assert rows.total_length == 10
    assert rows.starts == [0, 2]
    assert [rows.time(at) for at in range(4)] == [entry.timestamp for entry in entries]
    assert rows.roles[0] == rows.name_number("user")
    assert rows.tools[1] == rows.name_number("read")
    assert rows.tools[0] == rows.name_number(None)
    assert rows.name_number("nobody") == -1


@pytest.mark.requirement("memory:items:segments")
def test_segments_begin_at_the_user_the_shell_and_a_compaction(tmp_path: Path) -> None:
    entries = read_all(says("a"), user("b"), says("c"), shell("d"), compaction("e"), returns("read"))

    assert rows_of(built(entries), tmp_path).starts == [1, 3, 4]


@pytest.mark.requirement("memory:rank:length")
def test_an_entry_without_words_is_one_word_long() -> None:
    assert list(built(read_all(user("..."), user("a b"))).lengths) == [1, 2]


@given(st.lists(ANY_ENTRIES, max_size=6))
def test_words_lead_to_the_entries_that_have_them(
    tmp_path_factory: pytest.TempPathFactory, raws: list[JsonObject]
) -> None:
    entries = read_all(*(raw for raw in map(decode, map(encode, raws)) if is_object(raw)))
    index = built(entries)
    file = tmp_path_factory.mktemp("words") / "x.words"
    file.write_bytes(b"".join(index.words_file()))

    expected: dict[str, list[int]] = {}
    for at, entry in enumerate(entries):
        words = tokenize(entry.text)
        for word in dict.fromkeys(words):
            expected.setdefault(word, []).extend((at, words.count(word)))

    assert {term.decode(): found for term, found in TermFile(file).items()} == expected
    assert all(index.words.find(word.encode()) == found for word, found in expected.items())


@pytest.mark.requirement("memory:fold:bound")
def test_too_many_folded_words_are_told() -> None:
    entries = read_all(user("oneTwo"), user("threeFour"))

    assert built(entries, max_fold_bytes=100).is_fold_complete
    assert not built(entries, max_fold_bytes=10).is_fold_complete


@pytest.mark.requirement("memory:shard:damaged")
@given(st.integers(min_value=0))
def test_rows_that_are_cut_are_refused(tmp_path_factory: pytest.TempPathFactory, at: int) -> None:
    index = built(read_all(*path(user("a"), returns("read"))))
    data = index.rows_file(7, array("Q", [10, 20]))
    file = tmp_path_factory.mktemp("rows") / "x.rows"
    file.write_bytes(data[: at % len(data)])

    with pytest.raises(ValueError):  # noqa: PT011
        HotRows(file)


def test_rows_with_something_behind_them_or_another_beginning_are_refused(tmp_path: Path) -> None:
    data = built(read_all(user("a"))).rows_file(7, array("Q", [10]))
    file = tmp_path / "x.rows"
    for wrong in (data + b"x", b"PFH0" + data[4:]):
        file.write_bytes(wrong)
        with pytest.raises(ValueError, match=r"x\.rows"):
            HotRows(file)
