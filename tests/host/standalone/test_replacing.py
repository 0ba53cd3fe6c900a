import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.host.standalone.replacing import Edit, Unmatched, apply_spans, find_spans

SHORT = st.text(alphabet="ab\n", max_size=12)


def _apply(text: str, *edits: Edit) -> str:
    return apply_spans(text, find_spans(text, edits))


def _edit(old: str, new: str, *, every: bool = False) -> Edit:
    return Edit(old_text=old, new_text=new, all=every)


@given(before=SHORT, old=st.text(alphabet="xy", min_size=1, max_size=4), after=SHORT, new=st.text(max_size=9))
def test_a_unique_text_is_replaced_where_it_is(before: str, old: str, after: str, new: str):
    assert _apply(before + old + after, _edit(old, new)) == before + new + after


@given(text=SHORT, old=st.text(alphabet="ab\n", min_size=1, max_size=2), new=st.text(max_size=3))
def test_replacing_all_is_what_str_replace_does(text: str, old: str, new: str):
    if old not in text:
        with pytest.raises(Unmatched):
            _apply(text, _edit(old, new, every=True))
    else:
        assert _apply(text, _edit(old, new, every=True)) == text.replace(old, new)


@given(
    words=st.lists(st.text(alphabet="abc ", max_size=5), min_size=1, max_size=6),
    news=st.lists(st.text(alphabet="abc<0>1", max_size=5), min_size=6, max_size=6),
    order=st.permutations(range(5)),
)
def test_a_batch_is_the_same_in_any_order_and_never_sees_its_own_output(
    words: list[str], news: list[str], order: list[int]
):
    marks = [f"<{index}>" for index in range(len(words) - 1)]
    text = words[0] + "".join(mark + word for mark, word in zip(marks, words[1:], strict=True))
    wanted = words[0] + "".join(new + word for new, word in zip(news[: len(marks)], words[1:], strict=True))
    edits = [_edit(marks[index], news[index]) for index in order if index < len(marks)]
    assert _apply(text, *edits) == wanted


@pytest.mark.requirement("standalone:edit:unique")
def test_a_text_that_is_there_twice_is_refused_with_the_lines():
    with pytest.raises(Unmatched, match=r"there 2 times, at lines 1, 3; add lines around it"):
        _apply("a\nb\na\n", _edit("a", "c"))


def test_overlapping_occurrences_are_not_unique_either():
    with pytest.raises(Unmatched, match="there 2 times"):
        _apply("aaa", _edit("aa", "b"))


def test_many_occurrences_are_counted_and_a_few_of_them_named():
    with pytest.raises(Unmatched, match=r"there 50 times, at lines 1, 2, 3, 4, 5, 6, 7, 8, \.\.\.;"):
        _apply("a\n" * 50, _edit("a", "c"))


@pytest.mark.requirement("standalone:edit:overlap")
def test_edits_that_overlap_are_refused():
    with pytest.raises(Unmatched, match="edits 1 and 2 overlap at line 2; join them into one"):
        _apply("one\ntwo three\n", _edit("one\ntwo", "1"), _edit("two three", "2"))


def test_edits_that_touch_do_not_overlap():
    assert _apply("onetwo", _edit("one", "1"), _edit("two", "2")) == "12"


def test_an_empty_text_to_replace_is_refused():
    with pytest.raises(Unmatched, match="edit 2 of 2 has an empty oldText"):
        _apply("a", _edit("a", "b"), _edit("", "b"))


@pytest.mark.requirement("standalone:edit:hint")
@pytest.mark.parametrize(
    ("text", "old", "hint"),
    [
        ("one\n\tif x:\n\t\tgo()\n", "    if x:\n        go()", "line 2 differs only in white space"),
        ("one\n  two  \nthree", "two\nthree", "line 2 differs only in white space"),
        ("one\ntwo\n", "one\r\ntwo", "its lines end in CRLF, those of the file in LF"),
        ("one\r\ntwo\nx", "one\ntwo", "the file mixes CRLF and LF"),
        ("one\ndef run(self):\n", "def run(self):\n    pass", "the nearest is line 2"),
        ("one\n", "nothing alike", "read the file again"),
        ("one\n", "  \n", "read the file again"),
    ],
)
def test_a_text_that_is_missing_is_refused_with_the_nearest_line(text: str, old: str, hint: str):
    with pytest.raises(Unmatched) as caught:
        _apply(text, _edit(old, "x"))
    assert hint in str(caught.value)
