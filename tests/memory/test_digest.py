import json
import os
from collections.abc import Iterable, Sequence
from copy import copy
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from session_files import (
    ANY_ENTRIES,
    TEXTS,
    Home,
    calls,
    operation,
    path,
    ran,
    read_all,
    returns,
    says,
    user,
)

from pi_fabric.base.jsonvalue import JsonObject, decode, encode, is_object
from pi_fabric.memory.digest import DigestBuilder, settle_size
from pi_fabric.memory.model import Entry
from pi_fabric.memory.tokenizer import tokenize

IDENTITY: JsonObject = {"sessionId": "s", "file": "/s.jsonl"}
PLENTY = 1 << 20


def digest_of(
    entries: Iterable[Entry], *, vocabulary: int = PLENTY, cache: int = PLENTY, source_bytes: int = 1000
) -> tuple[JsonObject, bytes] | None:
    builder = DigestBuilder(max_vocabulary_bytes=vocabulary, max_cache_bytes=cache)
    for entry in entries:
        builder.add(entry)
    return builder.record(IDENTITY, source_bytes)


def record_of(entries: Iterable[Entry], **bounds: int) -> JsonObject:
    found = digest_of(entries, **bounds)
    assert found is not None
    record = json.loads(found[1])
    assert record == json.loads(json.dumps(found[0]))
    return record


def words_of(entries: Sequence[Entry]) -> list[str]:
    words = {word for entry in entries for word in tokenize(entry.text)}
    return sorted(words, key=lambda word: word.encode("utf-16-be"))


@pytest.mark.requirement("memory:digest:fields")
def test_a_digest_holds_these_fields() -> None:
    entries = read_all(
        *path(
            user("go"), calls("edit", path="a.py"), returns("edit", isError=True), ran(operation("pi.read"))
        )
    )

    record = record_of(entries)

    assert list(record) == [
        "cacheVersion", "kind", "sessionId", "file", "firstTs", "lastTs", "entryCount", "filesTouched",
        "toolHistogram", "errorCount", "vocabulary", "addresses", "indexCoverage", "cacheBytes",
        "cacheSourceRatio",
    ]  # fmt: skip
    assert (record["cacheVersion"], record["kind"]) == (5, "digest")
    assert record["lastTs"] - record["firstTs"] == 3_000
    assert (record["entryCount"], record["errorCount"], record["filesTouched"]) == (5, 1, ["a.py"])
    assert record["toolHistogram"] == {"edit": 2, "fabric_exec": 1, "read": 1}
    assert [address[:5] for address in record["addresses"]] == [
        [0, "e1", None, "user", None],
        [1, "e2", None, "assistant", "edit"],
        [2, "e3", None, "toolResult", "edit"],
        [3, "e4", None, "toolResult", "fabric_exec"],
        [4, "e4/0", "e4/0", "fabricOperation", "read"],
    ]
    assert record["indexCoverage"] == {
        "complete": True,
        "vocabularyBytes": len(encode(record["vocabulary"])),
        "reasons": [],
    }


@pytest.mark.requirement("memory:digest:vocabulary")
def test_every_word_is_there_once_in_the_order_of_utf_16_units() -> None:
    record = record_of(read_all(user("b a \U00020000 \uff0f \ufa0e b"), says("a rare_word")))

    # U+FA0E comes before a pair of surrogates by code points, and after it by units.
    assert record["vocabulary"] == ["a", "b", "rare_word", "\U00020000", "\ufa0e"]


@pytest.mark.requirement("memory:digest:vocabulary")
@given(st.lists(ANY_ENTRIES, max_size=6))
def test_a_complete_vocabulary_is_that_of_the_texts(raws: list[JsonObject]) -> None:
    entries = read_all(*(raw for raw in map(decode, map(encode, raws)) if is_object(raw)))

    record = record_of(entries)

    assert record["vocabulary"] == words_of(entries)
    assert record["indexCoverage"]["complete"] is True


@pytest.mark.requirement("memory:digest:vocabulary-bound")
def test_the_vocabulary_is_bounded_by_its_bytes_and_the_first_words_stay() -> None:
    entries = read_all(user("eeee dddd"), user("cccc a dddd"))
    room = len(encode(["dddd", "eeee"]))

    record = record_of(entries, vocabulary=room)

    assert record["vocabulary"] == ["dddd", "eeee"]
    assert record["indexCoverage"] == {
        "complete": False,
        "vocabularyBytes": room,
        "reasons": ["max_cold_vocabulary_bytes"],
    }
    assert record["entryCount"] == 2


@given(st.lists(TEXTS, max_size=8), st.integers(2, 60))
@pytest.mark.requirement("memory:digest:vocabulary-bound")
def test_whatever_the_words_their_bytes_stay_within_the_bound(texts: list[str], bound: int) -> None:
    entries = read_all(*map(user, texts))

    record = record_of(entries, vocabulary=bound)

    size = len(encode(record["vocabulary"]))
    assert size == record["indexCoverage"]["vocabularyBytes"] <= bound
    is_complete = record["indexCoverage"]["complete"]
    assert is_complete == (record["vocabulary"] == words_of(entries))
    assert set(record["vocabulary"]) <= set(words_of(entries))


ENTRY_LISTS = st.lists(ANY_ENTRIES | st.builds(user, TEXTS), max_size=10)


@pytest.mark.requirement("memory:digest:cache-bound", "memory:digest:prefixes")
@given(ENTRY_LISTS, st.integers(0, 1200), st.sampled_from([0, 1, 7, 1000, 10**9]))
def test_the_record_stays_within_its_bound_and_keeps_only_first_parts(
    raws: list[JsonObject], room: int, source_bytes: int
) -> None:
    entries = read_all(*(raw for raw in map(decode, map(encode, raws)) if is_object(raw)))
    bare = digest_of([_bare(entry) for entry in entries], source_bytes=source_bytes)
    whole = digest_of(entries, source_bytes=source_bytes)
    assert bare is not None
    assert whole is not None
    # Reasons against it and larger numbers take some room of their own.
    bound = len(bare[1]) + 40 + room

    found = digest_of(entries, cache=bound, source_bytes=source_bytes)

    assert found is not None
    record, data = found
    assert len(data) <= bound
    assert record["cacheBytes"] == len(data)
    for name in ("vocabulary", "addresses"):
        kept = list(record[name])
        assert kept == list(whole[0][name])[: len(kept)]
    is_whole = (record["vocabulary"], list(record["addresses"])) == (
        whole[0]["vocabulary"],
        list(whole[0]["addresses"]),
    )
    assert record["indexCoverage"]["complete"] == is_whole
    assert is_whole or record["indexCoverage"]["reasons"] == ["max_cold_cache_bytes"]


@pytest.mark.requirement("memory:digest:prefixes")
def test_addresses_go_first_and_as_few_of_them_as_must() -> None:
    entries = read_all(*path(*(user(f"word{number}") for number in range(50))))
    whole = digest_of(entries)
    assert whole is not None

    record = record_of(entries, cache=len(whole[1]) - 1)

    assert record["vocabulary"] == whole[0]["vocabulary"]
    assert 45 <= len(record["addresses"]) < 50


@pytest.mark.requirement("memory:digest:cache-bound")
@pytest.mark.parametrize(("count", "step"), [(1, 7), (400, 61)])
def test_with_a_larger_bound_a_digest_never_holds_less(count: int, step: int) -> None:
    words = [f"v{number}" * (1 + number % 3) for number in range(400)]
    entries = read_all(*path(*(user(" ".join(words[at::count])) for at in range(count))))
    whole = digest_of(entries)
    assert whole is not None

    found = [digest_of(entries, cache=bound) for bound in range(400, len(whole[1]), step)]

    kept = [(len(one[0]["vocabulary"]), len(one[0]["addresses"])) for one in found if one is not None]
    assert len(kept) == len(found)
    assert kept == sorted(kept)


@pytest.mark.requirement("memory:digest:cache-bound")
def test_a_bound_below_the_bare_record_gives_none() -> None:
    assert digest_of(read_all(user("word")), cache=20) is None


@pytest.mark.requirement("memory:digest:size")
@given(st.integers(0, 12_000), st.integers(0, 10**7))
def test_the_size_that_a_record_tells_is_the_size_it_has(filler: int, source_bytes: int) -> None:
    record, data = settle_size({"filler": "x" * filler}, source_bytes)

    assert record["cacheBytes"] == len(data)
    assert json.loads(data) == record
    assert record["cacheSourceRatio"] == (round(len(data) / source_bytes, 4) if source_bytes else 0)


@pytest.mark.anyio
@pytest.mark.requirement("memory:digest:size", "memory:digest:identity")
async def test_on_the_disk_a_digest_is_as_large_as_it_says_and_names_its_source(tmp_path: Path) -> None:
    home = Home(tmp_path)
    for number in range(12):
        home.session(f"s{number}", path(*(user(f"word{at}") for at in range(number * 7))))

    await home.recall("word0", memory=home.memory(hot_sessions=0))

    records = list(home.records())
    assert len(records) == 12
    for file, record in records:
        source = os.stat(record["file"])  # noqa: PTH116
        size = os.stat(file).st_size  # noqa: PTH116
        assert record["cacheBytes"] == size
        assert record["cacheSourceRatio"] == round(size / source.st_size, 4)
        assert (record["size"], record["mtime"]) == (source.st_size, source.st_mtime_ns / 1e6)
        assert record["branches"] == "active"
        assert len(record["sourceHash"]) == len(record["lineageFingerprint"]) == 64
        assert record["policy"] == (
            "vocab:524288;cache:1048576;branches:active;"
            f"lineage:{record['lineageFingerprint']};thinking:false;tool-output:true"
        )


def _bare(entry: Entry) -> Entry:
    """The entry without what can be left out of a digest."""
    bare = copy(entry)
    bare.text = ""
    return bare
