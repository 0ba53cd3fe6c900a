import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.host.standalone.diff import MAX_DIFF_BYTES, diff_spans, diff_texts
from pi_fabric.host.standalone.replacing import Span, apply_spans

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "a b"]), max_size=30).map("\n".join)


def _lines(text: str) -> list[str]:
    pieces = text.split("\n")
    return [piece + "\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


def _patched(old: str, diff: str) -> str:
    """A model of patch(1): each context and removed line must be where its hunk says."""
    source, result, at = _lines(old), list[str](), 0
    body = re.sub(r"\n\\ No newline at end of file", "\0", diff).split("\n")[2:]
    for line in body:
        mark, text = line[:1], line[1:].removesuffix("\0") + ("" if line.endswith("\0") else "\n")
        if header := re.match(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@", line):
            start = int(header[1]) - (header[2] != "0")
            result += source[at:start]
            at = start
            assert len(result) == int(header[3]) - (header[4] != "0")
        elif mark == "+":
            result.append(text)
        else:
            assert source[at] == text
            at += 1
            result += [text] if mark == " " else []
    return "".join(result + source[at:])


@given(old=LINES, new=LINES)
def test_applying_the_diff_to_the_old_text_gives_the_new_one(old: str, new: str):
    diff = diff_texts("f", old, new)
    assert (diff.text == "") == (old == new)
    if diff.text:
        assert _patched(old, diff.text) == new


@given(
    old=LINES,
    cuts=st.lists(st.integers(0, 60), max_size=6).map(sorted),
    news=st.lists(st.sampled_from(["", "x", "\n", "x\ny", "a\n"]), min_size=3, max_size=3),
)
def test_the_diff_of_known_places_describes_the_same_change(old: str, cuts: list[int], news: list[str]):
    places = [min(cut, len(old)) for cut in cuts]
    pairs = zip(places[::2], places[1::2], news, strict=False)
    spans = [
        Span(start=start, end=end, new_text=new, edit=index) for index, (start, end, new) in enumerate(pairs)
    ]
    new = apply_spans(old, spans)
    diff = diff_spans("f", old, new, spans)
    assert (diff.text == "") == (old == new)
    if diff.text:
        assert _patched(old, diff.text) == new


def test_far_changes_of_a_large_text_are_separate_small_hunks():
    old = "".join(f"{number}\n" for number in range(100_000))
    spans = [
        Span(start=old.index(f"\n{number}\n") + 1, end=old.index(f"\n{number}\n") + 6, new_text="x", edit=0)
        for number in (11_111, 88_888)
    ]
    diff = diff_spans("f", old, apply_spans(old, spans), spans)
    assert diff.text.count("@@ -") == 2
    assert "@@ -11109,7 +11109,7 @@\n 11108\n 11109\n 11110\n-11111\n+x\n 11112" in diff.text
    assert diff.first_changed_line == 11_112


def test_equal_texts_have_no_diff():
    assert diff_texts("f", "a\n", "a\n").first_changed_line is None


@pytest.mark.requirement("standalone:edit:diff-bounded")
def test_a_large_diff_is_cut_with_a_count():
    diff = diff_texts("f", "", "".join(f"line {number}\n" for number in range(10_000)))
    body, _, mark = diff.text.rpartition("\n")
    assert len(body.encode()) <= MAX_DIFF_BYTES
    shown = body.count("\n") + 1
    assert mark == f"[{10_003 - shown:,} more lines of the diff not shown]"
