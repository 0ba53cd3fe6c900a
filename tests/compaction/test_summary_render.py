import pytest
from hypothesis import given
from hypothesis import strategies as st
from told_sessions import TEXTS

from pi_fabric.base.bounds import utf8_bytes
from pi_fabric.base.jstext import collapse
from pi_fabric.compaction.render import MAX_SUMMARY_BYTES, join_blocks, render_block
from pi_fabric.compaction.section import Line, item, label, omission

ITEMS = [item(f"e{number}", "x" * 20) for number in range(1, 11)]


def test_a_block_that_fits_is_a_header_and_its_lines():
    assert render_block("[H]", [label("one"), label("two")], 100) == "[H]\none\ntwo"


@pytest.mark.requirement("summary:bounds:middle-out")
def test_a_block_that_is_too_large_loses_lines_from_its_middle():
    gap = "… 3 more, e5 to e7"
    kept = [*(line.text for line in ITEMS[:4]), gap, *(line.text for line in ITEMS[7:])]
    block = render_block("[H]", ITEMS, utf8_bytes("\n".join(["[H]", *kept])))
    assert block.split("\n") == ["[H]", *kept]


@pytest.mark.requirement("summary:bounds:middle-out")
def test_an_omission_within_what_is_dropped_is_counted_in():
    lines = [*ITEMS[:3], omission(100, "e4", "e103"), *(item(f"e{n}", "x" * 20) for n in (104, 105, 106))]
    block = render_block("[H]", lines, 150)
    assert "… 102 more, e3 to e104" in block


@pytest.mark.requirement("summary:bounds:labels")
def test_a_label_that_is_dropped_is_said_again():
    lines = [label("Written:"), *ITEMS[:5], label("Read:"), *ITEMS[5:]]
    block = render_block("[H]", lines, 180)
    assert [line for line in block.split("\n") if "more" in line] == ["… 6 more, e3 to e8; Read:"]


def test_pinned_lines_stay():
    lines = [Line(text=f"> {'y' * 60}", first="e1", last="e1", count=1) for _ in range(3)] + ITEMS
    block = render_block("[H]", lines, 270, pinned=3)
    assert block.split("\n")[1:4] == [line.text for line in lines[:3]]
    assert block.endswith(ITEMS[-1].text)


@pytest.mark.requirement("summary:bounds:lines")
def test_a_line_is_cut_at_1024_bytes():
    block = render_block("[H]", [label("目" * 1_000)], 4_096)
    assert utf8_bytes(block.split("\n")[1]) <= 1_024
    assert block.endswith("…")


@pytest.mark.requirement("summary:bounds:blocks")
@given(st.lists(TEXTS, min_size=1, max_size=30), st.integers(40, 600), st.integers(0, 3))
def test_no_block_exceeds_its_bound(texts: list[str], max_bytes: int, pinned: int):
    lines = [item(f"e{number}", collapse(text)) for number, text in enumerate(texts)]
    block = render_block("[Header]", lines, max_bytes, pinned=pinned)
    assert utf8_bytes(block) <= max_bytes
    assert block.startswith("[Header]\n- [e0]")


@pytest.mark.requirement("summary:bounds:whole")
def test_the_whole_is_cut_at_32_kib_whatever_the_script():
    text = join_blocks(["[A]\n" + "😀" * 5_000, "[B]\n" + "目" * 9_000])
    assert MAX_SUMMARY_BYTES - 8 < utf8_bytes(text) <= MAX_SUMMARY_BYTES


def test_half_a_surrogate_pair_never_reaches_the_summary():
    assert join_blocks(["[A]\nx\ud83dy"]) == "[A]\nx\ufffdy"
