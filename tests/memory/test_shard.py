import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from session_files import ANY_ENTRIES, path, read_all, user

from pi_fabric.base.jsonvalue import JsonObject, decode, encode, is_object
from pi_fabric.memory import shard
from pi_fabric.memory.model import Entry
from pi_fabric.memory.shard import ShardWriter, decode_entries

IDENTITY: JsonObject = {"sessionId": "s\u00e9", "file": "/s.jsonl"}


def written(entries: list[Entry], *, max_entry_chars: int = 2000) -> tuple[ShardWriter, bytes]:
    stream = io.BytesIO()
    writer = ShardWriter(stream, IDENTITY, max_entry_chars)
    for entry in entries:
        writer.add(entry)
    size = writer.finish(writer.reasons(frozenset(["duplicate_entry_id"])))
    assert size == len(stream.getvalue())
    return writer, stream.getvalue()


@pytest.mark.requirement("memory:shard:fields")
def test_a_shard_holds_its_source_the_entries_and_the_coverage() -> None:
    _, data = written(read_all(*path(user("one"), user("longer"))), max_entry_chars=4)

    record = json.loads(data)

    assert list(record) == ["cacheVersion", "kind", "sessionId", "file", "entries", "indexCoverage"]
    assert (record["cacheVersion"], record["kind"]) == (5, "shard")
    assert [entry["text"] for entry in record["entries"]] == ["one", "long"]
    assert [entry["truncated"] for entry in record["entries"]] == [False, True]
    assert record["indexCoverage"] == {
        "complete": False,
        "reasons": ["duplicate_entry_id", "max_entry_chars"],
    }


@pytest.mark.requirement("memory:shard:fields")
def test_a_shard_of_no_entries_is_whole() -> None:
    stream = io.BytesIO()
    writer = ShardWriter(stream, IDENTITY, 10)
    writer.finish(writer.reasons(frozenset()))

    record = json.loads(stream.getvalue())

    assert (record["entries"], record["indexCoverage"]) == ([], {"complete": True, "reasons": []})


@pytest.mark.requirement("memory:shard:ranges")
@given(st.lists(ANY_ENTRIES, max_size=8), st.sampled_from([1, 200, 1 << 20]), st.data())
def test_the_bytes_of_any_run_of_entries_are_those_entries(
    raws: list[JsonObject], flush_bytes: int, data: st.DataObject
) -> None:
    entries = read_all(*(raw for raw in map(decode, map(encode, raws)) if is_object(raw)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shard, "_FLUSH_BYTES", flush_bytes)
        writer, record = written(entries, max_entry_chars=20)
    assert len(json.loads(record)["entries"]) == len(writer.ends) == len(entries)
    if not entries:
        return
    first = data.draw(st.integers(0, len(entries) - 1))
    last = data.draw(st.integers(first, len(entries) - 1))

    start = writer.ends[first - 1] + 1 if first else writer.first_start
    found = decode_entries(record[start : writer.ends[last]])

    assert found == entries[first : last + 1]


@pytest.mark.parametrize("data", [b'{"a":1}', b"{", b"\xff", b"[]"])
def test_bytes_that_are_no_entries_are_an_error(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        decode_entries(data)
