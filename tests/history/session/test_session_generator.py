from pathlib import Path

import pytest

from bench.sessions import SIZES, write_session
from pi_fabric.history.session import read_session
from pi_fabric.history.trace import read_trace


@pytest.mark.parametrize("size", ["330k", "5m"])
def test_a_generated_session_has_its_entries_its_size_and_no_faults(tmp_path: Path, size: str) -> None:
    entries, size_bytes = SIZES[size]
    path = tmp_path / "session.jsonl"

    write_session(path, entries=entries, size_bytes=size_bytes, seed=3)

    session = read_session(path)
    assert (len(session.branch()), session.faults.total) == (entries, 0)
    assert path.stat().st_size == pytest.approx(size_bytes, rel=0.05)


def test_the_seed_decides_every_byte(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        write_session(tmp_path / name, entries=200, size_bytes=200_000, seed=seed)

    first, second, other = ((tmp_path / name).read_bytes() for name in "abc")
    assert first == second != other


def test_generated_programs_have_valid_traces_and_compactions_keep_an_entry_before_them(
    tmp_path: Path,
) -> None:
    path = tmp_path / "session.jsonl"
    write_session(path, entries=2_000, size_bytes=2_000_000, seed=1)
    session = read_session(path)

    results = [entry["message"] for entry in session.entries if entry["type"] == "message"]
    traces = [result["details"]["trace"] for result in results if "details" in result]
    compactions = [entry for entry in session.entries if entry["type"] == "compaction"]
    assert traces
    assert all(read_trace(trace) is not None for trace in traces)
    assert compactions
    for compaction in compactions:
        before = session.tree.path_to(compaction["parentId"])
        assert compaction["firstKeptEntryId"] in {entry["id"] for entry in before}
