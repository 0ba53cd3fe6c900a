import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.compaction.sampling import sample, sampled_lines
from pi_fabric.compaction.section import item


@pytest.mark.requirement("summary:sampling:halves")
@given(st.lists(st.integers(), max_size=40), st.integers(1, 20))
def test_a_sample_keeps_the_earlier_and_the_later_half(items: list[int], cap: int):
    parts = sample(items, cap)
    assert [*parts.head, *parts.omitted, *parts.tail] == items
    if len(items) <= cap:
        assert not parts.omitted
    else:
        assert len(parts.head) == (cap + 1) // 2
        assert len(parts.tail) == cap // 2


@pytest.mark.requirement("summary:sampling:omission")
def test_an_omission_names_its_count_and_the_range_between_the_halves():
    lines, omitted = sampled_lines(["e1", "e2", "e3", "e4", "e5"], 3, lambda id_: item(id_, "text"))
    assert [line.text for line in lines] == [
        "- [e1] text",
        "- [e2] text",
        "… 2 more, e3 to e4",
        "- [e5] text",
    ]
    assert omitted == 2


def test_an_omission_of_one_thing_names_its_one_place():
    lines, _ = sampled_lines(["e1", "e2", "e3"], 2, lambda id_: item(id_, "text"))
    assert lines[1].text == "… 1 more, in e2"
