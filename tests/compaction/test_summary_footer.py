import pytest

from pi_fabric.base.bounds import utf8_bytes
from pi_fabric.compaction.footer import footer


@pytest.mark.requirement("summary:footer:facts")
def test_the_footer_names_range_and_time_and_how_to_open_an_address():
    rule, source, recall = footer("e1", "e9", "2025-01-01T00:00:00.000Z").split("\n")
    assert rule == "---"
    assert source.startswith("Made from entries e1 to e9, until 2025-01-01T00:00:00.000Z.")
    assert 'memory.expand({session, entryIds: ["e1"]})' in recall
    assert 'memory.recall({query: "words"})' in recall


@pytest.mark.requirement("summary:footer:own-recall")
def test_the_footer_names_no_tool_of_anybody_else():
    words = footer("e1", "e9", "").lower()
    assert all(name not in words for name in ("vcc", "vcc_recall", "grep", "session_search"))


def test_absurd_ids_do_not_break_the_bound():
    assert utf8_bytes(footer("目" * 3_000, "y\nz", "t" * 3_000)) <= 1_536
